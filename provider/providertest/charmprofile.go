package providertest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
)

// charmProfile returns a profile of a charm. It has a key and a device of its own, and a key that all have.
func charmProfile(name string) provider.Profile {
	return provider.Profile{Name: "juju-test-a00000-" + name + "-0", LXDProfile: entity.LXDProfile{Description: "of " + name,
		Config: map[string]string{"user.test-" + name: name, "user.test": name},
		Devices: map[string]map[string]string{
			name: {"type": "unix-char", "source": "/dev/null", "path": "/dev/test-" + name}}}}
}

func (w *world) setProfiles(t *testing.T, id string, profiles ...provider.Profile) {
	t.Helper()
	if err := w.a.Profiler().SetProfiles(w.ctx, id, profiles); err != nil {
		t.Fatal(err)
	}
}

// has checks that of the profiles with these names the instances have just those, with the last one's "user.test".
func (w *world) has(t *testing.T, id string, names ...string) {
	t.Helper()
	got, want := map[string]string{}, map[string]string{}
	is := w.Expanded(t, id)
	for _, name := range []string{"one", "two", "three"} {
		got[name] = is.Config["user.test-"+name] + " " + is.Devices[name]["path"]
		want[name] = " "
	}
	got["all"], want["all"] = is.Config["user.test"], ""
	for _, name := range names {
		want[name], want["all"] = fmt.Sprintf("%s /dev/test-%[1]s", name), name
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instance %s has (-want +got):\n%s", id, diff)
	}
}

// keeps checks which profiles the cloud has.
func (w *world) keeps(t *testing.T, names ...string) {
	t.Helper()
	want := []string{}
	for _, name := range names {
		want = append(want, charmProfile(name).Name)
	}
	if diff := cmp.Diff(want, append([]string{}, w.Kept(t)...)); diff != "" {
		t.Errorf("the cloud keeps (-want +got):\n%s", diff)
	}
}

func testProfiles(t *testing.T, w *world) {
	profiler, b := w.a.Profiler(), w.open(t, ModelB)
	one, two, three := charmProfile("one"), charmProfile("two"), charmProfile("three")

	p := w.params("0", "n")
	p.Profiles = []provider.Profile{one}
	first, err := w.a.StartInstance(w.ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	w.has(t, first.ID, "one")
	plain := w.start(t, w.a, "1", "n")
	w.has(t, plain.ID)

	// While they run, both get others; repeated, that changes nothing.
	for range 2 {
		w.setProfiles(t, first.ID, three, two)
		w.has(t, first.ID, "three", "two")
	}
	w.setProfiles(t, plain.ID, three)
	w.has(t, plain.ID, "three")
	w.keeps(t, "three", "two")
	w.agents(t, ModelA+"/0", ModelA+"/1")

	// One that the cloud does not accept leaves all as it was.
	bad := charmProfile("one")
	delete(bad.Devices["one"], "type")
	if err := profiler.SetProfiles(w.ctx, first.ID, []provider.Profile{bad}); !errors.Is(err, entity.Invalid) {
		t.Errorf("got %v for a device without a type, want Invalid", err)
	}
	w.has(t, first.ID, "three", "two")
	p = w.params("2", "n")
	p.Profiles = []provider.Profile{bad}
	if _, err := w.a.StartInstance(w.ctx, p); !errors.Is(err, entity.Invalid) {
		t.Errorf("got %v from a start with it, want Invalid", err)
	}

	// Another model's instances are none of this one's.
	for _, id := range []string{"never-was", first.ID} {
		if err := b.Profiler().SetProfiles(w.ctx, id, []provider.Profile{one}); !errors.Is(err, entity.NotProvisioned) {
			t.Errorf("got %v for instance %s from the other model, want NotProvisioned", err, id)
		}
	}
	w.has(t, first.ID, "three", "two")

	// A profile stays as long as an instance has it.
	w.setProfiles(t, first.ID)
	w.has(t, first.ID)
	w.keeps(t, "three")
	w.stop(t, w.a, plain.ID)
	w.keeps(t)
	w.setProfiles(t, first.ID, one)
	w.keeps(t, "one")
	if err := w.a.Destroy(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.keeps(t)
}
