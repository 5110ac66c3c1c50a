package params

import (
	"fmt"
	"reflect"
	"time"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/limits"
)

// limitTag is the struct tag that gives the strings in a field of a request a limit other than limits.Name:
// `limit:"file"`.
const limitTag = "limit"

// textLimits maps the values of limitTag to limits.
var textLimits = map[string]limits.Limit{"file": limits.File}

// Check checks a request against the limits before it is executed. Types with limits of their own are checked as a
// whole. All other strings, lists, maps and times are checked here, so that every new request has limits. Errors are
// Invalid and name the field and the limit.
func Check(request any) error {
	if request == nil {
		return nil
	}
	return check(reflect.ValueOf(request), limits.Name, 0)
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

func check(v reflect.Value, limit limits.Limit, depth int) error {
	if err := limits.Depth.Check(depth); err != nil {
		return err
	}
	switch kind := v.Kind(); {
	case kind == reflect.Pointer || kind == reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return check(v.Elem(), limit, depth)
	case v.Type() == timeType:
		if t := v.Interface().(time.Time); !limits.WritableTime(t) {
			return entity.Errorf(entity.Invalid, "time: the year %d is not one of four digits", t.UTC().Year())
		}
		return nil
	case kind == reflect.String:
		return limit.CheckText(v.String())
	case v.Type().ConvertibleTo(bytesType) && kind == reflect.Slice:
		return limit.Check(v.Len())
	case kind == reflect.Slice || kind == reflect.Array:
		return checkList(v, limit, depth)
	case kind == reflect.Map || kind == reflect.Struct:
		if whole, err := checkWhole(v.Interface()); whole {
			return err
		}
		if kind == reflect.Map {
			return checkMap(v, limit, depth)
		}
		return checkStruct(v, limit, depth)
	}
	return nil // numbers have the range of their type
}

// checkWhole checks a value of a type with limits of its own. For other types whole is false.
func checkWhole(v any) (whole bool, err error) {
	switch v := v.(type) {
	case constraints.Value:
		return true, v.Check()
	case entity.CharmState:
		return true, limits.CheckCharmState(v)
	case entity.Filesystem:
		return true, limits.CheckFilesystem(v)
	case entity.Hardware:
		return true, limits.CheckHardware(v)
	case entity.HookChanges:
		return true, limits.CheckHookChanges(v)
	case entity.Instance:
		return true, limits.CheckInstance(v)
	case entity.LeaderSettings:
		return true, limits.CheckRelationSettings(v)
	case entity.Members:
		return true, limits.CheckMembers(v)
	case SecretSettings:
		return true, limits.CheckSecretSettings(entity.SecretSettings{Label: v.Label, Description: v.Description, Content: v.Content.Data})
	case entity.PortRange:
		return true, v.Check()
	case entity.Status:
		return true, limits.CheckStatus(v)
	case entity.TaskOutcome:
		return true, limits.CheckTaskOutcome(v)
	}
	return false, nil
}

func checkList(v reflect.Value, limit limits.Limit, depth int) error {
	if err := limits.List.Check(v.Len()); err != nil {
		return err
	}
	for i := range v.Len() {
		if err := check(v.Index(i), limit, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkMap(v reflect.Value, limit limits.Limit, depth int) error {
	if err := limits.List.Check(v.Len()); err != nil {
		return err
	}
	for entries := v.MapRange(); entries.Next(); {
		if err := check(entries.Key(), limits.Name, depth+1); err != nil {
			return err
		}
		if err := check(entries.Value(), limit, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkStruct(v reflect.Value, limit limits.Limit, depth int) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		limit := limit
		if named, ok := f.Tag.Lookup(limitTag); ok {
			limit = textLimits[named]
		}
		inner := depth + 1
		if f.Anonymous {
			inner = depth
		}
		if err := check(v.Field(i), limit, inner); err != nil {
			if f.Anonymous {
				return err
			}
			return fmt.Errorf("%s: %w", nameOf(f), err)
		}
	}
	return nil
}

// nameOf returns a field's name on the wire.
func nameOf(f reflect.StructField) string {
	for i, c := range f.Tag.Get("json") {
		if c == ',' {
			return f.Tag.Get("json")[:i]
		}
	}
	if name := f.Tag.Get("json"); name != "" {
		return name
	}
	return f.Name
}
