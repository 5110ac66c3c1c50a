package state_test

import (
	"fmt"
	"maps"
	"slices"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/simulationtest"
)

// The hooks that change secrets, what comes between their reads and their commit, and the hooks about secrets.

// commits is a hook of a unit that changes secrets.
func (s *sim) commits(u *simulationtest.Unit, what string, c entity.SecretChanges, relation *simulationtest.Relation) *simAction {
	if c.Epoch = s.epochs[u.Name]; s.rnd.IntN(30) == 0 {
		c.Epoch-- // of an earlier claim
	}
	could := map[string]bool{}
	for id, x := range s.model.Secrets {
		could[id] = u.MayRead(x)
	}
	a := s.onUnit("unit agent", what+" by", u, func(h *state.Unit) error {
		changes := c
		return h.CommitHook(s.ctx, entity.HookChanges{Secrets: &changes})
	}, nil, entity.NotAlive, entity.LeadershipRefused, entity.AlreadyExists, entity.Invalid, entity.NotSupported)
	a.alone = s.isDone(c)
	a.expect = func(error) (simulationtest.Answer, error) {
		reads := func(x *simulationtest.Secret) bool {
			if s.raced && could[x.ID] != u.MayRead(x) { // nothing asserts which came first
				return s.hasRead(u, x.ID)
			}
			return u.MayRead(x)
		}
		return s.model.CommitHook(simulationtest.Hook{Unit: u, Leads: u.Leads() && s.epochs[u.Name] == c.Epoch, Reads: reads}, c), nil
	}
	a.rival = func() *simAction {
		switch n := s.rnd.IntN(6); {
		case labelIn(c) != "" && n < 4:
			return s.labelAtOnce(u, labelIn(c))
		case relation != nil && n < 2:
			return s.destroyRelation(relation, s.destruction())
		case relation != nil && n < 4:
			return s.destroyUnit(one(s, relation.Members()), s.destruction())
		case u.Leads() && n < 4:
			return s.release(u)
		case len(c.Track) == 0:
			return s.readAtOnce(u, c)
		}
		return s.revokeAtOnce(c.Track[0].ID)
	}
	return a
}

// isDone reports whether a hook does what was done before. No transaction asserts that it stays so.
func (s *sim) isDone(c entity.SecretChanges) bool {
	for _, n := range c.Create {
		if s.model.Secrets[n.ID] != nil {
			return true
		}
	}
	for _, g := range c.Grant {
		if x := s.model.Secrets[g.ID]; x != nil && x.Granted[g.Subject] == s.model.Relations[g.Relation] {
			return true
		}
	}
	return false
}

// labelIn returns the label that a hook gives to a secret; "" if it gives none.
func labelIn(c entity.SecretChanges) (label string) {
	if set := setIn(c).Label; set != nil {
		label = *set
	}
	for _, t := range c.Track {
		label = t.Label
	}
	return label
}

// setIn returns what a hook sets of a secret.
func setIn(c entity.SecretChanges) (set entity.SecretSettings) {
	for _, n := range c.Create {
		set = n.SecretSettings
	}
	for _, u := range c.Update {
		set = u.SecretSettings
	}
	return set
}

// labelAtOnce has a unit, or another of its service, make a secret with a label.
func (s *sim) labelAtOnce(u *simulationtest.Unit, label string) *simAction {
	if u = one(s, u.Service.Members()); u == nil {
		return nil
	}
	n := entity.NewSecret{ID: s.newSecretID(), OfUnit: !u.Leads(), SecretSettings: entity.SecretSettings{Label: &label, Content: s.someContent()}}
	return s.commits(u, fmt.Sprintf("add %s called %q", n.ID, label), entity.SecretChanges{Create: []entity.NewSecret{n}}, nil)
}

// hasRead reports whether state has another record than the model of what a unit reads of a secret.
func (s *sim) hasRead(u *simulationtest.Unit, id string) bool {
	d := s.shadow.hiding.docs[modeldb.SecretConsumerID(u.Name, id)]
	if d == nil {
		return false
	}
	r := s.model.Reader(u, id)
	return r == nil || d.Tracked != r.Tracked || d.Label != r.Label || d.Latest != r.Latest
}

// readAtOnce has another unit read a secret that a hook changes.
func (s *sim) readAtOnce(u *simulationtest.Unit, c entity.SecretChanges) *simAction {
	for _, name := range slices.Sorted(maps.Keys(s.model.Units)) {
		other, reads := s.model.Units[name], entity.SecretChanges{}
		if other == u {
			continue
		}
		for _, x := range c.Update {
			if there := s.model.Secrets[x.ID]; there != nil && other.MayRead(there) {
				reads.Track = append(reads.Track, entity.SecretTracking{ID: x.ID, Revision: there.Latest})
			}
		}
		for _, x := range c.Remove {
			if there := s.model.Secrets[x.ID]; there != nil && other.MayRead(there) {
				reads.Track = append(reads.Track, entity.SecretTracking{ID: x.ID, Revision: x.Revision})
			}
		}
		if len(reads.Track) > 0 {
			return s.commits(other, "read what is changed", reads, nil)
		}
	}
	if u == nil {
		return s.useUserSecrets()
	}
	return s.hides()
}

// revokeAtOnce has an owner change a secret that a unit reads, or the scope of its grant end.
func (s *sim) revokeAtOnce(id string) *simAction {
	x := s.model.Secrets[id]
	if x == nil {
		return nil
	}
	c := entity.SecretChanges{}
	switch s.rnd.IntN(4) {
	case 0:
		c.Update = []entity.SecretUpdate{{ID: id, SecretSettings: entity.SecretSettings{Content: s.someContent()}}}
	case 1:
		c.Remove = []entity.SecretRemoval{{ID: id, Revision: x.Latest * s.rnd.IntN(2)}}
	default:
		subject := one(s, slices.Sorted(maps.Keys(x.Granted)))
		if subject == "" {
			return nil
		}
		c.Revoke = []entity.SecretRevocation{{ID: id, Subject: subject}}
		if while := x.Granted[subject]; while != nil && s.rnd.IntN(2) == 0 {
			return s.destroyRelation(while, s.destruction())
		}
		if x.OfModel() {
			return s.revokeSecret(x, subject)
		}
	}
	switch {
	case x.OfModel():
		return s.updateSecret(x)
	case x.Unit != nil:
		return s.commits(x.Unit, "change what is read", c, nil)
	case x.Service.Lead.Leader != nil:
		return s.commits(x.Service.Lead.Leader, "change what is read", c, nil)
	}
	return nil
}

// tellsSomeone has a unit run a hook about a secret.
func (s *sim) tellsSomeone() (*simAction, error) {
	var all []*simulationtest.Unit
	for _, name := range slices.Sorted(maps.Keys(s.model.Units)) {
		if u := s.model.Units[name]; u.Started && u.Life.Life != entity.Dead && len(s.model.Told(u)) > 0 {
			all = append(all, u)
		}
	}
	u := one(s, all)
	if u == nil {
		return nil, nil
	}
	h, err := s.st.Unit(s.ctx, u.Name)
	if err != nil {
		return nil, err
	}
	info, err := h.Info(s.ctx)
	if err != nil {
		return nil, err
	}
	return s.aboutSecret(u, info.Secrets)
}

// aboutSecret is what a unit's agent does about the first thing that it is to be told of secrets; nil if there is nothing.
func (s *sim) aboutSecret(u *simulationtest.Unit, events []entity.SecretEvent) (*simAction, error) {
	if err := s.checkEvents(u, events); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(events, func(e entity.SecretEvent) bool { return !e.OfService || u.Leads() })
	if i < 0 {
		return nil, nil
	}
	e, c := events[i], entity.SecretChanges{Told: &events[i]}
	does := s.rnd.IntN(3) > 0
	switch {
	case e.Kind == entity.SecretChanged && does:
		c.Track = []entity.SecretTracking{{ID: e.ID, Revision: e.Revision}}
	case e.Kind == entity.SecretRotate && does:
		set := entity.SecretSettings{Content: s.someContent()}
		if s.rnd.IntN(3) == 0 {
			set.Expire = s.someTime()
		}
		c.Update = []entity.SecretUpdate{{ID: e.ID, SecretSettings: set}}
	case e.Kind == entity.SecretExpired && does && s.rnd.IntN(2) == 0:
		c.Update = []entity.SecretUpdate{{ID: e.ID, SecretSettings: entity.SecretSettings{Expire: s.someTime()}}}
	case (e.Kind == entity.SecretRemove || e.Kind == entity.SecretExpired) && does:
		c.Remove = []entity.SecretRemoval{{ID: e.ID, Revision: e.Revision}}
	}
	return s.commits(u, fmt.Sprintf("hook of %s %s/%d, does=%t,", e.Kind, e.ID, e.Revision, does), c, nil), nil
}
