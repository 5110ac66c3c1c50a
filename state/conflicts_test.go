package state_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// A conflict is a change that another client makes between a mutator's reads
// and its writes. If it is refused, it changes nothing.
type conflict struct {
	name string
	do   func(*scene) error
}

// does returns a conflict that calls f with the entity read by its key.
func does[K, T any](read func(*state.State, context.Context, K) (T, error), key K,
	f func(*scene, T) error) func(*scene) error {
	return func(s *scene) error {
		x, err := read(s.st, s.ctx, key)
		if err != nil {
			return err
		}
		return f(s, x)
	}
}

func unitDoes(name string, f func(*scene, *state.Unit) error) func(*scene) error {
	return does((*state.State).Unit, name, f)
}

func serviceDoes(name string, f func(*scene, *state.Service) error) func(*scene) error {
	return does((*state.State).Service, name, f)
}

func machineDoes(id string, f func(*scene, *state.Machine) error) func(*scene) error {
	return does((*state.State).Machine, id, f)
}

func relationDoes(id int, f func(*scene, *state.Relation) error) func(*scene) error {
	return does((*state.State).RelationByID, id, f)
}

// thenCleans runs f and then the cleaner.
func thenCleans(f func(*scene) error) func(*scene) error {
	return func(s *scene) error {
		if err := f(s); err != nil {
			return err
		}
		return cleanup(s)
	}
}

var conflicts = []conflict{
	{"the unit is destroyed", unitDoes("mysql/0", destroyUnit(plain))},
	{"the unit is destroyed with its machine", unitDoes("mysql/0", destroyUnit(cleanly))},
	{"the unstarted unit is destroyed with its machine", thenCleans(unitDoes("mysql/1", destroyUnit(cleanly)))},
	{"the only unit is destroyed with its machine", unitDoes("riak/0", destroyUnit(cleanly))},
	{"the unit is removed by force", thenCleans(unitDoes("mysql/0", destroyUnit(atLast)))},
	{"the unstarted unit is removed", unitDoes("mysql/1", destroyUnit(plain))},
	{"the unstarted unit starts", unitDoes("mysql/1", reports)},
	{"the subordinate is destroyed", unitDoes("mysql/0", destroySubordinates)},
	{"the subordinate leaves", unitDoes("logging/0", leave(logs))},
	{"another unit enters", unitDoes("mysql/1", enter(web))},
	{"the unit leaves", unitDoes("mysql/0", leave(web))},
	{"the other unit leaves", unitDoes("wordpress/0", leave(web))},
	{"a peer enters", unitDoes("riak/0", enter(ring))},
	{"the only unit is destroyed", unitDoes("riak/0", destroyUnit(plain))},
	{"the unit opens a port", unitDoes("mysql/0", commits(opens(81)))},
	{"its subordinate opens that port", unitDoes("logging/0", commits(opens(82)))},
	{"the unit changes its settings", unitDoes("mysql/0", commits(says))},
	{"the hook fails", unitDoes("mysql/0", func(s *scene, u *state.Unit) error {
		return u.SetStatus(s.ctx, entity.Status{Status: entity.StatusError, Message: "hook failed"})
	})},
	{"the hook succeeds", unitDoes("mysql/0", func(s *scene, u *state.Unit) error {
		return u.SetStatus(s.ctx, entity.Status{Status: entity.StatusActive})
	})},
	{"the unit is resolved", unitDoes("mysql/0", resolve(false))},
	{"another leads", unitDoes("mysql/1", claim)},
	{"the service is destroyed", serviceDoes("mysql", destroyService(plain))},
	{"the service is destroyed with its machines", serviceDoes("mysql", destroyService(cleanly))},
	{"a unit is placed on a machine", serviceDoes("mysql", addUnits(1, "3"))},
	{"the service is removed by force", thenCleans(serviceDoes("mysql", destroyService(atLast)))},
	{"the unreferenced service is removed", serviceDoes("idle", destroyService(plain))},
	{"the service with peers is destroyed", serviceDoes("riak", destroyService(plain))},
	{"units are added", serviceDoes("mysql", addUnits(1))},
	{"a unit is added to the other service", serviceDoes("riak", addUnits(1, "1"))},
	{"the service is configured", serviceDoes("mysql", configures("w"))},
	{"the service gets constraints", serviceDoes("mysql",
		func(s *scene, x *state.Service) error {
			return x.SetConstraints(s.ctx, statetest.Constraints("mem=4G"))
		})},
	{"the service gets a minimum of units", serviceDoes("mysql", keeps(3))},
	{"the relation is destroyed", relationDoes(web, destroyRelation(plain))},
	{"the relation is removed by force", thenCleans(relationDoes(web, destroyRelation(atLast)))},
	{"the container relation is destroyed", relationDoes(logs, destroyRelation(plain))},
	{"the clean machine is destroyed", machineDoes("4", destroyMachine(plain))},
	{"the clean machine gets an instance", machineDoes("4", func(s *scene, x *state.Machine) error {
		return x.SetProvisioned(s.ctx, entity.Instance{ID: "i-9", Nonce: "n"})
	})},
	{"the machine is removed by force", thenCleans(machineDoes("1", destroyMachine(atLast)))},
	{"the machine is forced", machineDoes("0", destroyMachine(forced))},
	{"the container is removed", machineDoes("5/lxd/0", destroyMachine(plain))},
	{"a container is added", addMachine(state.AddMachineParams{Placement: statetest.At("lxd:4")})},
	{"a service of the same name is added", addService(state.AddServiceParams{Name: "more"}, "mysql")},
	{"the same services are related", addRelation("wordpress", "idle")},
	{"the model gets constraints", setsConstraints("mem=8G")},
	{"the model is configured", setsConfig("destroyed")},
	{"the model is destroyed", destroyModel(plain)},
	{"the model is blocked", blocks},
	{"the unit is annotated", annotate(entity.UnitTag("mysql/0"), "other")},
	{"the user is removed", user("bob", (*controller.Controller).RemoveUser)},
	{"the user is disabled", user("bob", (*controller.Controller).DisableUser)},
	{"the user is granted more", grants("bob", controller.AccessAdmin)},
	{"the user's password is reset", resets("bob")},
	{"the user becomes a superuser", onTheController("bob", controller.AccessSuperuser, (*controller.Controller).GrantController)},
	{"the other superuser is revoked", onTheController("admin", controller.AccessSuperuser,
		(*controller.Controller).RevokeController)},
	{"the superuser is disabled", user("carol", (*controller.Controller).DisableUser)},
	{"the new user gets another key", resets("eve")},
	{"the same user is added", addUser("frank", "")},
}

// namedBy returns the documents that operations name, or with written only
// those that they change.
func namedBy(db *mongo.Database, ops []txn.Op, written bool) map[string]bool {
	found := map[string]bool{}
	for _, op := range ops {
		if !written || op.Insert != nil || op.Update != nil || op.Remove {
			found[docKey(db.Name(), op.C, fmt.Sprint(op.Id))] = true
		}
	}
	return found
}

// docKey identifies a document of a store.
func docKey(db, collection, id string) string { return db + " " + collection + " " + id }

// A change made just before a mutator's first commit has the same outcome as if
// it had come before the mutator: the same error, and the same contents.
func TestConflictIsAsIfTheOtherRanFirst(t *testing.T) {
	st := sharedStage(t)
	seed := testSeed(t)
	writes := conflictWrites(t, st)
	var pairs, tried atomic.Int64
	inParallel(t, quick(), mutator.String, func(t *testing.T, m mutator) {
		if m.mends {
			return // it rereads until nothing changes
		}
		near := m.near(t, st, writes, rand.New(rand.NewPCG(seed, uint64(len(m.String())))))
		pairs.Add(int64(len(near)))
		if !soak {
			near = near[:min(len(near), 1)]
		}
		tried.Add(int64(len(near)))
		for _, c := range near {
			m.conflict(t, st, c)
		}
	})
	t.Logf("%d of %d pairs that share a document", tried.Load(), pairs.Load())
}

// conflictWrites returns the documents that each conflict changes.
func conflictWrites(t *testing.T, st *stage) []map[string]bool {
	writes := make([]map[string]bool, len(conflicts))
	for i, c := range conflicts {
		s := st.scene(t, nil)
		writes[i] = map[string]bool{}
		s.tries(func(_ *watch, db *mongo.Database, ops []txn.Op) func() {
			for doc := range namedBy(db, ops, true) {
				writes[i][doc] = true
			}
			return nil
		})
		c.do(s)
		s.unwatch()
	}
	return writes
}

// near returns the conflicts that share a document with the mutator, in random
// order.
func (m mutator) near(t *testing.T, st *stage, writes []map[string]bool, rnd *rand.Rand) (near []conflict) {
	touched := m.touches(t, st)
	for i, c := range conflicts {
		for doc := range writes[i] {
			if touched[doc] {
				near = append(near, c)
				break
			}
		}
	}
	rnd.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
	return near
}

// touches returns the documents that the mutator reads before its first transaction, and those that this names. It does not
// rely on what the transaction asserts: an assert that was lost must not take its conflicts with it.
func (m mutator) touches(t *testing.T, st *stage) (docs map[string]bool) {
	r := &reads{}
	s := st.scene(t, r.tap)
	call := m.ready(s)
	var named map[string]bool
	docs = r.during(func(stop func()) {
		s.tries(func(_ *watch, db *mongo.Database, ops []txn.Op) func() {
			if named == nil {
				stop()
				named = namedBy(db, ops, false)
			}
			return nil
		})
		s.ok(call())
		s.unwatch()
	})
	maps.Copy(docs, named)
	return docs
}

func (m mutator) conflict(t *testing.T, st *stage, c conflict) {
	first := st.scene(t, nil)
	defer first.close()
	call := m.ready(first)
	other := c.do(first)
	want := call()
	first.finish(m, call)
	first.checkIntact(t.Context())

	s := st.scene(t, nil)
	defer s.close()
	call = m.ready(s)
	s.tries(func(w *watch, _ *mongo.Database, _ []txn.Op) func() {
		if w.tries == 1 {
			if err := c.do(s); !sameError(err, other) && !m.steps {
				t.Errorf("%s: got %v, want %v as when alone", c.name, err, other)
			}
		}
		return nil
	})
	got := call()
	s.unwatch()
	s.finish(m, call)
	s.checkIntact(t.Context())
	if got != nil && entity.KindOf(got) == "" {
		t.Errorf("%s: an error of no kind: %v", c.name, got)
	}
	if m.steps {
		return
	}
	if !sameError(got, want) {
		t.Errorf("%s: got %v, want %v as if the other had come first", c.name, got, want)
	}
	if d := differ(inside(s.contents(t.Context(), false)), inside(first.contents(t.Context(), false))); d != "" {
		t.Errorf("%s: got %v, and other contents than if the other had come first:%s", c.name, got, d)
	}
}
