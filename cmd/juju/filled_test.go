package main

import (
	"context"
	"reflect"
	"time"

	"juju/apiserver/client"
	"juju/cmd/juju/clitest"
	"juju/state/constraints"
	"juju/state/entity"
)

// A filler fills values, for tests of what commands print.
type filler struct {
	text  string
	plain bool // no value is zero: also numbers, booleans and times are set
}

// filled returns a T in which every string is the filler's.
func filled[T any](f filler) (v T) {
	f.fill(reflect.ValueOf(&v).Elem(), 8)
	return v
}

// fill sets what is below v.
func (f filler) fill(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		if f.plain {
			v.Set(reflect.ValueOf(clitest.SomeTime))
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text)
	case reflect.Bool:
		v.SetBool(f.plain)
	case reflect.Int, reflect.Int8, reflect.Int64:
		if f.plain {
			v.SetInt(1)
		}
	case reflect.Uint8, reflect.Uint64:
		if f.plain {
			v.SetUint(1)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(f.text))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, depth-1)
		f.fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		defer func() { // its reason is only shown of an error
			if s, ok := v.Addr().Interface().(*entity.Status); ok && f.plain {
				s.Status, s.Data = entity.StatusError, map[string]any{"reason": f.text}
			}
		}()
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth-1)
			}
		}
	}
}

// A filledController returns values that are filled.
type filledController struct {
	*clitest.FakeController
	filler
}

func (f filledController) Models(context.Context) ([]client.Model, error) {
	return []client.Model{filled[client.Model](f.filler), {Name: "default", UUID: "d", Owner: "admin"}}, f.Err
}

func (f filledController) ModelSummaries(context.Context) ([]entity.ModelSummary, error) {
	return filled[[]entity.ModelSummary](f.filler), f.Err
}

func (f filledController) ModelInfo(context.Context, string) (entity.ModelInfo, error) {
	return filled[entity.ModelInfo](f.filler), f.Err
}

func (f filledController) ModelLeftovers(context.Context) ([]entity.Leftover, error) {
	leftovers := filled[[]entity.Leftover](f.filler)
	leftovers[0].Of = "d"
	return leftovers, f.Err
}

func (f filledController) BlockedModels(context.Context) ([]entity.ModelBlocks, error) {
	return filled[[]entity.ModelBlocks](f.filler), f.Err
}

func (f filledController) User(context.Context, string) (entity.UserInfo, error) {
	return filled[entity.UserInfo](f.filler), f.Err
}

func (f filledController) FindOffers(context.Context, entity.OfferFilter) ([]entity.Offer, error) {
	return filled[[]entity.Offer](f.filler), f.Err
}

func (f filledController) Offer(context.Context, string) (entity.Offer, error) {
	return filled[entity.Offer](f.filler), f.Err
}

func (f filledController) Users(context.Context, bool) ([]entity.UserInfo, error) {
	return filled[[]entity.UserInfo](f.filler), f.Err
}

func (f filledController) ModelUsers(context.Context, string) ([]entity.ModelUser, error) {
	return filled[[]entity.ModelUser](f.filler), f.Err
}

func (f filledController) ControllerNodes(context.Context) ([]entity.ControllerNode, *entity.ControllerUpgrade, error) {
	return filled[[]entity.ControllerNode](f.filler), filled[*entity.ControllerUpgrade](f.filler), f.Err
}

func (f filledController) AuditLog(context.Context, client.AuditQuery) ([]entity.AuditEntry, error) {
	return filled[[]entity.AuditEntry](f.filler), f.Err
}

func (f filledController) EnableHA(context.Context, int, constraints.Value) (entity.ControllerChanges, error) {
	return filled[entity.ControllerChanges](f.filler), f.Err
}

func (f filledController) Tokens(context.Context, string) ([]entity.AccessToken, error) {
	return filled[[]entity.AccessToken](f.filler), f.Err
}

func (f filledController) ServerVersion() string { return f.text }

func (f filledController) Release() string { return f.text }

func (f filledController) ControllerAccess() string { return f.text }

func (f filledController) Addresses() []string { return []string{f.text} }

func (f filledController) CheckController(context.Context, bool) ([]entity.Finding, error) {
	return filled[[]entity.Finding](f.filler), f.Err
}

func (f filledController) CheckModel(context.Context, string, bool) ([]entity.Finding, error) {
	return filled[[]entity.Finding](f.filler), f.Err
}

func (f filledController) ControllerBinaries(context.Context) (entity.ControllerBinaries, error) {
	return filled[entity.ControllerBinaries](f.filler), f.Err
}

func (f filledController) UpgradeModel(context.Context, string, entity.Binaries, bool) (entity.Binaries, error) {
	return filled[entity.Binaries](f.filler), f.Err
}

func (f filledController) Clouds(context.Context) ([]string, error) {
	return filled[[]string](f.filler), f.Err
}

func (f filledController) CredentialNames(context.Context, string) ([]string, error) {
	return filled[[]string](f.filler), f.Err
}

func (f filledController) AddCredential(context.Context, string, string, entity.CloudCredential) error {
	return f.Err
}

func (f filledController) UpdateCredential(context.Context, string, string, entity.CloudCredential, bool) error {
	return f.Err
}

func (f filledController) RevokeCredential(context.Context, string, string, bool) error {
	return f.Err
}

func (f filledController) SetModelCredential(context.Context, string, string, string) error {
	return f.Err
}

func (f filledController) Cloud(context.Context, string) (entity.Cloud, error) {
	return filled[entity.Cloud](f.filler), f.Err
}

func (f filledController) Credential(
	context.Context, string, string, bool,
) (entity.CloudCredential, map[string]string, error) {
	return filled[entity.CloudCredential](f.filler), filled[map[string]string](f.filler), f.Err
}

func (f filledController) ModelDefaults(context.Context) (map[string]entity.ModelDefault, error) {
	return map[string]entity.ModelDefault{f.text: {Default: f.text, Controller: f.text}}, f.Err
}

func (f filledController) ControllerConfig(context.Context) (map[string]any, error) {
	return map[string]any{f.text: f.text}, f.Err
}
