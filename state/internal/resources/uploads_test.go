package resources_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/resources"
	"juju/state/limits"
)

// Each user has a number of pending resources in a model, so that no one uses up what others need. The error says how to
// remove them; those that no one removes go after a day.
func TestPendingResourcesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	most := func() {
		t.Helper()
		for i := range limits.PendingResources.Max {
			s.Put(modeldb.Upload{ID: fmt.Sprint(i), Service: fmt.Sprint("site", i), Resource: "pages", Began: s.Time, ResourceFile: entity.ResourceFile{User: "eve"}})
		}
	}
	most()
	_, err := s.pend("shop", "eve", "pages")
	s.Refused(err, entity.Invalid, `cannot add resources to service "shop": pending resources of a user in a model: 201 uploads, the limit is 200`)
	s.Refused(err, entity.Invalid, "juju pending-resources --clear. They are removed 24 hours after they were added.")
	_, err = s.pend("site", "bob", "pages") // bob is not affected
	s.OK(err)
	_, err = s.pend("site7", "eve", "pages") // it replaces one
	s.OK(err)
	_, err = s.pend("site7", "eve", "logo")
	s.Refused(err, entity.Invalid, "201 uploads")
	s.Time = s.Time.Add(24 * time.Hour)
	s.OK(s.Prune(s.Ctx))
	if n := len(s.uploads("")); n != 201 {
		t.Errorf("%d are left after a day, want 201", n)
	}
	s.Time = s.Time.Add(time.Millisecond)
	s.OK(s.Prune(s.Ctx))
	if n := len(s.uploads("")); n != 0 {
		t.Errorf("%d are left after more than a day", n)
	}
}

// Uploads are only for resources that the charm declares which the service has, or will have.
func TestPendingResourcesOfNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	refused := func(service, charm, name string, kind entity.Kind, says string) {
		t.Helper()
		_, err := s.AddPending(s.Ctx, resources.Pending{Service: service, Charm: charm, User: "eve", Names: []string{"pages", name}})
		s.Refused(err, kind, fmt.Sprintf("cannot add resources to service %q: %s", service, says))
	}
	refused("shop", "local:gone-1", "pages", entity.NotFound, `charm "local:gone-1" not found`)
	refused("shop", "", "pages", entity.NotFound, `service "shop" not found`)
	refused("shop", "local:site-1", "nothing", entity.Invalid, `unrecognized resource "nothing"`)
	refused("site", "", "image", entity.NotSupported, `resource "image" is of type oci-image, which is only for Kubernetes`)
	ids, err := s.AddPending(s.Ctx, resources.Pending{Service: "site", User: "eve", Names: []string{"pages", "logo"}})
	s.OK(err)
	doc := modeltest.Get[modeldb.Upload](s.Model, ids[1])
	modeltest.Same(t, "the upload", doc, modeldb.Upload{ID: ids[1], Service: "site", Resource: "logo", Began: s.Time,
		ResourceFile: entity.ResourceFile{User: "eve", Uploaded: doc.Uploaded}})
	s.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying)
	refused("site", "", "pages", entity.NotAlive, `model "default" is no longer alive`)
}

// What others add at the same time counts, and the charm and the model are there when it is added.
func TestPendingResourcesAddedConcurrentlyAreBounded(t *testing.T) {
	pages := func(n int) []string { return strings.Fields(strings.Repeat("pages ", n)) }
	for name, c := range map[string]struct {
		between func(*site)
		kind    entity.Kind
	}{
		"others are added":       {func(s *site) { _, err := s.pend("other", "eve", "pages"); s.OK(err) }, entity.Invalid},
		"the charm is removed":   {func(s *site) { s.Remove(modeldb.CharmsC, "local:site-1") }, entity.NotFound},
		"the model is destroyed": {func(s *site) { s.Kill(modeldb.ModelC, modeldb.ModelC, entity.Dying) }, entity.NotAlive},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, first %v", name, first), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				if !first {
					_, err := s.pend("site", "bob", "pages")
					s.OK(err)
				}
				s.Refused(s.Race(func() { c.between(s) }, func() error {
					_, err := s.pend("site", "eve", pages(limits.PendingResources.Max)...)
					return err
				}), c.kind, "")
			})
		}
	}
}

// pendingNow returns the pending resources as "service/resource user".
func (s *site) pendingNow() string {
	s.Helper()
	all, err := s.Pending(s.Ctx)
	s.OK(err)
	var text []string
	for _, r := range all {
		text = append(text, fmt.Sprintf("%s/%s %s %d %v", r.Service, r.Resource, r.User, r.Size, r.Stored))
	}
	return strings.Join(text, ", ")
}

// A newer upload replaces the user's earlier one for the same resource, whose user learns why it is not found. Users list
// what is pending and remove it, their own or everyone's; the files go.
func TestPendingResourcesAreReplacedAndCleared(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old := s.upload("pages", "one")
	now := s.upload("pages", "three")
	_, err := s.gives(map[string]string{"pages": old})
	s.Refused(err, entity.NotFound, "A newer upload for the resource may have replaced it")
	modeltest.Same(t, "released are", s.releases(), []string{"one"})
	s.Time = s.Time.Add(time.Second)
	for _, p := range []string{"site eve pages", "site bob logo", "shop bob pages"} {
		f := strings.Fields(p)
		_, err := s.pend(f[0], f[1], f[2])
		s.OK(err)
	}
	shows := func(want string) {
		t.Helper()
		modeltest.Same(t, "pending are", s.pendingNow(), want)
	}
	shows("shop/pages bob 0 false, site/logo bob 0 false, site/pages bob 5 true, site/pages eve 0 false")
	cleared, err := s.ClearPending(s.Ctx, "bob", []string{"shop", "other"})
	s.OK(err)
	modeltest.Same(t, "cleared are", cleared, []entity.PendingResource{{Service: "shop", Resource: "pages", User: "bob", Began: s.Time}})
	shows("site/logo bob 0 false, site/pages bob 5 true, site/pages eve 0 false")
	s.given(1, map[string]string{"pages": now})
	_, err = s.ClearPending(s.Ctx, "bob", nil)
	s.OK(err)
	shows("site/pages eve 0 false")
	s.upload("logo", "in vain")
	_, err = s.ClearPending(s.Ctx, "", nil)
	s.OK(err)
	shows("")
	modeltest.Same(t, "released are", len(s.releases()), 2)
	// One that a service gets meanwhile is not there any more; of one for which another file is stored, that goes.
	id := s.upload("pages", "x")
	s.OK(s.Race(func() { s.Set(modeldb.UploadsC, id, bson.DocElem{Name: "sha256", Value: "y"}) }, func() error {
		_, err := s.ClearPending(s.Ctx, "", nil)
		return err
	}))
	if left := fmt.Sprint(s.releases()); !strings.Contains(left, "archive y") || strings.Contains(left, "x") {
		t.Errorf("released are %s", left)
	}
	id = s.upload("pages", "x")
	s.OK(s.Race(func() { s.Remove(modeldb.UploadsC, id) }, func() error { _, err := s.ClearPending(s.Ctx, "", nil); return err }))
}

// A file is recorded before it is stored. Another that is stored for the same upload replaces it.
func TestStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, err := s.pend("site", "bob", "pages")
	s.OK(err)
	to := resources.Upload{Service: "site", Resource: "pages", ID: ids[0]}
	store := func(content string) error { return s.Resources.Store(s.Ctx, to, strings.NewReader(content)) }
	is := func(content string, stored bool) modeldb.Upload {
		t.Helper()
		doc := modeltest.Get[modeldb.Upload](s.Model, to.ID)
		if doc.SHA256 != sumOf(content) || doc.Stored != stored || doc.Size != int64(len(content)) || doc.User != "bob" || !doc.Uploaded.Equal(s.Time) ||
			doc.Upload != to.ID {
			t.Errorf("the upload is %+v", doc)
		}
		return doc
	}
	s.OK(store("one"))
	long := is("one", true).SHA384
	s.OK(store("one"))
	s.OK(store("three"))
	is("three", true)
	modeltest.Same(t, "released are", s.releases(), []string{"one"})
	file, err := s.Resources.Open(s.Ctx, entity.ResourceFile{SHA256: sumOf("three")})
	s.OK(err)
	if content, err := io.ReadAll(file); string(content) != "three" || err != nil {
		t.Errorf("the file has %q, %v", content, err)
	}
	_, err = s.Resources.Open(s.Ctx, entity.ResourceFile{SHA256: "x"})
	s.Refused(err, entity.NotFound, "cannot open the file of a resource: no file x")
	to.SHA384 = long
	s.Refused(store("other"), entity.Invalid, `cannot store resource "pages": the file has SHA-384 `)
	is("three", true)
	s.OK(store("one"))
	is("one", true)
	to.SHA384 = ""
	// Another is uploaded for it meanwhile: after the record, or in place of it.
	s.kept = func() { s.Set(modeldb.UploadsC, to.ID, bson.DocElem{Name: "sha256", Value: "other"}) }
	s.Refused(store("four"), entity.Contention, "another file was uploaded for it meanwhile")
	s.kept = func() {}
	s.OK(s.Race(func() { s.Set(modeldb.UploadsC, to.ID, bson.DocElem{Name: "sha256", Value: "another"}) }, func() error { return store("five") }))
	is("five", true)
	s.kept = func() {
		s.Put(modeldb.Upload{ID: to.ID, Service: "site", Resource: "logo", ResourceFile: entity.ResourceFile{User: "bob"}})
	}
	s.Refused(store("six"), entity.NotFound, "upload the file again")
	s.Refused(store("six"), entity.NotFound, "not found")
	// In a copy of a model there are no files.
	s.kept, to.Resource, to.Known = func() {}, "logo", entity.ResourceFile{SHA256: sumOf("known"), Size: 5}
	s.OK(s.Resources.Store(s.Ctx, to, nil))
	is("known", true)
	if s.adding != 0 {
		t.Errorf("%d files are being added", s.adding)
	}
}

// The file that is recorded last is that which is stored.
func TestStoreIsOfWhatWasRecorded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, err := s.pend("site", "bob", "pages")
	s.OK(err)
	to := resources.Upload{Service: "site", Resource: "pages", ID: ids[0]}
	s.kept = func() {
		s.kept = func() {}
		err := s.Race(func() { s.Set(modeldb.UploadsC, to.ID, bson.DocElem{Name: "sha256", Value: "other"}) }, func() error {
			return s.Resources.Store(s.Ctx, resources.Upload{Service: "site", Resource: "pages", ID: to.ID, Known: entity.ResourceFile{SHA256: sumOf("one")}}, nil)
		})
		s.Refused(err, entity.Contention, "meanwhile")
	}
	s.Refused(s.Resources.Store(s.Ctx, to, strings.NewReader("one")), entity.Contention, "meanwhile")
}
