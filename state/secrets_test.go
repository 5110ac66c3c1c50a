package state_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/sealing"
	"juju/state/statetest"
)

// content returns the content of a secret with the value of its key "password".
func content(password string) entity.SecretContent {
	return entity.SecretContent{"password": base64.StdEncoding.EncodeToString([]byte(password))}
}

// A safe is a world with secrets: mysql, whose unit mysql/0 leads, in a relation with wordpress.
type safe struct {
	*world
	epochs map[string]int64 // of leaders, by unit
	now    time.Time
	rel    *state.Relation
}

func newSafe(t *testing.T) *safe {
	v := &safe{epochs: map[string]int64{}, now: time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)}
	ctrl, st := statetest.ControllerWith(t, controller.Options{Now: func() time.Time { return v.now }})
	v.world = &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st, store: statetest.StoreOf(ctrl)}
	v.deploy("mysql", statetest.MySQL, 2)
	v.deploy("wordpress", statetest.Wordpress, 2)
	v.rel = v.relate("mysql:server", "wordpress:db")
	for _, name := range []string{"mysql/0", "mysql/1", "wordpress/0", "wordpress/1"} {
		v.started(name)
	}
	v.lead("mysql/0")
	return v
}

func (v *safe) lead(unit string) {
	v.Helper()
	epoch, err := v.unit(unit).ClaimLeadership(v.ctx, time.Minute)
	v.ok(err)
	v.epochs[unit] = epoch
}

// hook commits changes of a unit's hook.
func (v *safe) hook(unit string, c entity.SecretChanges) error {
	c.Epoch = v.epochs[unit]
	return v.unit(unit).CommitHook(v.ctx, entity.HookChanges{Secrets: &c})
}

// adds adds a secret of the unit's service, or of the unit, and returns its ID.
func (v *safe) adds(unit, label, password string, ofUnit bool) string {
	v.Helper()
	id := entity.NewSecretID()
	v.ok(v.hook(unit, entity.SecretChanges{Create: []entity.NewSecret{{ID: id, OfUnit: ofUnit,
		SecretSettings: entity.SecretSettings{Label: &label, Content: content(password)}}}}))
	return id
}

func (v *safe) sets(unit, id, password string) {
	v.Helper()
	v.ok(v.hook(unit, entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id,
		SecretSettings: entity.SecretSettings{Content: content(password)}}}}))
}

// grants grants a secret of mysql to a service or unit.
func (v *safe) grants(unit, id, subject string) error {
	return v.hook(unit, entity.SecretChanges{Grant: []entity.SecretGrant{{ID: id, Relation: v.rel.ID(), Subject: subject}}})
}

// destroys destroys a service whose last unit this is.
func (v *safe) destroys(service, unit string) {
	v.Helper()
	s, err := v.st.Service(v.ctx, service)
	v.ok(err)
	v.ok(s.Destroy(v.ctx, entity.Destruction{}))
	v.clean()
	v.end(unit)
}

// reads checks which password a unit reads, and in which revision.
func (v *safe) reads(unit string, q entity.SecretQuery, want string) entity.SecretValue {
	v.Helper()
	r, err := v.unit(unit).Secret(v.ctx, q)
	got := ""
	if err != nil {
		got = err.Error()
	} else {
		text, _ := base64.StdEncoding.DecodeString(r.Secret.Content["password"])
		got = fmt.Sprintf("%s in %d of %d", text, r.Secret.Revision, r.Secret.Latest)
	}
	if got != want {
		v.Errorf("%s reads %q, want %q", unit, got, want)
	}
	return r.Secret
}

// tracks has a unit read a secret as secret-get does, and track what it has read.
func (v *safe) tracks(unit string, q entity.SecretQuery, want string) {
	v.Helper()
	got := v.reads(unit, q, want)
	v.ok(v.hook(unit, entity.SecretChanges{Track: []entity.SecretTracking{{ID: got.ID, Revision: got.Revision}}}))
}

// told checks what a unit is to be told, and has it run the hooks.
func (v *safe) told(unit string, want ...string) {
	v.Helper()
	v.clean()
	info, err := v.unit(unit).Info(v.ctx)
	v.ok(err)
	var got []string
	for _, e := range info.Secrets {
		got = append(got, fmt.Sprintf("%s %s %d", e.Kind, e.Label, e.Revision))
		v.ok(v.hook(unit, entity.SecretChanges{Told: &e}))
	}
	if !slices.Equal(got, want) {
		v.Errorf("%s is told %q, want %q", unit, got, want)
	}
	info, err = v.unit(unit).Info(v.ctx)
	v.ok(err)
	if len(info.Secrets) > 0 {
		v.Errorf("%s was told, and still is told %v", unit, info.Secrets)
	}
}

// A service's secret is read by those to whom it is granted. Each reads the revision that it tracks, is told of newer ones,
// and when none reads a revision any more, the leader is told.
func TestSecretOfAService(t *testing.T) {
	v := newSafe(t)
	id := v.adds("mysql/0", "db", "one", false)
	q, latest := entity.SecretQuery{ID: id}, entity.SecretQuery{ID: id, Latest: true}
	v.reads("wordpress/0", q, "permission denied")
	v.reads("mysql/1", entity.SecretQuery{Label: "db"}, "one in 1 of 1")
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.tracks("wordpress/0", q, "one in 1 of 1")
	v.tracks("wordpress/1", q, "one in 1 of 1")
	v.told("wordpress/0")

	v.sets("mysql/0", id, "one") // the same
	v.sets("mysql/0", id, "two")
	v.sets("mysql/0", id, "three")
	v.reads("wordpress/0", q, "one in 1 of 3")
	v.reads("wordpress/0", latest, "three in 3 of 3")
	v.told("wordpress/0", "changed  3")
	v.told("wordpress/1", "changed  3")
	v.told("mysql/0", "remove db 2") // no one has read it
	v.tracks("wordpress/0", latest, "three in 3 of 3")
	v.told("mysql/0")
	v.tracks("wordpress/1", latest, "three in 3 of 3")
	v.reads("wordpress/1", q, "three in 3 of 3")
	v.told("mysql/0", "remove db 1")
	v.told("wordpress/1")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id, Revision: 1}, {ID: id, Revision: 2}, {ID: id, Revision: 2}}}))

	owned, err := v.unit("mysql/1").OwnedSecrets(v.ctx)
	v.ok(err)
	got := owned[0]
	if len(owned) != 1 || got.ID != id || got.Label != "db" || got.Latest != 3 || got.OfUnit || len(got.Revisions) != 1 ||
		fmt.Sprint(got.Access) != fmt.Sprintf("[{wordpress wordpress:db mysql:server %d}]", v.rel.ID()) {
		t.Errorf("mysql owns %+v", owned)
	}
	v.ok(v.hook("mysql/0", entity.SecretChanges{Revoke: []entity.SecretRevocation{{ID: id, Subject: "wordpress"}}}))
	v.reads("wordpress/0", q, "permission denied")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id}}}))
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id}}}))
	v.reads("wordpress/0", q, fmt.Sprintf("secret %q not found", id))
	v.told("wordpress/0")
	v.checkClean()
}

// The store has no content in clear, and a controller with another key reads none.
func TestSecretsAreSealed(t *testing.T) {
	v := newSafe(t)
	id := v.adds("mysql/0", "db", "correct horse battery", false)
	all, err := v.st.Dump(v.ctx)
	v.ok(err)
	for collection := range all {
		var docs []bson.Raw
		v.ok(v.st.Write(v.ctx, collection, func(c *mgo.Collection) error { return c.Find(nil).All(&docs) }))
		for _, doc := range docs { // as it is stored: the dump encodes what is binary
			if text := string(doc.Data); strings.Contains(text, "battery") || strings.Contains(text, content("correct horse battery")["password"]) {
				t.Errorf("the content is in collection %s", collection)
			}
		}
		if collection == "secrets" && !slices.ContainsFunc(docs, func(doc bson.Raw) bool { return strings.Contains(string(doc.Data), id) }) {
			t.Error("the secret is not in the store")
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", content("battery"), content("battery"), content("battery"), content("battery")); strings.Contains(text, "battery") ||
		strings.Contains(text, content("battery")["password"]) {
		t.Errorf("content prints as %q", text)
	}
}

// Names of all that a unit or service had end with it, whatever comes after it with the same name.
func TestSecretsEndWithTheirOwner(t *testing.T) {
	v := newSafe(t)
	id, own := v.adds("mysql/0", "db", "one", false), v.adds("mysql/0", "own", "two", true)
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.ok(v.grants("mysql/0", own, "wordpress/0"))
	v.tracks("wordpress/0", entity.SecretQuery{ID: own}, "two in 1 of 1")
	v.tracks("mysql/1", entity.SecretQuery{Label: "db"}, "one in 1 of 1")
	v.tracks("wordpress/0", entity.SecretQuery{ID: id}, "one in 1 of 1")

	v.reads("wordpress/1", entity.SecretQuery{ID: own}, "permission denied")
	v.reads("mysql/1", entity.SecretQuery{ID: own}, "permission denied")
	v.sets("mysql/0", id, "three")
	v.tracks("mysql/1", entity.SecretQuery{Label: "db", Latest: true}, "three in 2 of 2")
	v.told("mysql/0")

	// With the unit goes what it owned, and what it has read.
	v.ok(v.unit("wordpress/0").Destroy(v.ctx, entity.Destruction{}))
	v.end("wordpress/0", v.rel.ID())
	v.told("mysql/0", "remove db 1")
	v.ok(v.unit("mysql/0").Destroy(v.ctx, entity.Destruction{}))
	v.end("mysql/0", v.rel.ID())
	v.reads("wordpress/1", entity.SecretQuery{ID: own}, fmt.Sprintf("secret %q not found", own))
	v.reads("wordpress/1", entity.SecretQuery{ID: id}, "three in 2 of 2")
	v.clean()
	v.reads("wordpress/1", entity.SecretQuery{ID: own}, fmt.Sprintf("secret %q not found", own))

	// With the relation go the grants.
	v.ok(v.rel.Destroy(v.ctx, entity.Destruction{}))
	for _, name := range []string{"mysql/1", "wordpress/1"} {
		v.ok(v.unit(name).LeaveScope(v.ctx, v.rel.ID()))
	}
	v.reads("wordpress/1", entity.SecretQuery{ID: id}, "permission denied")
	v.clean()
	v.rel = v.relate("mysql:server", "wordpress:db")
	v.reads("wordpress/1", entity.SecretQuery{ID: id}, "permission denied")
	v.lead("mysql/1")
	v.ok(v.grants("mysql/1", id, "wordpress"))
	v.reads("wordpress/1", entity.SecretQuery{ID: id}, "three in 2 of 2")

	// With the service goes all the rest, at once.
	v.destroys("mysql", "mysql/1")
	v.reads("wordpress/1", entity.SecretQuery{ID: id}, fmt.Sprintf("secret %q not found", id))
	v.deploy("mysql", statetest.MySQL, 1)
	v.started("mysql/2")
	v.reads("wordpress/1", entity.SecretQuery{ID: id}, fmt.Sprintf("secret %q not found", id))
	owned, err := v.unit("mysql/2").OwnedSecrets(v.ctx)
	v.ok(err)
	if len(owned) > 0 {
		t.Errorf("the new mysql owns %v", owned)
	}
	v.clean()
	v.destroys("mysql", "mysql/2")
	v.destroys("wordpress", "wordpress/1")
	v.clean()
	counts, err := v.st.Counts(v.ctx)
	v.ok(err)
	if counts["secrets"] > 0 {
		t.Errorf("%d documents of secrets are left", counts["secrets"])
	}
}

// A hook's changes to secrets are made with its others, or not at all, and are refused in Juju's words.
func TestSecretChangesAreRefused(t *testing.T) {
	v := newSafe(t)
	label, empty := "db", ""
	id, own := v.adds("mysql/0", "db", "one", false), v.adds("mysql/1", "mine", "two", true)
	unknown, fresh := entity.NewSecretID(), entity.NewSecretID()
	mine := "mine"
	create := func(c entity.NewSecret) entity.SecretChanges {
		return entity.SecretChanges{Create: []entity.NewSecret{c}}
	}
	with := func(l *string) entity.SecretSettings {
		return entity.SecretSettings{Label: l, Content: content("x")}
	}
	for what, c := range map[string]struct {
		unit   string
		change entity.SecretChanges
		kind   entity.Kind
		words  string
	}{
		"not the leader":    {"mysql/1", create(entity.NewSecret{ID: fresh, SecretSettings: with(&empty)}), entity.LeadershipRefused, "is not the leader"},
		"the same label":    {"mysql/0", create(entity.NewSecret{ID: fresh, SecretSettings: with(&label)}), entity.AlreadyExists, `secret with label "db" already exists`},
		"a unit's label":    {"mysql/0", create(entity.NewSecret{ID: fresh, SecretSettings: with(&mine)}), entity.AlreadyExists, `secret label "mine" for a unit of application "mysql" already exists`},
		"the service's":     {"mysql/1", create(entity.NewSecret{ID: fresh, OfUnit: true, SecretSettings: with(&label)}), entity.AlreadyExists, `secret label "db" for application "mysql" already exists`},
		"no content":        {"mysql/0", create(entity.NewSecret{ID: fresh}), entity.Invalid, "empty secret value not valid"},
		"another's ID":      {"wordpress/0", create(entity.NewSecret{ID: id, OfUnit: true, SecretSettings: with(&empty)}), entity.AlreadyExists, "already exists"},
		"another's":         {"mysql/0", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: own, SecretSettings: with(nil)}}}, entity.NotFound, "not found"},
		"a foreign one":     {"wordpress/0", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id, SecretSettings: with(nil)}}}, entity.NotFound, "not found"},
		"one that is not":   {"mysql/0", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: unknown, SecretSettings: with(nil)}}}, entity.NotFound, "not found"},
		"to oneself":        {"mysql/0", entity.SecretChanges{Grant: []entity.SecretGrant{{ID: id, Relation: v.rel.ID(), Subject: "mysql"}}}, entity.Invalid, "not at the other end"},
		"to a strange unit": {"mysql/0", entity.SecretChanges{Grant: []entity.SecretGrant{{ID: id, Relation: v.rel.ID(), Subject: "wordpress/7"}}}, entity.NotFound, "wordpress/7"},
		"no such relation":  {"mysql/0", entity.SecretChanges{Grant: []entity.SecretGrant{{ID: id, Relation: 77, Subject: "wordpress"}}}, entity.NotFound, "relation 77"},
	} {
		before := v.dump()
		v.refused(v.hook(c.unit, c.change), c.kind, c.words)
		if v.dump() != before {
			t.Errorf("%s: something has changed", what)
		}
	}
	// Nor is anything else that the hook changes.
	v.refused(v.unit("mysql/1").CommitHook(v.ctx, entity.HookChanges{CharmState: entity.CharmState{"a": "1"}, Secrets: &entity.SecretChanges{
		Update: []entity.SecretUpdate{{ID: unknown, SecretSettings: with(nil)}}}}), entity.NotFound, "not found")
	v.keeps(v.unit("mysql/1"), entity.CharmState{})
	// Two units may call their own secrets alike.
	v.adds("mysql/0", "mine", "three", true)
	v.ok(v.unit("wordpress/0").Destroy(v.ctx, entity.Destruction{}))
	v.refused(v.grants("mysql/0", id, "wordpress/0"), entity.NotAlive, `cannot grant dying "wordpress/0" access to secret`)
	v.ok(v.unit("mysql/0").EnterScope(v.ctx, v.rel.ID()))
	v.ok(v.rel.Destroy(v.ctx, entity.Destruction{}))
	v.refused(v.grants("mysql/0", id, "wordpress"), entity.NotAlive, "which is not alive")
}

// The owner is told when it is time to rotate a secret, once, and again soon if it does nothing; then regularly. Times that
// have passed while no one looked are made up once.
func TestRotationOfSecrets(t *testing.T) {
	v := newSafe(t)
	due := func(want time.Duration) {
		t.Helper()
		again, err := v.st.Secrets().Due(v.ctx)
		v.ok(err)
		if again != want {
			t.Errorf("the next is due in %v, want %v", again, want)
		}
	}
	id := v.adds("mysql/1", "db", "one", true)
	due(0)
	policy := entity.RotateMonthly
	v.ok(v.hook("mysql/1", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id, SecretSettings: entity.SecretSettings{Rotate: &policy}}}}))
	began := v.now
	at := policy.Next(began)
	due(at.Sub(v.now))
	v.told("mysql/1")
	v.now = at
	due(0)
	due(0)
	v.told("mysql/1", "rotate db 1") // it does nothing
	v.told("mysql/1")
	due(5 * time.Minute)
	v.now = v.now.Add(5 * time.Minute)
	due(0)
	v.sets("mysql/1", id, "two")
	v.told("mysql/1", "remove db 1", "rotate db 1")
	due(policy.Next(at.Add(5 * time.Minute)).Sub(v.now))
	v.now = v.now.AddDate(3, 0, 0) // the clock jumps
	due(0)
	v.sets("mysql/1", id, "three")
	v.told("mysql/1", "remove db 2", "rotate db 2")
	due(policy.Next(v.now).Sub(v.now))

	// What expires before the next rotation is rotated again soon.
	early := policy.Next(v.now).Add(time.Hour)
	v.now = policy.Next(v.now)
	due(0)
	v.ok(v.hook("mysql/1", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id, SecretSettings: entity.SecretSettings{
		Content: content("two again"), Expire: &early}}}}))
	v.told("mysql/1", "remove db 3", "rotate db 3")
	due(5 * time.Minute)
	v.sets("mysql/1", id, "three")
	v.told("mysql/1", "remove db 4")
	v.ok(v.hook("mysql/1", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id, Revision: 4}}}))

	// The time of a revision is over, until the owner removes the revision or moves the time.
	never, soon := entity.RotateNever, v.now.Add(time.Hour)
	v.ok(v.hook("mysql/1", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id, SecretSettings: entity.SecretSettings{Rotate: &never, Expire: &soon}}}}))
	due(time.Hour)
	v.now = soon
	due(0)
	v.told("mysql/1", "expired db 5")
	due(5 * time.Minute)
	v.reads("mysql/1", entity.SecretQuery{ID: id}, "three in 5 of 5")
	v.now = v.now.Add(5 * time.Minute)
	due(0)
	v.told("mysql/1", "expired db 5")
	v.ok(v.hook("mysql/1", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id, Revision: 5}}}))
	due(0)
	v.told("mysql/1")

	last := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for policy, want := range map[entity.RotatePolicy]string{entity.RotateNever: "0001-01-01 00", entity.RotateHourly: "2026-03-31 13",
		entity.RotateDaily: "2026-04-01 12", entity.RotateWeekly: "2026-04-07 12", entity.RotateMonthly: "2026-05-01 12",
		entity.RotateQuarterly: "2026-07-01 12", entity.RotateYearly: "2027-03-31 12"} {
		if got := policy.Next(last).Format("2006-01-02 15"); got != want {
			t.Errorf("%s: after %v comes %s, want %s", policy, last, got, want)
		}
	}
}

// A user's secret is read by the services to which it is granted; its old revisions are deleted if it says so.
func TestSecretsOfUsers(t *testing.T) {
	v := newSafe(t)
	id, s := entity.NewSecretID(), v.st.Secrets()
	v.ok(s.Add(v.ctx, id, "my-secret", entity.SecretSettings{Content: content("one")}))
	v.refused(s.Add(v.ctx, entity.NewSecretID(), "my-secret", entity.SecretSettings{Content: content("x")}), entity.AlreadyExists,
		`secret with name "my-secret" already exists`)
	v.refused(s.Add(v.ctx, entity.NewSecretID(), "My", entity.SecretSettings{Content: content("x")}), entity.Invalid, "not valid")
	q := entity.SecretQuery{ID: id}
	v.reads("wordpress/0", q, "permission denied")
	v.ok(s.Grant(v.ctx, id, "wordpress"))
	v.refused(s.Grant(v.ctx, id, "nothing"), entity.NotFound, "nothing")
	v.refused(s.Grant(v.ctx, id, "wordpress/0"), entity.Invalid, `application name "wordpress/0" not valid`)
	v.tracks("wordpress/0", q, "one in 1 of 1")
	v.ok(s.Update(v.ctx, id, state.SecretChange{SecretSettings: entity.SecretSettings{Content: content("two")}}))
	v.ok(s.Update(v.ctx, id, state.SecretChange{SecretSettings: entity.SecretSettings{Content: content("three")}}))
	v.told("wordpress/0", "changed  3")
	revisions := func(want string) {
		t.Helper()
		all, err := s.List(v.ctx, state.SecretFilter{Name: "my-secret"}, true)
		v.ok(err)
		got := ""
		for _, r := range all[0].Revisions {
			got += fmt.Sprintf("%d %v;", r.Revision, r.Obsolete)
		}
		if got != want {
			t.Errorf("the revisions are %s, want %s", got, want)
		}
	}
	revisions("1 false;2 true;3 false;")
	prune := true
	v.ok(s.Update(v.ctx, id, state.SecretChange{AutoPrune: &prune}))
	revisions("1 false;3 false;")
	v.tracks("wordpress/0", entity.SecretQuery{ID: id, Latest: true}, "three in 3 of 3")
	revisions("3 false;")
	v.refused(s.Remove(v.ctx, id, []int{1}), entity.NotFound, "revision 1")
	all, err := s.List(v.ctx, state.SecretFilter{}, true)
	v.ok(err)
	secret, err := s.Content(v.ctx, all[0], 0)
	v.ok(err)
	if !maps.Equal(secret, content("three")) || fmt.Sprint(all[0].Access) != "[{wordpress  0}]" {
		t.Errorf("the content is wrong, or the access %v", all[0].Access)
	}
	v.ok(s.Revoke(v.ctx, id, "wordpress"))
	v.reads("wordpress/0", q, "permission denied")

	ofCharm := v.adds("mysql/0", "db", "x", false)
	v.refused(s.Update(v.ctx, ofCharm, state.SecretChange{AutoPrune: &prune}), entity.Unauthorized, "permission denied")
	v.refused(s.Grant(v.ctx, ofCharm, "wordpress"), entity.Unauthorized, "permission denied")
	v.ok(s.Remove(v.ctx, id, nil))
	v.clean()
	v.reads("wordpress/0", q, fmt.Sprintf("secret %q not found", id))
	v.checkClean()
}

// What a hook has read once, it reads ahead the next time, and what the unit may no longer read it doesn't.
func TestSecretsAreReadAhead(t *testing.T) {
	v := newSafe(t)
	var ids []string
	for i := range 10 {
		id := v.adds("mysql/0", "", fmt.Sprint("p", i), false)
		v.ok(v.grants("mysql/0", id, "wordpress"))
		v.tracks("wordpress/0", entity.SecretQuery{ID: id}, fmt.Sprintf("p%d in 1 of 1", i))
		ids = append(ids, id)
	}
	v.ok(v.hook("mysql/0", entity.SecretChanges{Revoke: []entity.SecretRevocation{{ID: ids[3], Subject: "wordpress"}}}))
	r, err := v.unit("wordpress/0").Secret(v.ctx, entity.SecretQuery{ID: ids[0]})
	v.ok(err)
	got := map[string]bool{r.Secret.ID: true}
	for _, o := range r.Others {
		got[o.ID] = true
	}
	if got[ids[3]] || len(got) != 9 {
		t.Errorf("%d secrets are read, the revoked one: %v", len(got), got[ids[3]])
	}
}

// Changes of one hook cannot give a label twice, but can give one that they take from another secret.
func TestSecretLabelsOfOneHook(t *testing.T) {
	v := newSafe(t)
	a, b := v.adds("mysql/0", "one", "x", false), v.adds("mysql/0", "two", "y", false)
	label := func(id, label string) entity.SecretUpdate {
		return entity.SecretUpdate{ID: id, SecretSettings: entity.SecretSettings{Label: &label}}
	}
	v.refused(v.hook("mysql/0", entity.SecretChanges{Update: []entity.SecretUpdate{label(a, "same"), label(b, "same")}}),
		entity.AlreadyExists, `secret with label "same" already exists`)
	v.ok(v.hook("mysql/0", entity.SecretChanges{Update: []entity.SecretUpdate{label(a, "three"), label(b, "one")}}))
	v.reads("mysql/1", entity.SecretQuery{Label: "one"}, "y in 1 of 1")

	// The same goes for the labels of those who read them.
	v.ok(v.grants("mysql/0", a, "wordpress"))
	v.ok(v.grants("mysql/0", b, "wordpress"))
	read := func(id, label string) entity.SecretTracking {
		return entity.SecretTracking{ID: id, Revision: 1, Label: label}
	}
	v.refused(v.hook("wordpress/0", entity.SecretChanges{Track: []entity.SecretTracking{read(a, "db"), read(b, "db")}}),
		entity.AlreadyExists, `secret with label "db" already exists`)
	v.ok(v.hook("wordpress/0", entity.SecretChanges{Track: []entity.SecretTracking{read(a, "db")}}))
	v.ok(v.hook("wordpress/0", entity.SecretChanges{Track: []entity.SecretTracking{read(a, "old"), read(b, "db")}}))
	v.reads("wordpress/0", entity.SecretQuery{Label: "db"}, "y in 1 of 1")

	// A service has no secret with a label by which one of its units calls another.
	v.lead("wordpress/0")
	db := "db"
	v.refused(v.hook("wordpress/0", entity.SecretChanges{Create: []entity.NewSecret{{ID: entity.NewSecretID(),
		SecretSettings: entity.SecretSettings{Label: &db, Content: content("z")}}}}),
		entity.AlreadyExists, `secret label "db" for a unit of application "wordpress" already exists`)
}

// A grant belongs to one relation. Units of a service share their own secrets through its peer relation, which is not for the
// service's: its units read these anyway.
func TestScopeOfGrants(t *testing.T) {
	v := newSafe(t)
	v.deploy("pair", `{name: pair, summary: s, description: d, requires: {one: mysql, two: mysql}}`, 1)
	id := v.adds("mysql/0", "db", "one", false)
	grant := func(unit, id string, r *state.Relation, subject string) error {
		return v.hook(unit, entity.SecretChanges{Grant: []entity.SecretGrant{{ID: id, Relation: r.ID(), Subject: subject}}})
	}
	v.ok(grant("mysql/0", id, v.relate("mysql:server", "pair:one"), "pair"))
	v.refused(grant("mysql/0", id, v.relate("mysql:server", "pair:two"), "pair"), entity.Invalid, "cannot change secret permission scope")
	v.ok(v.grants("mysql/0", id, "wordpress"))

	v.deploy("riak", statetest.Riak, 2)
	v.started("riak/0")
	v.started("riak/1")
	v.lead("riak/0")
	ring := v.relation("riak:ring")
	shared, own := v.adds("riak/0", "", "two", false), v.adds("riak/0", "", "three", true)
	v.refused(grant("riak/0", shared, ring, "riak"), entity.Invalid, "cannot change secret permission scope")
	v.reads("riak/1", entity.SecretQuery{ID: shared}, "two in 1 of 1")
	v.reads("riak/1", entity.SecretQuery{ID: own}, "permission denied")
	v.ok(grant("riak/0", own, ring, "riak"))
	v.reads("riak/1", entity.SecretQuery{ID: own}, "three in 1 of 1")
	v.checkClean()
}

// A unit is told of a new revision also when the owner has removed the one that it tracks.
func TestReadersOfRemovedRevisionsAreTold(t *testing.T) {
	v := newSafe(t)
	id := v.adds("mysql/0", "db", "one", false)
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.tracks("wordpress/0", entity.SecretQuery{ID: id}, "one in 1 of 1")
	v.sets("mysql/0", id, "two")
	v.told("wordpress/0", "changed  2")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id, Revision: 1}}}))
	v.reads("wordpress/0", entity.SecretQuery{ID: id}, fmt.Sprintf("secret revision 1 of %q not found", id))
	v.sets("mysql/0", id, "three")
	v.told("wordpress/0", "changed  3")
	v.tracks("wordpress/0", entity.SecretQuery{ID: id, Latest: true}, "three in 3 of 3")
	v.checkClean()
}

// A hook's tools merge what it does with a secret. An agent that doesn't do so gets what it asks for, and leaves nothing over.
func TestUnmergedChangesOfSecrets(t *testing.T) {
	v := newSafe(t)
	set := func(password string) entity.SecretSettings { return entity.SecretSettings{Content: content(password)} }
	id := entity.NewSecretID()
	v.ok(v.hook("mysql/0", entity.SecretChanges{Create: []entity.NewSecret{{ID: id, SecretSettings: set("one")}, {ID: id, SecretSettings: set("other")}}}))
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.tracks("wordpress/0", entity.SecretQuery{ID: id}, "one in 1 of 1")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Update: []entity.SecretUpdate{{ID: id, SecretSettings: set("two")}, {ID: id, SecretSettings: set("three")}}}))
	v.reads("wordpress/0", entity.SecretQuery{ID: id, Latest: true}, "three in 3 of 3")
	v.told("wordpress/0", "changed  3")

	brief := entity.NewSecretID()
	v.ok(v.hook("mysql/0", entity.SecretChanges{
		Create: []entity.NewSecret{{ID: brief, SecretSettings: set("x")}},
		Track:  []entity.SecretTracking{{ID: brief, Revision: 1}},
		Grant:  []entity.SecretGrant{{ID: brief, Relation: v.rel.ID(), Subject: "wordpress"}},
		Remove: []entity.SecretRemoval{{ID: brief}}}))
	v.clean()
	v.checkClean()
}

// A secret with the ID of a removed one has nothing in common with it: it is not made while anything is left of that.
func TestIDsOfRemovedSecrets(t *testing.T) {
	v := newSafe(t)
	id := v.adds("mysql/0", "db", "one", false)
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.tracks("wordpress/0", entity.SecretQuery{ID: id}, "one in 1 of 1")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id}}}))
	again := entity.SecretChanges{Create: []entity.NewSecret{{ID: id, SecretSettings: entity.SecretSettings{Content: content("two")}}}}
	v.refused(v.hook("mysql/0", again), entity.AlreadyExists, "was removed just now")
	v.clean()
	v.ok(v.hook("mysql/0", again))
	v.clean()
	v.reads("wordpress/0", entity.SecretQuery{ID: id}, "permission denied")
	v.reads("mysql/1", entity.SecretQuery{ID: id}, "two in 1 of 1")
	v.checkClean()
}

// A cleaner that was held up does not take a secret for the removed one of the same ID.
func TestACleanerComesLateToARemovedSecret(t *testing.T) {
	v := newSafe(t)
	first, id := v.adds("mysql/0", "", "one", false), v.adds("mysql/0", "", "one", false)
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: first}}}))
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id}}}))
	v.st.Before(func() { // the late one has read what is to be cleaned
		v.clean()
		v.ok(v.hook("mysql/0", entity.SecretChanges{Create: []entity.NewSecret{{ID: id, SecretSettings: entity.SecretSettings{Content: content("two")}}}}))
	})
	v.clean()
	v.reads("mysql/1", entity.SecretQuery{ID: id}, "two in 1 of 1")
	v.checkClean()
}

// Nor for one whose owner has ended, while mgo/txn has made the secret and not yet its owner's party.
func TestACleanerComesWhileASecretIsMade(t *testing.T) {
	v := newSafe(t)
	first, id := v.adds("mysql/0", "", "one", false), v.adds("mysql/0", "", "one", false)
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: first}}}))
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id}}}))
	var party bson.M
	write := func(f func(c *mgo.Collection) error) { v.ok(v.st.Write(v.ctx, "secrets", f)) }
	defer v.st.RewriteOps(func(ops []txn.Op) []txn.Op {
		if party != nil && ops[0].C == "secrets" && ops[0].Id == id { // the cleaner is about to remove what is left
			write(func(c *mgo.Collection) error { return c.Insert(party) })
			party = nil
		}
		return ops
	})()
	v.st.Before(func() {
		v.clean()
		v.ok(v.hook("mysql/1", entity.SecretChanges{Create: []entity.NewSecret{{ID: id, OfUnit: true, SecretSettings: entity.SecretSettings{Content: content("two")}}}}))
		write(func(c *mgo.Collection) error {
			if err := c.FindId("u#mysql/1").One(&party); err != nil {
				return err
			}
			return c.RemoveId("u#mysql/1")
		})
	})
	v.clean()
	v.reads("mysql/1", entity.SecretQuery{ID: id}, "two in 1 of 1")
	v.checkClean()
}

// A label of a secret that was removed can be another's at once, before the cleaner has come.
func TestLabelsOfRemovedSecrets(t *testing.T) {
	v := newSafe(t)
	id := v.adds("mysql/0", "", "one", false)
	v.ok(v.grants("mysql/0", id, "wordpress"))
	v.ok(v.hook("wordpress/0", entity.SecretChanges{Track: []entity.SecretTracking{{ID: id, Revision: 1, Label: "db"}}}))
	v.reads("wordpress/0", entity.SecretQuery{Label: "db"}, "one in 1 of 1")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id}}}))
	v.reads("wordpress/0", entity.SecretQuery{Label: "db"}, `consumer label "db" not found`)
	v.adds("wordpress/0", "db", "two", true)
	v.reads("wordpress/0", entity.SecretQuery{Label: "db"}, "two in 1 of 1")
}

// If the latest revision was removed, its content can be set again.
func TestContentOfARemovedRevision(t *testing.T) {
	v := newSafe(t)
	id := v.adds("mysql/0", "db", "one", false)
	v.sets("mysql/0", id, "two")
	v.ok(v.hook("mysql/0", entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: id, Revision: 2}}}))
	v.reads("mysql/1", entity.SecretQuery{ID: id}, fmt.Sprintf("secret revision 2 of %q not found", id))
	owned, err := v.unit("mysql/0").OwnedSecrets(v.ctx)
	v.ok(err)
	if owned[0].Checksum != "" {
		t.Error("a hook is told that its content is the latest revision's")
	}
	v.sets("mysql/0", id, "two")
	v.reads("mysql/1", entity.SecretQuery{ID: id}, "two in 3 of 3")
	v.checkClean()
}

// If the key is lost for good, another one takes its place: what it did not seal can't be read, and can be set again.
func TestALostKey(t *testing.T) {
	store := statetest.Store(t, mongo.Options{})
	ctrl, st := statetest.ControllerOn(t, store, controller.Options{})
	ctx, id := t.Context(), entity.NewSecretID()
	set := entity.SecretSettings{Content: content("one")}
	statetest.OK(t, st.Secrets().Add(ctx, id, "login", set))
	reads := func(c *controller.Controller, words string) {
		t.Helper()
		st, err := c.Model(ctx, st.UUID())
		statetest.OK(t, err)
		all, err := st.Secrets().List(ctx, state.SecretFilter{}, false)
		statetest.OK(t, err)
		got, err := st.Secrets().Content(ctx, all[0], 0)
		if words == "" && (err != nil || !maps.Equal(got, content("one"))) || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("read %v, %v, want %q", got, err, words)
		}
	}
	statetest.OK(t, ctrl.UseSecretKey(ctx, statetest.SecretKey, false))
	reads(ctrl, "")
	other := sealing.New()
	statetest.Refused(t, ctrl.UseSecretKey(ctx, other, false), entity.Invalid, "is not the one in use")

	second := statetest.ReopenController(t, store, controller.Options{SecretKey: other})
	defer second.Close()
	statetest.OK(t, second.UseSecretKey(ctx, other, true))
	reads(second, "cannot open the content of secret "+id+"/1")
	again, err := second.Model(ctx, st.UUID())
	statetest.OK(t, err)
	statetest.OK(t, again.Secrets().Update(ctx, id, state.SecretChange{SecretSettings: set}))
	reads(second, "")
	if second.SecretKeyID() != other.ID() {
		t.Errorf("the key in use is %s", second.SecretKeyID())
	}
}

// A label means the secret of the service that there is, also while one of an earlier service is still being deleted.
func TestLabelsOfAnEarlierService(t *testing.T) {
	v := newSafe(t)
	label := "db"
	for name, ids := range map[string][]string{"riak": {"00000000000000000000", "10000000000000000000"}, "rick": {"30000000000000000000", "20000000000000000000"}} {
		unit := name + "/1"
		for n, id := range ids {
			svc, unit := v.deploy(name, statetest.MySQL, 1), fmt.Sprint(name, "/", n)
			v.started(unit)
			v.lead(unit)
			v.ok(v.hook(unit, entity.SecretChanges{Create: []entity.NewSecret{{ID: id,
				SecretSettings: entity.SecretSettings{Label: &label, Content: content(unit)}}}}))
			if n == 0 {
				v.ok(svc.Destroy(v.ctx, entity.Destruction{}))
				v.ok(v.unit(unit).Destroy(v.ctx, entity.Destruction{}))
				v.end(unit)
			}
		}
		v.reads(unit, entity.SecretQuery{Label: "db"}, unit+" in 1 of 1")
	}
	v.clean()
	v.checkClean()
}
