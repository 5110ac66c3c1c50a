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
	onModel("Cleaner.Cleanup", "tells of a revision", cleanup, withSecrets, sets),
	onModel("Cleaner.Cleanup", "of a reader", cleanup, withSecrets, sets, starts("wordpress/0"), destroysUnit("wordpress/0", plain),
		leaves("wordpress/0", "wordpress", "mysql"), kills("wordpress/0"), removes("wordpress/0")),
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
	onUnit("Remove", "one that reads secrets", "wordpress/0", removeUnit, withSecrets, starts("wordpress/0"), destroysUnit("wordpress/0", plain),
		leaves("wordpress/0", "wordpress", "mysql"), kills("wordpress/0")),
}
