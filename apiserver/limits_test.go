package apiserver

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// Every text, list and time in every request has a limit.
func TestEveryRequestHasLimits(t *testing.T) {
	for _, r := range routes() {
		zero, err := r.Handler.Decode(nil)
		if err != nil {
			t.Fatal(err)
		}
		name := r.Facade + "." + r.Method
		if reflect.TypeOf(zero) == reflect.TypeFor[facades.None]() {
			continue
		}
		fillings := 0
		each := func(what string, filling filler) {
			p := reflect.New(reflect.TypeOf(zero)).Elem()
			if n := filling.fill(p, 0); n > 0 {
				fillings += n
				if err := params.Check(p.Interface()); entity.KindOf(err) != entity.Invalid {
					t.Errorf("%s takes %s: %v", name, what, err)
				}
			}
		}
		each("a text of 6 MiB", filler{text: strings.Repeat("x", 6<<20)})
		each("a NUL", filler{text: "a\x00b"})
		each("what is not UTF-8", filler{text: "a\xffb"})
		each("a time that can't be written", filler{time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
		if fillings == 0 && !slices.Contains([]string{"Bundle.ExportBundle", "Controller.DestroyController", "Controller.RemoveBlocks",
			"Storage.ListStorageDetails", "CrossModelRelations.End", "CrossModelRelations.Members", "Resources.ListPendingResources"}, name) {
			t.Errorf("%s: nothing was tried", name)
		}
	}
}

// What one method takes, every method takes: a map of texts in a request is settings, of which a unit may have 2 MiB, or comes from
// a file. Those with names only are listed.
func TestEveryMethodTakesLongSettings(t *testing.T) {
	names := map[string]string{"Application.CheckDeploy": "endpoint-bindings", "Application.Deploy": "applications: endpoint-bindings",
		"Application.DeployFromRepository": "Args: endpoint-bindings",
		"Application.MergeBindings":        "args: bindings", "Application.SetCharm": "resource-ids", "ApplicationOffers.Offer": "Offers: endpoints"}
	for _, r := range routes() {
		zero, err := r.Handler.Decode(nil)
		if err != nil {
			t.Fatal(err)
		}
		p := reflect.New(reflect.TypeOf(zero)).Elem()
		if (filler{text: strings.Repeat("x", 1<<20), settings: true}).fill(p, 0) == 0 {
			continue
		}
		err, name := params.Check(p.Interface()), r.Facade+"."+r.Method
		if field := names[name]; err != nil && (field == "" || !strings.HasPrefix(err.Error(), field+": ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A filler sets a value wherever a request can have one of its type.
type filler struct {
	text string
	time time.Time
	// settings is for texts in maps of texts only.
	settings bool
}

func (f filler) fill(v reflect.Value, depth int) (n int) {
	if depth > 8 || !v.CanSet() {
		return 0
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		// The server sets the time of a status.
		if !f.time.IsZero() {
			v.Set(reflect.ValueOf(f.time))
			return 1
		}
	case v.Type() == reflect.TypeFor[entity.Status]() && f.text == "":
	case v.Type() == reflect.TypeFor[constraints.Value](): // has a syntax of its own
	case v.Type() == reflect.TypeFor[entity.SecretContent]() && f.settings: // Juju's own limit
		v.Set(reflect.ValueOf(entity.SecretContent{"key": f.text[:entity.MaxSecret]}))
		return 1
	case v.Kind() == reflect.Map && v.Type().ConvertibleTo(reflect.TypeFor[map[string]string]()) && f.settings:
		v.Set(reflect.ValueOf(map[string]string{"key": f.text}).Convert(v.Type()))
		return 1
	case v.Kind() == reflect.String && !f.settings:
		if f.text != "" {
			v.SetString(f.text)
			return 1
		}
	case v.Kind() == reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if n = f.fill(p.Elem(), depth+1); n > 0 {
			v.Set(p)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		one := reflect.New(v.Type().Elem()).Elem()
		if n = f.fill(one, depth+1); n > 0 {
			v.Set(reflect.Append(reflect.MakeSlice(v.Type(), 0, 1), one))
		}
	case v.Kind() == reflect.Map:
		one, key := reflect.New(v.Type().Elem()).Elem(), reflect.New(v.Type().Key()).Elem()
		if n = f.fill(one, depth+1); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, one)
		}
	case v.Kind() == reflect.Interface && v.NumMethod() == 0 && !f.settings:
		if f.text != "" {
			v.Set(reflect.ValueOf(f.text))
			return 1
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			n += f.fill(v.Field(i), depth+1)
		}
	}
	return n
}
