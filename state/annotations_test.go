package state_test

import (
	"maps"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// checkAnnotations checks the annotations of an entity.
func (w *world) checkAnnotations(tag entity.Tag, want map[string]string) {
	w.Helper()
	got, err := w.st.Annotations().Get(w.ctx, tag)
	w.ok(err)
	if !maps.Equal(got, want) {
		w.Errorf("%s has annotations %v, want %v", tag, got, want)
	}
}

func TestAnnotations(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 1)
	r := w.relate("wordpress", "mysql")
	all := []entity.Tag{entity.MachineTag("0"), entity.UnitTag("mysql/0"), entity.ServiceTag("mysql"),
		entity.RelationTag(r.Key()), entity.ModelTag(w.st.UUID())}
	for _, tag := range all {
		w.checkAnnotations(tag, map[string]string{})
		w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"never": ""}))
		w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"x": "1", "$y": "2.0", "z": tag.String()}))
		w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"x": "", "z": "3", "w": "4"}))
		w.checkAnnotations(tag, map[string]string{"$y": "2.0", "z": "3", "w": "4"})
		// One invalid key refuses all of them.
		w.refused(w.st.Annotations().Set(w.ctx, tag, map[string]string{"a": "1", "b.c": "1"}), entity.Invalid,
			"cannot update annotations on "+tag.String()+`: invalid key "b.c"`)
		w.refused(w.st.Annotations().Set(w.ctx, tag, map[string]string{"": "1"}), entity.Invalid, `invalid key ""`)
		w.refused(w.st.Annotations().Set(w.ctx, tag, map[string]string{"a": strings.Repeat("x", 64<<10)}), entity.Invalid,
			"the limit is 65536")
		w.checkAnnotations(tag, map[string]string{"$y": "2.0", "z": "3", "w": "4"})
		w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"$y": "", "z": "", "w": ""}))
		w.checkAnnotations(tag, map[string]string{})
		w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"last": "1"}))
	}
	for tag, kind := range map[entity.Tag]entity.Kind{
		entity.MachineTag("7"): entity.NotFound, entity.UnitTag("mysql/7"): entity.NotFound,
		entity.ServiceTag("x"):        entity.NotFound,
		entity.RelationTag("a:b c:d"): entity.NotFound, entity.ModelTag("deadbeef-0000-4000-8000-00000000dead"): entity.NotFound,
		entity.UserTag("admin"): entity.NotSupported, {Kind: entity.KindCharm, ID: "local:x-1"}: entity.NotSupported,
	} {
		_, err := w.st.Annotations().Get(w.ctx, tag)
		w.refused(err, kind, "")
		w.refused(w.st.Annotations().Set(w.ctx, tag, map[string]string{"a": "1"}), kind, "")
	}
}

func TestAnnotationsAreRemovedWithTheirEntity(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 1)
	r := w.relate("wordpress", "mysql")
	note := map[string]string{"x": "1"}
	annotate := func(tag entity.Tag) { w.ok(w.st.Annotations().Set(w.ctx, tag, note)) }
	for _, tag := range []entity.Tag{entity.MachineTag("0"), entity.UnitTag("mysql/0"), entity.ServiceTag("mysql"),
		entity.RelationTag(r.Key())} {
		annotate(tag)
	}
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	for _, u := range []string{"wordpress/0"} {
		w.ok(w.unit(u).Destroy(w.ctx, entity.Destruction{}))
	}
	w.ok(mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{}))
	w.endMachine("0")
	w.endMachine("1")
	w.empty()

	// A new service of the same name has none.
	w.deploy("mysql", statetest.MySQL, 0)
	w.checkAnnotations(entity.ServiceTag("mysql"), map[string]string{})
}

// An annotation and the removal of its entity race. Whichever comes first,
// nothing is left.
func TestAnnotateDuringRemoval(t *testing.T) {
	w := newWorld(t)
	note := map[string]string{"x": "1"}
	my := w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 0)
	r := w.relate("wordpress", "mysql")
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	removals := []struct {
		tag    entity.Tag
		remove func() error
	}{
		{entity.RelationTag(r.Key()), func() error { return r.Destroy(w.ctx, entity.Destruction{}) }},
		{entity.UnitTag("mysql/0"), func() error { return w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}) }},
		{entity.ServiceTag("mysql"), func() error { return my.Destroy(w.ctx, entity.Destruction{}) }},
		{entity.MachineTag(m.ID()), func() error { return m.Destroy(w.ctx, entity.Destruction{}) }},
	}
	for _, c := range removals {
		w.st.Before(func() { w.ok(w.st.Annotations().Set(w.ctx, c.tag, note)) })
		w.ok(c.remove())
	}
	w.ok(mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{}))
	w.endMachine("0")
	w.empty()

	my = w.deploy("mysql", statetest.MySQL, 1)
	w.st.Before(func() { w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{})) })
	w.refused(w.st.Annotations().Set(w.ctx, entity.UnitTag("mysql/1"), note), entity.NotFound, "")
	w.ok(w.st.Annotations().Set(w.ctx, entity.ServiceTag("mysql"), note))
	w.st.Before(func() { w.ok(my.Destroy(w.ctx, entity.Destruction{})) })
	w.refused(w.st.Annotations().Set(w.ctx, entity.ServiceTag("mysql"), map[string]string{"y": "1"}), entity.NotFound, "")
	w.endMachine("2")
	w.empty()
}

func TestConcurrentAnnotate(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 0)
	tag := entity.ServiceTag("mysql")
	w.st.Before(func() { w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"a": "1"})) })
	w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"b": "2"}))
	w.st.Before(func() { w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"a": "3"})) })
	w.ok(w.st.Annotations().Set(w.ctx, tag, map[string]string{"b": "4"}))
	w.checkAnnotations(tag, map[string]string{"a": "3", "b": "4"})
	w.checkCounts()
}
