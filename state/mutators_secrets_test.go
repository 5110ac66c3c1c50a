package state_test

import (
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// The secrets on a stage: mysql's, which its leader mysql/0 has granted to wordpress and wordpress/0 tracks, and the model's.
const (
	ofMySQL = "0123456789abcdefghi0"
	ofUsers = "i123456789abcdefghi0"
)

// newSecret returns what makes a secret of mysql, which rotates and expires.
func newSecret(s *scene) entity.NewSecret {
	label, often, end := "db", entity.RotateHourly, s.now().Add(30*time.Minute)
	return entity.NewSecret{ID: ofMySQL, SecretSettings: entity.SecretSettings{Label: &label, Rotate: &often, Expire: &end, Content: content("one")}}
}

// hides returns a hook of mysql/0, which leads, that changes secrets.
func hides(change func(s *scene) entity.SecretChanges) func(*scene) entity.HookChanges {
	return func(s *scene) entity.HookChanges {
		c := change(s)
		c.Epoch = 1
		return entity.HookChanges{Secrets: &c}
	}
}

func addsSecret(s *scene) entity.SecretChanges {
	return entity.SecretChanges{Create: []entity.NewSecret{newSecret(s)}}
}

// grantsSecret grants it while wordpress and mysql are related.
func grantsSecret(subject string) func(*scene) entity.SecretChanges {
	return func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Grant: []entity.SecretGrant{{ID: ofMySQL, Relation: web, Subject: subject}}}
	}
}

func setsSecret(password string) func(*scene) entity.SecretChanges {
	return func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Update: []entity.SecretUpdate{{ID: ofMySQL, SecretSettings: entity.SecretSettings{Content: content(password)}}}}
	}
}

func tracksSecret(revision int) func(*scene) entity.SecretChanges {
	return func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Track: []entity.SecretTracking{{ID: ofMySQL, Revision: revision, Label: "its"}}}
	}
}

// withSecrets adds both secrets.
func withSecrets(s *scene) {
	s.ok(claim(s, s.unit("mysql/0")))
	for _, change := range []func(*scene) entity.SecretChanges{addsSecret, grantsSecret("wordpress")} {
		s.ok(s.unit("mysql/0").CommitHook(s.ctx, hides(change)(s)))
	}
	s.ok(s.unit("wordpress/0").CommitHook(s.ctx, hides(tracksSecret(1))(s)))
	s.ok(s.st.Secrets().Add(s.ctx, ofUsers, "my-secret", entity.SecretSettings{Content: content("one")}))
	s.ok(s.st.Secrets().Grant(s.ctx, ofUsers, "wordpress"))
}

// sets makes a revision of mysql's secret.
func sets(s *scene) {
	s.ok(s.unit("mysql/0").CommitHook(s.ctx, hides(setsSecret("two"))(s)))
}

// isDue lets the time pass when the secret is to be rotated, and its revision's is over.
func isDue(s *scene) {
	s.later.Add(int64(2 * time.Hour))
	_, err := s.st.Secrets().Due(s.ctx)
	s.ok(err)
}

func told(kind entity.SecretEventKind, revision int) func(*scene) entity.HookChanges {
	return hides(func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Told: &entity.SecretEvent{Kind: kind, ID: ofMySQL, Revision: revision}}
	})
}

// shares grants mysql's secret to the model that consumes its offer.
func shares(s *scene) entity.SecretChanges {
	var c entity.SecretChanges
	r, err := s.st.RelationByID(s.ctx, theConnection(s))
	s.ok(err)
	for _, e := range r.Endpoints() {
		if e.Service != "mysql" {
			c.Grant = []entity.SecretGrant{{ID: ofMySQL, Relation: r.ID(), Subject: e.Service}}
		}
	}
	return c
}

// onShared is a mutator of mysql/0, whose changes are those that the relation with another model needs.
func onShared(how string, changes func(*scene) entity.SecretChanges, before ...func(*scene)) mutator {
	return mutator{name: "Unit.CommitHook", how: how, before: before, take: func(s *scene) func() error {
		u, c := s.unit("mysql/0"), hides(changes)(s)
		return func() error { return u.CommitHook(s.ctx, c) }
	}}
}

// tracksShared says that the other model's units track a revision of mysql's secret.
func tracksShared(revision int) func(*scene, state.CrossModel, int) error {
	return func(s *scene, x state.CrossModel, id int) error {
		return x.Mirror(s.ctx, id, entity.Members{Secrets: map[string][]int{ofMySQL: {revision}}})
	}
}

// isShared shares mysql's secret with another model, which tracks its first revision.
func isShared(s *scene) {
	withSecrets(s)
	offered(s)
	connected(s)
	s.ok(s.unit("mysql/0").CommitHook(s.ctx, hides(shares)(s)))
	doing(tracksShared(1))(s)
}

func tracksElsewhere(*scene) entity.SecretChanges {
	key := entity.SecretURI{Model: elsewhere, ID: ofMySQL}.Key("")
	return entity.SecretChanges{Track: []entity.SecretTracking{{ID: key, Revision: 1, Label: "login"}}}
}

var secretMutators = []mutator{
	onModel("Secrets.Add", "", func(s *scene) error {
		return s.st.Secrets().Add(s.ctx, ofUsers, "my-secret", entity.SecretSettings{Content: content("one")})
	}),
	onModel("Secrets.Update", "", func(s *scene) error {
		name, prune := "other-name", true
		return s.st.Secrets().Update(s.ctx, ofUsers, state.SecretChange{AutoPrune: &prune,
			SecretSettings: entity.SecretSettings{Label: &name, Content: content("two")}})
	}, withSecrets),
	onModel("Secrets.Remove", "", func(s *scene) error { return s.st.Secrets().Remove(s.ctx, ofUsers, nil) }, withSecrets),
	onModel("Secrets.Grant", "", func(s *scene) error { return s.st.Secrets().Grant(s.ctx, ofUsers, "riak") }, withSecrets),
	onModel("Secrets.Revoke", "", func(s *scene) error { return s.st.Secrets().Revoke(s.ctx, ofUsers, "wordpress") }, withSecrets),
	onModel("Secrets.Due", "", func(s *scene) error {
		_, err := s.st.Secrets().Due(s.ctx)
		return err
	}, withSecrets, func(s *scene) { s.later.Add(int64(2 * time.Hour)) }),
	onModel("Controller.UseSecretKey", "", func(s *scene) error { return s.ctrl.UseSecretKey(s.ctx, statetest.SecretKey, false) }),
	logging(onModel("Cleaner.Cleanup", "tells of a revision", cleanup, withSecrets, sets)),
	logging(onModel("Cleaner.Cleanup", "of a reader", cleanup, withSecrets, sets, starts("wordpress/0"), destroysUnit("wordpress/0", plain),
		leaves("wordpress/0", "wordpress", "mysql"), kills("wordpress/0"), removes("wordpress/0"))),
	onUnit("CommitHook", "a secret", "mysql/0", commits(hides(addsSecret)), leads("mysql/0")),
	onUnit("CommitHook", "a secret of its own", "mysql/0", commits(hides(func(s *scene) entity.SecretChanges {
		n := newSecret(s)
		n.OfUnit = true
		return entity.SecretChanges{Create: []entity.NewSecret{n}}
	}))),
	onUnit("CommitHook", "a revision", "mysql/0", commits(hides(setsSecret("two"))), withSecrets),
	onUnit("CommitHook", "a grant to a unit", "mysql/0", commits(hides(grantsSecret("wordpress/0"))), leads("mysql/0"), func(s *scene) {
		s.ok(s.unit("mysql/0").CommitHook(s.ctx, hides(addsSecret)(s)))
	}),
	onUnit("CommitHook", "revokes a grant", "mysql/0", commits(hides(func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Revoke: []entity.SecretRevocation{{ID: ofMySQL, Subject: "wordpress"}}}
	})), withSecrets),
	onUnit("CommitHook", "removes a secret", "mysql/0", commits(hides(func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: ofMySQL}}}
	})), withSecrets),
	onUnit("CommitHook", "removes a revision", "mysql/0", commits(hides(func(*scene) entity.SecretChanges {
		return entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: ofMySQL, Revision: 1}}}
	})), withSecrets, sets),
	onUnit("CommitHook", "reads a secret again", "wordpress/0", commits(hides(tracksSecret(2))), withSecrets, sets),
	onUnit("CommitHook", "reads a secret", "mysql/1", commits(hides(tracksSecret(1))), withSecrets),
	onUnit("CommitHook", "was told to rotate", "mysql/0", commits(told(entity.SecretRotate, 1)), withSecrets, isDue),
	onUnit("CommitHook", "was told of the end", "mysql/0", commits(told(entity.SecretExpired, 1)), withSecrets, isDue),
	onUnit("CommitHook", "was told of a revision", "wordpress/0", commits(told(entity.SecretChanged, 2)), withSecrets, sets, func(s *scene) { s.ok(cleanup(s)) }),
	onShared("a grant to another model", shares, withSecrets, offered, connected),
	onShared("revokes a grant to another model", func(s *scene) entity.SecretChanges {
		return entity.SecretChanges{Revoke: []entity.SecretRevocation{{ID: ofMySQL, Subject: shares(s).Grant[0].Subject}}}
	}, isShared),
	onConnection("Mirror", "and say which secrets are read", tracksShared(1), withSecrets, offered, connected, func(s *scene) {
		s.ok(s.unit("mysql/0").CommitHook(s.ctx, hides(shares)(s)))
	}),
	onConnection("Mirror", "and say that another revision is read", tracksShared(2), isShared, sets),
	logging(onModel("Cleaner.Cleanup", "of what was shared", cleanup, isShared, sets, doing(func(s *scene, x state.CrossModel, id int) error {
		return x.End(s.ctx, id)
	}))),
	onUnit("CommitHook", "reads a secret of another model", "wordpress/0", commits(hides(tracksElsewhere)), consumed, relatedToDB),
	onConnection("Mirror", "and tell of a revision", func(s *scene, x state.CrossModel, id int) error {
		return x.Mirror(s.ctx, id, entity.Members{Secrets: map[string][]int{ofMySQL: {2, 1}}})
	}, consumed, relatedToDB, func(s *scene) {
		s.ok(s.unit("wordpress/0").CommitHook(s.ctx, hides(tracksElsewhere)(s)))
	}),
	onUnit("Remove", "one that reads secrets", "wordpress/0", removeUnit, withSecrets, starts("wordpress/0"), destroysUnit("wordpress/0", plain),
		leaves("wordpress/0", "wordpress", "mysql"), kills("wordpress/0")),
}
