package state_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"juju/state"
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
	w.ok(w.st.Resources().Store(w.ctx, state.Upload{Service: service, Resource: name, ID: ids[0]},
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
