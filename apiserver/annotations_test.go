package apiserver

import (
	"maps"
	"testing"

	"juju/state/entity"
)

func TestAnnotationsOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.dial(w.adminInfo(w.st.UUID()))
	ctx := t.Context()
	for _, tag := range []entity.Tag{entity.ServiceTag("mysql"), entity.UnitTag("mysql/0"), entity.ModelTag(w.st.UUID())} {
		if got, err := c.Annotations(ctx, tag); err != nil || got == nil || len(got) > 0 {
			t.Errorf("%s has %v (%v) before any were set", tag, got, err)
		}
		if err := c.SetAnnotations(ctx, tag, map[string]string{"gui-x": "1", "gui-y": "2"}); err != nil {
			t.Fatal(err)
		}
		if err := c.SetAnnotations(ctx, tag, map[string]string{"gui-x": ""}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Annotations(ctx, tag); err != nil || !maps.Equal(got, map[string]string{"gui-y": "2"}) {
			t.Errorf("%s has %v (%v)", tag, got, err)
		}
	}
	if err := c.SetAnnotations(ctx, entity.ServiceTag("mysql"),
		map[string]string{"a.b": "1"}); entity.KindOf(err) != entity.Invalid {
		t.Errorf("a key with a point: %v", err)
	}
	if _, err := c.Annotations(ctx, entity.ServiceTag("nosuch")); entity.KindOf(err) != entity.NotFound {
		t.Errorf("an entity that does not exist: %v", err)
	}
}
