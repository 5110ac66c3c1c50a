package state_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// site is a charm with resources.
const site = `{name: site, summary: s, description: d, resources: {
	pages: {type: file, filename: pages.tgz, description: what to show},
	logo: {type: file, filename: logo.png}, image: {type: oci-image}}}`

// pendingOf announces uploads of a user for resources of a service, which has the charm site or will have it.
func pendingOf(service, user string, names ...string) state.PendingResources {
	return state.PendingResources{Service: service, Charm: charmOf("site"), User: user, Names: names}
}

// pend stores a file for a resource of a service, and returns the id of the upload.
func (w *world) pend(service, name, content string) string {
	w.Helper()
	ids, err := w.st.Resources().AddPending(w.ctx, pendingOf(service, "bob", name))
	w.ok(err)
	w.ok(w.st.Resources().Store(w.ctx, state.Upload{Service: service, Resource: name, ID: ids[0], User: "bob"},
		strings.NewReader(content)))
	return ids[0]
}

// attach gives a service a file.
func (w *world) attach(s *state.Service, name, content string) {
	w.Helper()
	w.ok(s.SetResources(w.ctx, map[string]string{name: w.pend(s.Name(), name, content)}))
}

func (w *world) siteService(files map[string]string) *state.Service {
	w.Helper()
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "site", Units: 2, Resources: files,
		CharmURL: statetest.Charm(w.T, w.st, site)})
	w.ok(err)
	return s
}

// content returns what a unit fetches of a resource; "" if no one has uploaded it.
func (w *world) content(unit, name string) string {
	w.Helper()
	r, err := w.unit(unit).Resource(w.ctx, name)
	w.ok(err)
	if r.File == nil {
		return ""
	}
	w.ok(w.unit(unit).SetFetched(w.ctx, name, *r.File))
	file, err := w.st.Resources().Open(w.ctx, *r.File)
	w.ok(err)
	defer file.Close()
	text, err := io.ReadAll(file)
	w.ok(err)
	return string(text)
}

// version returns what tells a unit's agent that its service has other resources.
func (w *world) version(unit string) int64 {
	w.Helper()
	info, err := w.unit(unit).Info(w.ctx)
	w.ok(err)
	return info.ResourcesVersion
}

// A service gets its files when it is added, or later; its units see that by the version, and
// state knows which file each has.
func TestResources(t *testing.T) {
	w := newWorld(t)
	statetest.Charm(t, w.st, site)
	s := w.siteService(map[string]string{"pages": w.pend("site", "pages", "one")})
	if got := w.content("site/0", "pages"); got != "one" || w.version("site/0") != 1 {
		t.Errorf("the unit gets %q in version %d, want one in 1", got, w.version("site/0"))
	}
	if got := w.content("site/0", "logo"); got != "" {
		t.Errorf("a resource that was not uploaded is %q", got)
	}
	w.attach(s, "pages", "two")
	w.attach(s, "logo", "") // a file may be empty
	if v := w.version("site/1"); v != 3 {
		t.Errorf("the version is %d, want 3", v)
	}
	of, err := s.Resources(w.ctx)
	w.ok(err)
	if len(of.Resources) != 3 || of.Resources[2].Name != "pages" || of.Resources[2].Filename != "pages.tgz" ||
		of.Resources[2].Description != "what to show" || of.Resources[2].File.User != "bob" ||
		of.Resources[2].File.Size != 3 || of.Resources[1].File.Size != 0 || of.Resources[0].File != nil {
		t.Errorf("the resources are %+v", of.Resources)
	}
	if has, is := of.Units["site/0"]["pages"], *of.Resources[2].File; has.SHA256 == is.SHA256 || has.Size != 3 {
		t.Errorf("the unit has %+v, which is not the file before %+v", has, is)
	}
	if got := w.content("site/1", "pages"); got != "two" {
		t.Errorf("the other unit gets %q, want two", got)
	}
	w.attach(s, "pages", "two") // changes nothing
	if v := w.version("site/1"); v != 3 {
		t.Errorf("the same file makes version %d", v)
	}
	w.clean()
	w.checkClean()
}

// What is wrong with a resource is refused, and changes nothing.
func TestResourcesRefused(t *testing.T) {
	w := newWorld(t)
	s := w.siteService(nil)
	other := w.pend("other", "pages", "x")
	empty, err := w.st.Resources().AddPending(w.ctx, pendingOf("site", "bob", "pages"))
	w.ok(err)
	for want, ids := range map[string]map[string]string{
		`cannot set resources of service "site": unrecognized resource "nothing"`: {"nothing": other},
		`cannot set resources of service "site": resource "image" is of type oci-image, which is only for Kubernetes`: {
			"image": other},
		`cannot set resources of service "site": upload "` + other + `" of resource "pages" not found`: {"pages": other},
		`cannot set resources of service "site": resource "pages" was not uploaded`:                    {"pages": empty[0]},
	} {
		if err := s.SetResources(w.ctx, ids); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	err = w.st.Resources().Store(w.ctx, state.Upload{Service: "site", Resource: "pages", ID: empty[0], SHA384: "12"},
		strings.NewReader("x"))
	if !errors.Is(err, entity.Invalid) {
		t.Errorf("a file with another sum: %v", err)
	}
	if v := w.version("site/0"); v != 0 {
		t.Errorf("the version is %d, want 0", v)
	}
}

// most announces as many uploads as a user may have, for services that will have the charm.
func (w *world) mostPending(user string) {
	w.Helper()
	for i := range limits.PendingResources.Max {
		_, err := w.st.Resources().AddPending(w.ctx, pendingOf(fmt.Sprint("site", i), user, "pages"))
		w.ok(err)
	}
}

// Each user has a number of pending resources in a model, so that no one uses up what others need. The error says how to
// remove them; those that no one removes go after a day.
func TestPendingResourcesAreBounded(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	statetest.Charm(t, w.st, site)
	w.mostPending("eve")
	_, err := w.st.Resources().AddPending(w.ctx, pendingOf("shop", "eve", "pages"))
	if !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(),
		"pending resources of a user in a model: 201 uploads, the limit is 200") ||
		!strings.Contains(entity.Hint(err), "juju pending-resources --clear") {
		t.Errorf("got %v, %q", err, entity.Hint(err))
	}
	w.pend("site", "pages", "one") // bob is not affected
	_, err = w.st.Resources().AddPending(w.ctx, pendingOf("site7", "eve", "pages"))
	w.ok(err) // it replaces one
	c.pass(25 * time.Hour)
	w.ok(w.st.Resources().Prune(w.ctx))
	w.mostPending("eve")
}

// Uploads are only for resources that the charm declares which the service has, or will have.
func TestPendingResourcesOfNothing(t *testing.T) {
	w := newWorld(t)
	refused := func(p state.PendingResources, kind entity.Kind, says string) {
		t.Helper()
		if _, err := w.st.Resources().AddPending(w.ctx, p); !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: got %v, want %s", p, err, says)
		}
	}
	refused(pendingOf("site", "eve", "pages"), entity.NotFound, `charm "local:jammy/site-0" not found`)
	refused(state.PendingResources{Service: "site", User: "eve", Names: []string{"pages"}}, entity.NotFound, `service "site" not found`)
	w.siteService(nil)
	refused(pendingOf("other", "eve", "nothing"), entity.Invalid, `unrecognized resource "nothing"`)
	refused(state.PendingResources{Service: "site", User: "eve", Names: []string{"nothing"}}, entity.Invalid, `unrecognized resource "nothing"`)
	_, err := w.st.Resources().AddPending(w.ctx, state.PendingResources{Service: "site", User: "eve", Names: []string{"pages"}})
	w.ok(err)
}

// pendingNow returns the pending resources as "service/resource user".
func (w *world) pendingNow() string {
	w.Helper()
	all, err := w.st.Resources().Pending(w.ctx)
	w.ok(err)
	var text []string
	for _, r := range all {
		text = append(text, r.Service+"/"+r.Resource+" "+r.User)
	}
	return strings.Join(text, ", ")
}

// A newer upload replaces the user's earlier one for the same resource, whose user learns why it is not found. Users list
// what is pending and remove it, their own or everyone's; the files go.
func TestPendingResourcesAreReplacedAndCleared(t *testing.T) {
	w := newWorld(t)
	s := w.siteService(nil)
	old := w.pend("site", "pages", "one")
	now := w.pend("site", "pages", "two")
	err := s.SetResources(w.ctx, map[string]string{"pages": old})
	if !errors.Is(err, entity.NotFound) || !strings.Contains(entity.Hint(err), "newer upload") {
		t.Errorf("got %v, %q", err, entity.Hint(err))
	}
	for _, p := range []state.PendingResources{pendingOf("site", "eve", "pages"), pendingOf("site", "bob", "logo"), pendingOf("shop", "bob", "pages")} {
		_, err := w.st.Resources().AddPending(w.ctx, p)
		w.ok(err)
	}
	shows := func(want string) {
		t.Helper()
		if got := w.pendingNow(); got != want {
			t.Errorf("pending: %s\nwant %s", got, want)
		}
	}
	shows("shop/pages bob, site/logo bob, site/pages bob, site/pages eve")
	cleared, err := w.st.Resources().ClearPending(w.ctx, "bob", []string{"shop", "other"})
	w.ok(err)
	if len(cleared) != 1 || cleared[0].Service != "shop" {
		t.Errorf("cleared %+v", cleared)
	}
	shows("site/logo bob, site/pages bob, site/pages eve")
	w.ok(s.SetResources(w.ctx, map[string]string{"pages": now}))
	_, err = w.st.Resources().ClearPending(w.ctx, "bob", nil)
	w.ok(err)
	shows("site/pages eve")
	w.pend("site", "logo", "in vain")
	_, err = w.st.Resources().ClearPending(w.ctx, "", nil)
	w.ok(err)
	shows("")
	w.clean()
	if n := w.files(); n != 1 {
		t.Errorf("%d files are left, want that of pages", n)
	}
	w.checkClean()
}

// What others add at the same time counts.
func TestPendingResourcesAddedConcurrentlyAreBounded(t *testing.T) {
	w := newWorld(t)
	statetest.Charm(t, w.st, site)
	add := func(service string, n int) error {
		names := make([]string, n)
		for i := range names {
			names[i] = "pages"
		}
		_, err := w.st.Resources().AddPending(w.ctx, pendingOf(service, "eve", names...))
		return err
	}
	half := limits.PendingResources.Max / 2
	for i := range 2 { // with a model that has had none, and one that has
		w.st.Before(func() { w.ok(add(fmt.Sprint("other", i), half)) })
		w.refused(add("site", limits.PendingResources.Max), entity.Invalid, "pending resources of a user in a model")
		half /= 2
	}
}

// files returns the number of files that the controller has, without those of charms.
func (w *world) files() int {
	w.Helper()
	n, err := w.store.Session().DB("juju").C("charms.files").Count()
	w.ok(err)
	charms, err := w.store.Session().DB(w.st.UUID()).C("charms").Count()
	w.ok(err)
	return n - charms
}

// A file that nothing uses any more is deleted: one that was replaced, one of a service that is gone,
// one that was uploaded in vain. One that something else uses stays.
func TestResourcesAreReleased(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	s := w.siteService(nil)
	left := func(want int) {
		t.Helper()
		w.clean()
		if n := w.files(); n != want {
			t.Errorf("%d files are left, want %d", n, want)
		}
	}
	w.attach(s, "pages", "one")
	w.attach(s, "logo", "one")
	left(1)
	w.attach(s, "pages", "two")
	left(2) // the logo has the first
	w.attach(s, "logo", "two")
	left(1)
	w.attach(s, "logo", "three")
	w.pend("site", "logo", "in vain")
	left(3)
	c.pass(25 * time.Hour)
	w.ok(w.st.Resources().Prune(w.ctx))
	left(2)
	for _, name := range []string{"site/0", "site/1"} {
		w.ok(w.unit(name).Destroy(w.ctx, plain))
	}
	w.ok(s.Destroy(w.ctx, plain))
	left(0)
	w.checkClean()
}
