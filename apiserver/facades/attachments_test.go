package facades_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"juju/agent/controller/clouds"
	"juju/apiserver/facades"
	"juju/provider"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// storedWorld is a model on a dummy cloud with the unit vault/0, whose certs/0 lies in its common/1. Both
// are attached.
func storedWorld(t *testing.T, adjust ...func(*facades.Config)) (*world, *dummytest.Cloud, provider.Environ) {
	cloud := dummytest.New(nil)
	w := newWorld(t, append([]func(*facades.Config){onCloud(cloud)}, adjust...)...)
	ctx := t.Context()
	url := statetest.Charm(t, w.st, `{name: vault, summary: s, description: d, storage: {
  certs: {type: filesystem, location: /srv/common/certs}, common: {type: filesystem, location: /srv/common}}}`)
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "vault", CharmURL: url, Units: 1})
	w.ok(err)
	environ, err := cloud.Open(ctx, provider.Config{Controller: "c", Model: w.st.UUID()})
	w.ok(err)
	inst, err := environ.StartInstance(ctx, provider.StartParams{MachineID: "0", Nonce: "n"})
	w.ok(err)
	m, err := w.st.Machine(ctx, "0")
	w.ok(err)
	w.ok(m.SetProvisioned(ctx, entity.Instance{ID: inst.ID, Nonce: "n"}))
	for _, id := range []string{"common/1", "certs/0"} {
		s, err := w.st.Storage(ctx, id)
		w.ok(err)
		w.ok(s.SetFilesystem(ctx, entity.Filesystem{ID: "fs-" + id, Size: 1}))
	}
	w.attachStored(environ)
	return w, cloud, environ
}

// attachStored attaches what is to be attached next, in this order, until there is nothing. It returns what it
// has attached.
func (w *world) attachStored(environ provider.Environ) (done []string) {
	w.Helper()
	ctx := w.Context()
	for {
		work, err := w.st.Provisioning().StorageWork(ctx)
		w.ok(err)
		before := len(done)
		for _, s := range work {
			a := s.Attachment
			if a.InUse != "" {
				w.Fatalf("%s is in the way of %s", a.InUse, s.ID)
			}
			if a.After != "" {
				continue
			}
			location, err := environ.AttachFilesystem(ctx,
				provider.AttachmentParams{Filesystem: s.Filesystem, Instance: a.Instance, Mount: a.Mount})
			w.ok(err)
			x, err := w.st.Storage(ctx, s.ID)
			w.ok(err)
			w.ok(x.SetAttached(ctx, a.Unit, a.Instance, location))
			done = append(done, s.ID)
		}
		if len(done) == before {
			return done
		}
	}
}

// takes detaches storage behind the controller's back.
func (w *world) takes(environ provider.Environ, ids ...string) {
	w.Helper()
	all, err := w.st.Provisioning().Attached(w.Context())
	w.ok(err)
	for _, a := range all {
		if slices.Contains(ids, a.Storage) {
			w.ok(clouds.Facade(environ).Detach(w.Context(), a))
		}
	}
}

// found writes findings, a line each.
func found(all []entity.Finding) string {
	var lines []string
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("%s: %s; %s %v %s", f.Where, f.What, f.Repair, f.Done, f.Failed))
	}
	return strings.Join(lines, "\n")
}

// Storage that the cloud does not have where it is recorded is found, and attached again by a repair, with
// what lies in it.
func TestCheckFindsStorageThatIsNotAttached(t *testing.T) {
	t.Parallel()
	w, cloud, environ := storedWorld(t)
	ctx := t.Context()
	admin := w.root().client()
	check := func(repair bool, want ...string) {
		t.Helper()
		all, err := admin.CheckModel(ctx, w.st.UUID(), repair)
		if got := found(all); err != nil || got != strings.Join(want, "\n") {
			t.Errorf("found %q (%v), want %q", got, err, want)
		}
	}
	missing := func(id string) string {
		return "storage " + id + ": it is recorded as attached to machine 0, which does not have it; attach it again "
	}
	attached := func(want ...string) {
		t.Helper()
		if got := w.attachStored(environ); !slices.Equal(got, want) {
			t.Errorf("%q is attached again, want %q", got, want)
		}
	}
	check(false)
	check(true)
	attached()

	w.takes(environ, "certs/0")
	check(false, missing("certs/0")+"false ")
	attached()
	check(true, missing("certs/0")+"true ")
	attached("certs/0")
	check(false)

	// What lies in it would be hidden.
	w.takes(environ, "common/1")
	check(true, missing("common/1")+"true ")
	attached("common/1", "certs/0")
	w.takes(environ, "common/1", "certs/0")
	check(true, missing("common/1")+"true ", missing("certs/0")+"true ")
	attached("common/1", "certs/0")
	check(false)

	w.takes(environ, "common/1")
	cloud.Fail("DetachFilesystem", 1, errors.New("it is busy"))
	check(true, missing("common/1")+"false it is busy")
	attached()
	check(true, missing("common/1")+"true ")
	attached("common/1", "certs/0")

	// What the cloud does not say is not repaired.
	cloud.Fail("IsFilesystemAttached", 1, errors.New("its host is away"))
	check(true, "storage certs/0: the cloud cannot say whether machine 0 has it: its host is away;  false ")
	attached()

	// An instance that is lost is replaced, and gets its storage then.
	m, err := w.st.Machine(ctx, "0")
	w.ok(err)
	cloud.Lose(m.InstanceID())
	check(true)
	attached()
}

// A cloud that can't be asked keeps no one from the check of the records.
func TestCheckGoesOnWithoutTheCloud(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	w, _, environ := storedWorld(t, func(c *facades.Config) {
		open := c.Cloud
		c.Cloud = func(ctx context.Context, model string) (facades.Cloud, error) {
			if away.Load() {
				return nil, errors.New("no route to host")
			}
			return open(ctx, model)
		}
	})
	w.takes(environ, "certs/0")
	away.Store(true)
	statetest.Damage(t, w.controller, w.st, "vault")
	all, err := w.root().client().CheckModel(t.Context(), w.st.UUID(), true)
	want := "counts s#vault: it is missing; write the right counts true \n" +
		"storage: cannot check whether it is attached: cannot ask the cloud what is attached: no route to host;  false "
	if got := found(all); got != want || err != nil {
		t.Errorf("found %q (%v), want %q", got, err, want)
	}
}

// An instance that the cloud has for a model and that is none of its machines' is found, and left alone by a repair.
func TestCheckFindsInstances(t *testing.T) {
	t.Parallel()
	w, cloud, environ := storedWorld(t)
	ctx := t.Context()
	stray, err := environ.StartInstance(ctx, provider.StartParams{MachineID: "7", Nonce: "n"})
	w.ok(err)
	admin := w.root().client()
	for _, repair := range []bool{false, true} {
		all, err := admin.CheckModel(ctx, w.st.UUID(), repair)
		want := "instance " + stray.ID + ": it was started for machine 7, and is none of the model's; to stop all such instances: " +
			"juju model-config provisioner-harvest-mode=all;  false "
		if got := found(all); got != want || err != nil {
			t.Errorf("found %q (%v), want %q", got, err, want)
		}
	}
	cloud.Lose(stray.ID)
	if all, err := admin.CheckModel(ctx, w.st.UUID(), false); len(all) > 0 || err != nil {
		t.Errorf("found %q (%v)", found(all), err)
	}
}

// Where nothing is attached, the cloud is asked for instances only.
func TestCheckWithoutStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *facades.Config) {
		c.Cloud = func(context.Context, string) (facades.Cloud, error) { return nil, errors.New("no route to host") }
	})
	all, err := w.root().client().CheckModel(t.Context(), w.st.UUID(), false)
	want := "instances: cannot check which of them the cloud has: cannot ask the cloud what instances it has: no route to host;  false "
	if got := found(all); got != want || err != nil {
		t.Errorf("found %q (%v), want %q", got, err, want)
	}
}

// Storage that is detached while the cloud is asked is not missing.
func TestCheckBelievesWhatIsStillRecorded(t *testing.T) {
	t.Parallel()
	w, cloud, _ := storedWorld(t)
	ctx := t.Context()
	ops := cloud.Watch(ctx)
	release := cloud.Stall("IsFilesystemAttached")
	checked := make(chan error, 1)
	var all []entity.Finding
	go func() {
		var err error
		all, err = w.root().client().CheckModel(ctx, w.st.UUID(), true)
		checked <- err
	}()
	for op := range ops {
		if op.Stalled {
			break
		}
	}
	s, err := w.st.Storage(ctx, "certs/0")
	w.ok(err)
	w.ok(s.Detach(ctx, entity.Destruction{Strength: entity.Force}))
	u, err := w.st.Unit(ctx, "vault/0")
	w.ok(err)
	w.ok(u.DetachStorage(ctx, "certs/0"))
	environ, err := cloud.Open(ctx, provider.Config{Controller: "c", Model: w.st.UUID()})
	w.ok(err)
	work, err := w.st.Provisioning().StorageWork(ctx)
	w.ok(err)
	w.ok(environ.DetachFilesystem(ctx, provider.AttachmentParams{Filesystem: work[0].Filesystem,
		Instance: work[0].Attachment.Instance, Mount: work[0].Attachment.Mount}))
	release()
	w.ok(<-checked)
	if len(all) > 0 {
		t.Errorf("found %q", found(all))
	}
}
