package state_test

import (
	"fmt"
	"maps"
	"slices"

	"juju/state"
	"juju/state/entity"
	"juju/state/simulationtest"
)

// What users do with secrets of the model.

// simNames are the names of users' secrets.
var simNames = []string{"login", "token", "cert"}

// useUserSecrets picks a user's action on secrets.
func (s *sim) useUserSecrets() *simAction {
	x := s.someSecret((*simulationtest.Secret).OfModel)
	if s.rnd.IntN(20) == 0 {
		x = s.someSecret(func(*simulationtest.Secret) bool { return true }) // which may be a charm's
	}
	switch n := s.rnd.IntN(12); {
	case x == nil, n < 1:
		return s.addSecret()
	case n < 5:
		return s.updateSecret(x)
	case n < 9:
		return s.grantSecret(x, one(s, simServices))
	case n < 10:
		if subject := one(s, slices.Sorted(maps.Keys(x.Granted))); subject != "" {
			return s.revokeSecret(x, subject)
		}
	case n < 11 && len(x.Revisions) > 1:
		return s.removeSecret(x, []int{one(s, slices.Sorted(maps.Keys(x.Revisions)))})
	case len(s.model.Secrets) > manySecrets || s.rnd.IntN(3) == 0:
		return s.removeSecret(x, nil)
	}
	return s.updateSecret(x)
}

// onSecret returns what a user does to a secret.
func (s *sim) onSecret(what, id string, do func(state.Secrets) error, expect func() simulationtest.Answer) *simAction {
	return &simAction{what: what + " " + id, by: "user",
		may:    []entity.Kind{entity.NotAlive, entity.AlreadyExists, entity.Unauthorized, entity.NotSupported, entity.Invalid},
		run:    func() error { return do(s.st.Secrets()) },
		expect: said(expect),
		rival: func() *simAction {
			if s.model.Secrets[id] == nil {
				return s.useUserSecrets()
			}
			return s.readAtOnce(nil, entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id}}})
		}}
}

func (s *sim) addSecret() *simAction {
	id, set := s.newSecretID(), entity.SecretSettings{Content: s.someContent()}
	if used := s.model.Lingering(); len(used) > 0 && s.rnd.IntN(4) == 0 {
		id = one(s, used)
	}
	name := one(s, simNames)
	set.Label = &name
	a := s.onSecret("add-secret "+name, id, func(all state.Secrets) error {
		return all.Add(s.ctx, id, name, entity.SecretSettings{Content: set.Content})
	},
		func() simulationtest.Answer { return s.model.AddSecret(id, set) })
	if s.rnd.IntN(2) == 0 {
		a.rival = func() *simAction { return s.addSecret() } // whose name may be the same
	}
	return a
}

func (s *sim) updateSecret(x *simulationtest.Secret) *simAction {
	var set state.SecretChange
	if s.rnd.IntN(5) > 0 {
		set.Content = s.someContent()
	}
	if s.rnd.IntN(6) == 0 {
		name := one(s, simNames)
		set.Label = &name
	}
	if s.rnd.IntN(3) == 0 {
		prunes := s.rnd.IntN(3) > 0
		set.AutoPrune = &prunes
	}
	id := x.ID
	return s.onSecret("update-secret", id, func(all state.Secrets) error { return all.Update(s.ctx, id, set) },
		func() simulationtest.Answer { return s.model.UpdateSecret(id, set.SecretSettings, set.AutoPrune) })
}

func (s *sim) grantSecret(x *simulationtest.Secret, service string) *simAction {
	id := x.ID
	a := s.onSecret("grant-secret to "+service, id, func(all state.Secrets) error { return all.Grant(s.ctx, id, service) },
		func() simulationtest.Answer { return s.model.GrantSecret(id, service) })
	_, a.alone = x.Granted[service] // if it has been done, no transaction asserts that it stays so
	a.rival = func() *simAction { return s.destroyService(s.model.Services[service], s.destruction()) }
	return a
}

func (s *sim) revokeSecret(x *simulationtest.Secret, subject string) *simAction {
	id := x.ID
	return s.onSecret("revoke-secret from "+subject, id, func(all state.Secrets) error { return all.Revoke(s.ctx, id, subject) },
		func() simulationtest.Answer { return s.model.RevokeSecret(id, subject) })
}

func (s *sim) removeSecret(x *simulationtest.Secret, revisions []int) *simAction {
	id := x.ID
	return s.onSecret(fmt.Sprintf("remove-secret %v", revisions), id, func(all state.Secrets) error { return all.Remove(s.ctx, id, revisions) },
		func() simulationtest.Answer { return s.model.RemoveSecret(id, revisions) })
}

// endSecrets removes all secrets of the model.
func (s *sim) endSecrets() error {
	for _, id := range slices.Sorted(maps.Keys(s.model.Secrets)) {
		if err := s.do(s.removeSecret(s.model.Secrets[id], nil), nil); err != nil {
			return err
		}
	}
	return s.do(s.cleaner(), nil)
}
