package facades_test

import (
	"maps"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
)

func TestAnnotationsOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.admin()
	get := func(tag entity.Tag) (map[string]string, error) {
		var result params.AnnotationsGetResults
		err := c.do("Annotations", 2, "Get", params.Entities{Entities: []params.Entity{{Tag: params.TagOf(tag)}}}, &result)
		if err != nil || len(result.Results) != 1 {
			t.Fatalf("%v, %v", result, err)
		}
		return result.Results[0].Annotations, params.FromError(result.Results[0].Error.Error)
	}
	set := func(tag entity.Tag, values map[string]string) error {
		args := params.AnnotationsSet{Annotations: []params.EntityAnnotations{{Entity: params.TagOf(tag), Annotations: values}}}
		var result params.ErrorResults
		if err := c.do("Annotations", 2, "Set", args, &result); err != nil || len(result.Results) != 1 {
			t.Fatalf("%v, %v", result, err)
		}
		return params.FromError(result.Results[0].Error)
	}
	for _, tag := range []entity.Tag{entity.ServiceTag("mysql"), entity.UnitTag("mysql/0"), entity.ModelTag(w.st.UUID())} {
		if got, err := get(tag); err != nil || got == nil || len(got) > 0 {
			t.Errorf("%s has %v (%v) before any were set", tag, got, err)
		}
		if err := set(tag, map[string]string{"gui-x": "1", "gui-y": "2"}); err != nil {
			t.Fatal(err)
		}
		if err := set(tag, map[string]string{"gui-x": ""}); err != nil {
			t.Fatal(err)
		}
		if got, err := get(tag); err != nil || !maps.Equal(got, map[string]string{"gui-y": "2"}) {
			t.Errorf("%s has %v (%v)", tag, got, err)
		}
	}
	if err := set(entity.ServiceTag("mysql"), map[string]string{"a.b": "1"}); entity.KindOf(err) != entity.Invalid {
		t.Errorf("a key with a point: %v", err)
	}
	if _, err := get(entity.ServiceTag("nosuch")); entity.KindOf(err) != entity.NotFound {
		t.Errorf("an entity that does not exist: %v", err)
	}
}
