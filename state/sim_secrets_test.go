package state_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/simulationtest"
)

// manySecrets is how many secrets there are before more are removed than made.
const manySecrets = 10

// newSecretID returns the ID of a new secret. It is not random, so that a seed's choices among secrets are always the same.
func (s *sim) newSecretID() string {
	s.ids++
	var id [12]byte
	binary.BigEndian.PutUint64(id[:], uint64(s.ids))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(id[:]))
}

// someContent picks the content of a secret, of which there are few.
func (s *sim) someContent() entity.SecretContent {
	return entity.SecretContent{"password": base64.StdEncoding.EncodeToString(fmt.Append(nil, "p", s.rnd.IntN(5)))}
}

// someSecret picks a secret that suits.
func (s *sim) someSecret(suits func(*simulationtest.Secret) bool) *simulationtest.Secret {
	var all []*simulationtest.Secret
	for _, id := range slices.Sorted(maps.Keys(s.model.Secrets)) {
		if x := s.model.Secrets[id]; suits(x) {
			all = append(all, x)
		}
	}
	return one(s, all)
}

// someHider picks a unit that runs hooks.
func (s *sim) someHider() *simulationtest.Unit {
	u := s.someUnit()
	for i := 0; i < 8 && u != nil && (!u.Started || u.Life.Life == entity.Dead); i++ {
		u = s.someUnit()
	}
	return u
}

// useSecrets picks an action on secrets, or on who leads.
func (s *sim) useSecrets() (a *simAction, err error) {
	for i := 0; i < 4 && a == nil && err == nil; i++ {
		a, err = s.aboutSecrets()
	}
	return a, err
}

func (s *sim) aboutSecrets() (*simAction, error) {
	switch n := s.rnd.IntN(40); {
	case n < 9:
		return s.useUserSecrets(), nil
	case n < 12:
		return s.due(), nil
	case n < 18:
		return s.tellsSomeone()
	case n < 20:
		if name := s.someLost(); name != "" {
			return s.deploy(name, 1+s.rnd.IntN(2), nil), nil
		}
	}
	u := s.someHider()
	switch n := s.rnd.IntN(40); {
	case u == nil:
		return nil, nil
	case n < 3:
		return s.claim(u), nil
	case n < 5:
		if leader := s.someLeader(); leader != nil {
			u = leader
		}
		return s.release(u), nil
	case n < 14:
		if u.Service.Lead.Leader == nil && s.rnd.IntN(2) == 0 {
			return s.claim(u), nil
		}
		c := entity.SecretChanges{}
		if what, relation := s.adds(u, &c); what != "" {
			return s.commits(u, what, c, relation), nil
		}
	case n < 26:
		return s.reads(), nil
	}
	return s.hides(), nil
}

// someLost picks a service that is gone, while the cleaner has not come to its secrets or grants.
func (s *sim) someLost() string {
	lost := map[string]bool{}
	for _, d := range s.shadow.hiding.docs {
		if name, of := strings.CutPrefix(d.Owner+d.Subject, "s#"); of && s.model.Services[name] == nil && s.revisions[name] != nil {
			lost[name] = true
		}
	}
	return one(s, slices.Sorted(maps.Keys(lost)))
}

// due has owners told of what is due, now and then because time has passed.
func (s *sim) due() *simAction {
	if s.rnd.IntN(3) == 0 {
		s.clock.Add(one(s, []time.Duration{time.Minute, time.Hour, 24 * time.Hour}).Milliseconds())
	}
	return &simAction{what: "tell what is due", by: "controller", alone: true,
		run:    func() error { _, err := s.st.Secrets().Due(s.ctx); return err },
		expect: said(func() simulationtest.Answer { s.model.Due(); return nil })}
}

// ofCharm reports whether a secret belongs to a service or unit.
func ofCharm(x *simulationtest.Secret) bool { return !x.OfModel() }

// hides is a hook that changes a secret: of a unit that may do so, most often, or otherwise the claim of one that could.
func (s *sim) hides() *simAction {
	x := s.someSecret(ofCharm)
	if x == nil {
		return nil
	}
	u := x.Unit
	if u == nil {
		if u = x.Service.Lead.Leader; u == nil || u.Life.Life >= entity.Dead {
			if u = one(s, x.Service.Members()); u != nil {
				return s.claim(u)
			}
			return nil
		}
	}
	if s.rnd.IntN(20) == 0 {
		u = s.someHider()
	}
	c, what, relation := entity.SecretChanges{}, "", (*simulationtest.Relation)(nil)
	switch n := s.rnd.IntN(20); {
	case n < 6:
		c.Update = []entity.SecretUpdate{{ID: x.ID, SecretSettings: s.someSettings()}}
		what = "update " + x.ID
	case n < 15 && u != nil:
		what, relation = s.grants(u, x, x.ID, &c)
	case n < 17 && len(x.Granted) > 0:
		subject := one(s, slices.Sorted(maps.Keys(x.Granted)))
		c.Revoke = []entity.SecretRevocation{{ID: x.ID, Subject: subject}}
		what = fmt.Sprintf("revoke %s from %s", x.ID, subject)
	case s.rnd.IntN(3) == 0 || len(s.model.Secrets) > manySecrets:
		revision := 0
		if len(x.Revisions) > 1 {
			revision = one(s, slices.Sorted(maps.Keys(x.Revisions)))
		}
		c.Remove = []entity.SecretRemoval{{ID: x.ID, Revision: revision}}
		what = fmt.Sprintf("remove %s/%d", x.ID, revision)
	}
	if what == "" || u == nil {
		return nil
	}
	return s.commits(u, what, c, relation)
}

// adds has a unit make a secret, now and then with an ID that was used, and grant it at once.
func (s *sim) adds(u *simulationtest.Unit, c *entity.SecretChanges) (what string, relation *simulationtest.Relation) {
	if len(s.model.Secrets) > manySecrets {
		return "", nil
	}
	n := entity.NewSecret{ID: s.newSecretID(), OfUnit: !u.Leads() && s.rnd.IntN(8) > 0 || s.rnd.IntN(3) == 0, SecretSettings: s.someSettings()}
	n.Content = s.someContent()
	if used := s.model.Lingering(); s.rnd.IntN(8) == 0 && len(used) > 0 {
		n.ID = one(s, used)
	} else if x := s.someSecret(u.Owns); s.rnd.IntN(8) == 0 && x != nil { // the same hook again
		n.ID, n.OfUnit = x.ID, x.Unit != nil
	}
	c.Create = []entity.NewSecret{n}
	what = fmt.Sprintf("add %s of-unit=%t", n.ID, n.OfUnit)
	if s.rnd.IntN(3) == 0 {
		granted, in := s.grants(u, nil, n.ID, c)
		what, relation = what+" "+granted, in
	}
	return what, relation
}

// someSettings picks what an owner sets of a secret: most often new content.
func (s *sim) someSettings() (set entity.SecretSettings) {
	if s.rnd.IntN(3) > 0 {
		set.Content = s.someContent()
	}
	if s.rnd.IntN(4) == 0 {
		label := one(s, []string{"", "one", "two", "three"})
		set.Label = &label
	}
	if s.rnd.IntN(2) == 0 {
		policy := one(s, []entity.RotatePolicy{entity.RotateNever, entity.RotateHourly, entity.RotateHourly, entity.RotateHourly, entity.RotateDaily, entity.RotateMonthly})
		set.Rotate = &policy
	}
	if s.rnd.IntN(2) == 0 {
		set.Expire = s.someTime()
	}
	return set
}

// someTime picks when a revision expires, or that it never does.
func (s *sim) someTime() *time.Time {
	var end time.Time
	if d := one(s, []time.Duration{0, time.Second, time.Second, time.Minute, time.Hour, 48 * time.Hour}); d > 0 {
		end = s.now().Add(d)
	}
	return &end
}

// grants has a unit grant a secret while one of its relations lasts, to the other end or to a unit there. x is the secret,
// if it is there already.
func (s *sim) grants(u *simulationtest.Unit, x *simulationtest.Secret, id string, c *entity.SecretChanges) (what string, relation *simulationtest.Relation) {
	if relation = one(s, u.Service.All()); relation == nil {
		return "", nil
	}
	far := relation.Ends[0]
	if far == u.Service {
		far = relation.Ends[1]
	}
	subject := far.Name
	if members := far.Members(); len(members) > 0 && s.rnd.IntN(2) == 0 {
		subject = one(s, members).Name
	}
	switch n := s.rnd.IntN(16); {
	case n == 0:
		subject = one(s, simServices)
	case n < 6 && x != nil && len(x.Granted) > 0:
		subject = one(s, slices.Sorted(maps.Keys(x.Granted)))
		for _, r := range u.Service.All() { // perhaps while another relation lasts
			if r != x.Granted[subject] && slices.ContainsFunc(r.Ends[:], func(end *simulationtest.Service) bool { return end.Name == entity.UnitService(subject) }) {
				relation = r
			}
		}
	}
	c.Grant = []entity.SecretGrant{{ID: id, Relation: relation.ID, Subject: subject}}
	return fmt.Sprintf("grant %s to %s in %d", id, subject, relation.ID), relation
}

// reads has a unit track a secret: the latest revision, or the one that it had read when another was made.
func (s *sim) reads() *simAction {
	x := s.someSecret(func(*simulationtest.Secret) bool { return true })
	if x == nil {
		return nil
	}
	u := s.someHider()
	for i := 0; i < 12 && !u.MayRead(x) && s.rnd.IntN(40) > 0; i++ {
		u = s.someHider()
	}
	t := entity.SecretTracking{ID: x.ID, Revision: x.Latest}
	if s.rnd.IntN(4) == 0 && len(x.Revisions) > 0 {
		t.Revision = one(s, slices.Sorted(maps.Keys(x.Revisions)))
	}
	if s.rnd.IntN(4) == 0 {
		t.Label = one(s, []string{"one", "two", "three", "four"})
	}
	return s.commits(u, fmt.Sprintf("read %s/%d as %q", x.ID, t.Revision, t.Label), entity.SecretChanges{Track: []entity.SecretTracking{t}}, nil)
}
