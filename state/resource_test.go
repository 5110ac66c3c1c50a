package state_test

import (
	"errors"
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

// pend stores a file for a resource of a service, and returns the id of the upload.
func (w *world) pend(service, name, content string) string {
	w.Helper()
	ids, err := w.st.Resources().AddPending(w.ctx, service, []string{name})
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
	file, err := w.st.Resources().Open(*r.File)
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
	empty, err := w.st.Resources().AddPending(w.ctx, "site", []string{"pages"})
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

// Pending resources are bounded, whoever announces them for whatever service, and go after a day.
func TestPendingResourcesAreBounded(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	most := make([]string, limits.PendingResources.Max)
	for i := range most {
		most[i] = "pages"
	}
	refused := func(names []string) {
		t.Helper()
		_, err := w.st.Resources().AddPending(w.ctx, "nothing", names)
		if !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), "pending resources of a model: 201 uploads, "+
			"the limit is 200") || entity.Hint(err) != "Those that no service uses are removed 24 hours after they were added." {
			t.Errorf("got %v, %q", err, entity.Hint(err))
		}
	}
	refused(append(most, "pages"))
	_, err := w.st.Resources().AddPending(w.ctx, "nothing", most)
	w.ok(err)
	refused([]string{"pages"})
	c.pass(25 * time.Hour)
	w.ok(w.st.Resources().Prune(w.ctx))
	w.pend("site", "pages", "one")
}

// What others add at the same time counts.
func TestPendingResourcesAddedConcurrentlyAreBounded(t *testing.T) {
	w := newWorld(t)
	add := func(n int) error {
		names := make([]string, n)
		for i := range names {
			names[i] = "pages"
		}
		_, err := w.st.Resources().AddPending(w.ctx, "site", names)
		return err
	}
	half := limits.PendingResources.Max / 2
	for range 2 { // with a model that has had none, and one that has
		w.st.Before(func() { w.ok(add(half)) })
		w.refused(add(limits.PendingResources.Max), entity.Invalid, "pending resources of a model")
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
