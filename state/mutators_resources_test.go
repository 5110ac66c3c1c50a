package state_test

import (
	"strings"
	"time"

	"juju/state"
	"juju/state/statetest"
)

// shows adds a service whose charm has resources, and one that was uploaded for pages.
func shows(s *scene) {
	statetest.Charm(s.T, s.st, site)
	s.siteService(map[string]string{"pages": s.pend("site", "pages", "one")})
}

// uploaded stores files for two resources of a service.
func uploaded(s *scene) {
	s.pend("site", "pages", "two")
	s.pend("site", "logo", "l")
}

// uploads returns the ids of the uploads that no service has yet, by resource.
func (s *scene) uploads() map[string]string {
	var docs []struct {
		ID       string `bson:"_id"`
		Resource string
	}
	session := s.store.Session()
	defer session.Close()
	s.ok(session.DB(s.st.UUID()).C("uploads").Find(nil).All(&docs))
	ids := map[string]string{}
	for _, doc := range docs {
		ids[doc.Resource] = doc.ID
	}
	return ids
}

// withUploads returns a mutator that calls f with the ids of uploads for a service.
func withUploads(name, how string, before func(*scene), f func(s *scene, ids map[string]string) error) mutator {
	return mutator{name: name, how: how, before: []func(*scene){before, uploaded}, take: func(s *scene) func() error {
		ids := s.uploads()
		return func() error { return f(s, ids) }
	}}
}

// withSite calls f with the service.
func (s *scene) withSite(f func(*state.Service) error) error {
	svc, err := s.st.Service(s.ctx, "site")
	if err != nil {
		return err
	}
	return f(svc)
}

// fetches records that a unit has fetched a file.
func fetches(s *scene, u *state.Unit) error {
	r, err := u.Resource(s.ctx, "pages")
	if err != nil {
		return err
	}
	return u.SetFetched(s.ctx, "pages", *r.File)
}

// attaches gives the service another file.
func attaches(s *scene) {
	s.ok(s.withSite(func(svc *state.Service) error { s.attach(svc, "pages", "two"); return nil }))
}

var resourceMutators = []mutator{
	onModel("Resources.AddPending", "", func(s *scene) error {
		_, err := s.st.Resources().AddPending(s.ctx, pendingOf("site", "bob", "pages", "logo"))
		return err
	}, shows),
	onModel("Resources.AddPending", "replaces another", func(s *scene) error {
		_, err := s.st.Resources().AddPending(s.ctx, pendingOf("site", "bob", "pages"))
		return err
	}, shows, func(s *scene) { s.pend("site", "pages", "in vain") }),
	{name: "Resources.Store", leaves: true, before: []func(*scene){shows, func(s *scene) {
		_, err := s.st.Resources().AddPending(s.ctx, pendingOf("site", "bob", "pages"))
		s.ok(err)
	}}, take: func(s *scene) func() error {
		to := state.Upload{Service: "site", Resource: "pages", ID: s.uploads()["pages"]}
		return func() error { return s.st.Resources().Store(s.ctx, to, strings.NewReader("text")) }
	}},
	withUploads("Service.SetResources", "", shows, func(s *scene, ids map[string]string) error {
		return s.withSite(func(svc *state.Service) error { return svc.SetResources(s.ctx, ids) })
	}),
	withUploads("Service.SetCharm", "with resources", shows, func(s *scene, ids map[string]string) error {
		return s.withSite(func(svc *state.Service) error {
			_, err := svc.SetCharm(s.ctx, state.SetCharmParams{URL: svc.CharmURL(), Resources: ids})
			return err
		})
	}),
	withUploads("State.AddService", "with resources", func(s *scene) { statetest.Charm(s.T, s.st, site) },
		func(s *scene, ids map[string]string) error {
			_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "site", CharmURL: charmOf("site"), Resources: ids})
			return err
		}),
	onUnit("SetFetched", "", "site/0", fetches, shows),
	onUnit("SetFetched", "another", "site/0", fetches, shows, func(s *scene) { s.content("site/0", "pages") }, attaches),
	onModel("Service.Destroy", "with resources", func(s *scene) error {
		return s.withSite(func(svc *state.Service) error { return svc.Destroy(s.ctx, plain) })
	}, shows, func(s *scene) {
		for _, u := range []string{"site/0", "site/1"} {
			s.ok(s.unit(u).Destroy(s.ctx, plain))
		}
	}),
	free(mutator{name: "Resources.Prune", before: []func(*scene){shows, func(s *scene) { s.pend("site", "logo", "in vain") }},
		take: func(s *scene) func() error {
			s.later.Store(int64(25 * time.Hour))
			return func() error { return s.st.Resources().Prune(s.ctx) }
		}}),
	free(mutator{name: "Resources.ClearPending", before: []func(*scene){shows, func(s *scene) { s.pend("site", "logo", "in vain") }},
		take: func(s *scene) func() error {
			return func() error {
				_, err := s.st.Resources().ClearPending(s.ctx, "bob", nil)
				return err
			}
		}}),
	logging(onModel("Cleaner.Cleanup", "a file of a resource", cleanup, shows, attaches)),
}
