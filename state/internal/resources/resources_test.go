package resources_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/resources"
)

const siteCharm = `{name: site, summary: s, description: d, resources: {
	pages: {type: file, filename: pages.tgz, description: what to show},
	logo: {type: file, filename: logo.png}, image: {type: oci-image}}}`

// A site is a model with the service site, whose charm has resources, and with files.
type site struct {
	*modeltest.Model
	*testing.T
	resources.Resources
	files map[string]string // by their sums
	// kept is called when a file has been stored, and adding is how many are being stored.
	kept   func()
	adding int
}

func newSite(t *testing.T, docs ...any) *site {
	t.Helper()
	s := &site{Model: modeltest.New(t, modeldb.Service{Name: "site", CharmURL: "local:site-1"}), T: t, files: map[string]string{}, kept: func() {}}
	s.PutCharm("local:site-1", siteCharm)
	s.Put(docs...)
	s.Resources = resources.Of(s.DB, s)
	return s
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Adding, Keep and Open implement resources.Files.
func (s *site) Adding() func() { s.adding++; return func() { s.adding-- } }

func (s *site) Keep(_ context.Context, file io.ReadSeeker) (string, int64, error) {
	content, err := io.ReadAll(file)
	if s.adding != 1 || len(s.uploads(sumOf(string(content)))) == 0 {
		s.Errorf("%d files are being added, and the record of this one says %v", s.adding, s.uploads(""))
	}
	s.files[sumOf(string(content))] = string(content)
	s.kept()
	return sumOf(string(content)), int64(len(content)), err
}

func (s *site) Open(_ context.Context, sum string) (io.ReadCloser, error) {
	content, ok := s.files[sum]
	if !ok {
		return nil, entity.Errorf(entity.NotFound, "no file %s", sum)
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// uploads are those with a file, or all.
func (s *site) uploads(sum string) (ids []string) {
	for _, u := range modeltest.All[modeldb.Upload](s.Model) {
		if sum == "" || u.SHA256 == sum {
			ids = append(ids, u.ID)
		}
	}
	return ids
}

// pend announces uploads of a user for resources of a service that has the charm of site, or will have it.
func (s *site) pend(service, user string, names ...string) ([]string, error) {
	return s.AddPending(s.Ctx, resources.Pending{Service: service, Charm: "local:site-1", User: user, Names: names})
}

// upload stores a file for a resource, and returns the id of its upload.
func (s *site) upload(name, content string) string {
	s.Helper()
	ids, err := s.pend("site", "bob", name)
	s.OK(err)
	s.OK(s.Resources.Store(s.Ctx, resources.Upload{Service: "site", Resource: name, ID: ids[0]}, strings.NewReader(content)))
	return ids[0]
}

func (s *site) service() modeldb.Service {
	s.Helper()
	return modeltest.Get[modeldb.Service](s.Model, "site")
}

// gives gives the service files, as its setter does, and returns the new version.
func (s *site) gives(ids map[string]string) (version int64, err error) {
	err = s.Change(s.Ctx, func(o *modeltxn.Ops) error {
		service := s.service()
		meta, err := charm.ParseMeta([]byte(siteCharm))
		s.OK(err)
		if version, err = resources.Give(s.Ctx, s.DB, o, service, meta, ids); err == nil && version != service.Resources {
			o.Update(modeldb.ServicesC, "site", modeltxn.IsAlive, bson.D{{"$set", bson.D{{"resources", version}}}})
		}
		return err
	})
	return version, err
}

func (s *site) given(version int64, ids map[string]string) {
	s.Helper()
	if got, err := s.gives(ids); err != nil || got != version {
		s.Errorf("the version is %d (%v), want %d", got, err, version)
	}
}

// has returns the contents of the service's files.
func (s *site) has() map[string]string {
	s.Helper()
	all, err := resources.Declared(s.Ctx, s.DB, s.service())
	s.OK(err)
	has := map[string]string{}
	for _, r := range all {
		if r.File != nil {
			has[r.Name] = s.files[r.File.SHA256]
		}
	}
	return has
}

// releases returns what the cleanups release.
func (s *site) releases() (contents []string) {
	for _, c := range s.CleanupsLeft() {
		sum := strings.TrimPrefix(c, modeldb.CleanupArchive+" ")
		if content, ok := s.files[sum]; ok {
			c = content
		}
		contents = append(contents, c)
	}
	return contents
}

// A service gets the files of uploads, once each; what it had is released. Its version grows when a file changes.
func TestGive(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.given(0, nil)
	one := s.upload("pages", "one")
	s.given(1, map[string]string{"pages": one})
	modeltest.Same(t, "files", s.has(), map[string]string{"pages": "one"})
	file := modeltest.Get[modeldb.Resources](s.Model, "s#site").Files["pages"]
	modeltest.Same(t, "the file", file, entity.ResourceFile{SHA256: sumOf("one"), SHA384: file.SHA384, Size: 3, User: "bob", Uploaded: s.Time, Upload: one})
	if len(file.SHA384) != 96 || len(s.uploads("")) > 0 {
		t.Errorf("the file is %+v, and uploads are left: %v", file, s.uploads(""))
	}
	s.given(1, map[string]string{"pages": one}) // again, because the response was lost
	s.given(2, map[string]string{"pages": s.upload("pages", "two"), "logo": s.upload("logo", "")})
	modeltest.Same(t, "files", s.has(), map[string]string{"pages": "two", "logo": ""})
	modeltest.Same(t, "released are", s.releases(), []string{"one"})
	s.given(2, map[string]string{"pages": s.upload("pages", "two")}) // the same file
	if len(s.uploads("")) > 0 || len(s.releases()) != 1 {
		t.Errorf("uploads are left: %v; released are %v", s.uploads(""), s.releases())
	}
	s.Do(func(o *modeltxn.Ops) error { return resources.Release(s.Ctx, s.DB, o, "site") })
	modeltest.Same(t, "released are", len(s.releases()), 3)
}

// What is wrong with a resource is refused, and changes nothing.
func TestResourcesRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ok := s.upload("logo", "x")
	empty, err := s.pend("site", "bob", "pages")
	s.OK(err)
	s.Put(modeldb.Upload{ID: "other", Service: "other", Resource: "pages", Stored: true})
	for want, id := range map[string]string{
		`unrecognized resource "nothing"`: "nothing " + ok, `resource "image" is of type oci-image, which is only for Kubernetes`: "image " + ok,
		`upload "other" of resource "pages" not found`: "pages other", `upload "` + ok + `" of resource "pages" not found`: "pages " + ok,
		`resource "pages" was not uploaded`: "pages " + empty[0], `upload "9" of resource "pages" not found`: "pages 9",
	} {
		name, id, _ := strings.Cut(id, " ")
		_, err := s.gives(map[string]string{"logo": ok, name: id})
		if err == nil || err.Error() != want || strings.Contains(want, "upload ") && !strings.Contains(entity.Hint(err), "upload the file again") {
			t.Errorf("got %v (%s), want %s", err, entity.Hint(err), want)
		}
	}
	if len(s.has()) > 0 || len(s.uploads("")) != 3 {
		t.Errorf("the service has %v, and there are %v", s.has(), s.uploads(""))
	}
}

// What is given is as it was read.
func TestGivenIsWhatWasRead(t *testing.T) {
	for name, c := range map[string]struct {
		before, between func(*site)
		want            string
	}{
		"another gives the first file": {func(*site) {}, func(s *site) { s.given(1, map[string]string{"logo": s.upload("logo", "l")}) }, ""},
		"another gives one more": {func(s *site) { s.given(1, map[string]string{"logo": s.upload("logo", "l")}) },
			func(s *site) { s.given(2, map[string]string{"logo": s.upload("logo", "m")}) }, ""},
		"another file is uploaded for it": {func(*site) {}, func(s *site) { s.Set(modeldb.UploadsC, s.uploads("")[0], bson.DocElem{Name: "stored", Value: false}) },
			`resource "pages" was not uploaded`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c.before(s)
			id := s.upload("pages", "one")
			err := s.Race(func() { c.between(s) }, func() error { _, err := s.gives(map[string]string{"pages": id}); return err })
			if c.want == "" {
				if s.OK(err); s.has()["pages"] != "one" || len(s.has()) != 2 {
					t.Errorf("the service has %v", s.has())
				}
			} else {
				s.Refused(err, entity.Invalid, c.want)
			}
		})
	}
}

// A service has the resources of its charm, and each unit the files that it has fetched.
func TestOfService(t *testing.T) {
	t.Parallel()
	s := newSite(t, modeldb.Unit{Name: "site/0", Service: "site"}, modeldb.Unit{Name: "site/1", Service: "site"},
		modeldb.Unit{Name: "other/0", Service: "other"}, modeldb.Service{Name: "plain", CharmURL: "local:plain-1"})
	s.PutCharm("local:plain-1", "{name: plain, summary: s, description: d}")
	s.given(1, map[string]string{"logo": s.upload("logo", "l")})
	file := modeltest.Get[modeldb.Resources](s.Model, "s#site").Files["logo"]
	fetch := func(unit string, file entity.ResourceFile) func(*modeltxn.Ops) error {
		return func(o *modeltxn.Ops) error { return resources.SetFetched(s.Ctx, s.DB, o, unit, "logo", file) }
	}
	s.Do(fetch("site/1", file))
	s.Do(fetch("other/0", file))
	got, err := resources.OfService(s.Ctx, s.DB, s.service())
	s.OK(err)
	modeltest.Same(t, "the resources", got, entity.ResourcesOf{Resources: []entity.Resource{{Name: "image", Type: "oci-image"},
		{Name: "logo", Type: "file", Filename: "logo.png", File: &file}, {Name: "pages", Type: "file", Filename: "pages.tgz", Description: "what to show"}},
		Units: map[string]map[string]entity.ResourceFile{"site/0": {}, "site/1": {"logo": file}}})
	one, err := resources.One(s.Ctx, s.DB, "site", charm.Resource{Name: "logo", Type: "file"})
	s.OK(err)
	modeltest.Same(t, "one", one, entity.Resource{Name: "logo", Type: "file", File: &file})
	plain, err := resources.Declared(s.Ctx, s.DB, modeldb.Service{Name: "plain", CharmURL: "local:plain-1"})
	if s.OK(err); len(plain) > 0 {
		t.Errorf("a charm without resources has %v", plain)
	}
	// What a unit has fetched is recorded once, for as long as it is there.
	s.Nothing(fetch("site/1", file))
	again, other := file, file
	again.Upload, other.SHA256 = "later", "other"
	for _, f := range []entity.ResourceFile{again, other} {
		s.Do(fetch("site/1", f))
	}
	if doc := modeltest.Get[modeldb.Resources](s.Model, "u#site/1"); doc.Version != 3 || doc.Files["logo"] != other {
		t.Errorf("it has fetched %+v", doc)
	}
	s.OK(s.RaceOps(func() { s.Put(modeldb.Resources{ID: "u#site/1", Version: 9}) }, fetch("site/1", file)))
	err = s.RaceOps(func() { s.Remove(modeldb.UnitsC, "site/0") }, func(o *modeltxn.Ops) error {
		if _, err := s.Unit(s.Ctx, "site/0"); err != nil {
			return err
		}
		return fetch("site/0", file)(o)
	})
	s.Refused(err, entity.NotFound, `unit "site/0" not found`)
}

// A file is kept for as long as a charm, an upload or a service has it, or until the cleanup that releases it.
func TestUses(t *testing.T) {
	t.Parallel()
	s := newSite(t, modeldb.Charm{URL: "local:c-1", SHA256: "of a charm"}, modeldb.Upload{ID: "u", ResourceFile: entity.ResourceFile{SHA256: "of an upload"}},
		modeldb.Resources{ID: "s#site", Files: map[string]entity.ResourceFile{"a": {SHA256: "of a"}, "b": {SHA256: "of b"}}},
		modeldb.Resources{ID: "u#site/0", Files: map[string]entity.ResourceFile{"a": {SHA256: "of a unit"}}},
		modeldb.Cleanup{ID: "1", Kind: modeldb.CleanupArchive, Arg: "released"}, modeldb.Cleanup{ID: "2", Kind: modeldb.CleanupLease, Arg: "a lease"})
	for sum, want := range map[string][2]bool{"of a charm": {true, true}, "of an upload": {true, true}, "of a": {true, true}, "of b": {true, true},
		"of a unit": {false, false}, "released": {false, true}, "a lease": {false, false}, "other": {false, false}} {
		uses, err := resources.Uses(s.Ctx, s.DB, sum)
		s.OK(err)
		refers, err := resources.Refers(s.Ctx, s.DB, sum)
		s.OK(err)
		if got := [2]bool{uses, refers}; got != want {
			t.Errorf("%s: %v, want %v", sum, got, want)
		}
	}
}
