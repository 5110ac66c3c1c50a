package state_test

import (
	"strings"

	"juju/state"
	"juju/state/statetest"
)

// shows adds a service whose charm has resources, and one that was uploaded for pages.
func shows(s *scene) {
	s.siteService(map[string]string{"pages": s.pend("site", "pages", "one")})
}

// withUploads returns a mutator that calls f with the ids of uploads of new files for a service.
func withUploads(m mutator, f func(s *scene, ids map[string]string) error) mutator {
	m.take = func(s *scene) func() error {
		ids := map[string]string{"pages": s.pend("site", "pages", "two"), "logo": s.pend("site", "logo", "l")}
		return func() error { return f(s, ids) }
	}
	return m
}

func (s *scene) site() *state.Service {
	svc, err := s.st.Service(s.ctx, "site")
	s.ok(err)
	return svc
}

var resourceMutators = []mutator{
	onModel("Resources.AddPending", "", func(s *scene) error {
		_, err := s.st.Resources().AddPending(s.ctx, "mysql", []string{"a", "b"})
		return err
	}),
	{name: "Resources.Store", leaves: true, take: func(s *scene) func() error {
		ids, err := s.st.Resources().AddPending(s.ctx, "site", []string{"pages"})
		s.ok(err)
		return func() error {
			return s.st.Resources().Store(s.ctx, state.Upload{Service: "site", Resource: "pages", ID: ids[0], User: "bob"},
				strings.NewReader("text"))
		}
	}},
	withUploads(mutator{name: "Service.SetResources", before: []func(*scene){shows}},
		func(s *scene, ids map[string]string) error { return s.site().SetResources(s.ctx, ids) }),
	withUploads(mutator{name: "Service.SetCharm", how: "with resources", before: []func(*scene){shows}},
		func(s *scene, ids map[string]string) error {
			svc := s.site()
			_, err := svc.SetCharm(s.ctx, state.SetCharmParams{URL: svc.CharmURL(), Resources: ids})
			return err
		}),
	withUploads(mutator{name: "State.AddService", how: "with resources",
		before: []func(*scene){func(s *scene) { statetest.Charm(s.T, s.st, site) }}},
		func(s *scene, ids map[string]string) error {
			_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "site", CharmURL: charmOf("site"), Resources: ids})
			return err
		}),
	onUnit("SetFetched", "", "site/0", func(s *scene, u *state.Unit) error {
		r, err := u.Resource(s.ctx, "pages")
		s.ok(err)
		return u.SetFetched(s.ctx, "pages", *r.File)
	}, shows),
	onUnit("SetFetched", "another", "site/0", func(s *scene, u *state.Unit) error {
		r, err := u.Resource(s.ctx, "pages")
		s.ok(err)
		return u.SetFetched(s.ctx, "pages", *r.File)
	}, shows, func(s *scene) { s.content("site/0", "pages"); s.attach(s.site(), "pages", "two") }),
	onModel("Service.Destroy", "with resources", func(s *scene) error { return s.site().Destroy(s.ctx, plain) }, shows,
		func(s *scene) {
			for _, u := range []string{"site/0", "site/1"} {
				s.ok(s.unit(u).Destroy(s.ctx, plain))
			}
		}),
	free(onModel("Resources.Prune", "", func(s *scene) error { return s.st.Resources().Prune(s.ctx) }, shows,
		func(s *scene) {
			s.pend("site", "logo", "in vain")
			s.later.Store(int64(1e14))
		})),
	logging(onModel("Cleaner.Cleanup", "a file of a resource", cleanup, shows,
		func(s *scene) { s.attach(s.site(), "pages", "two") })),
}
