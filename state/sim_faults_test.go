package state_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
)

// A fault is a plausible mistake in building transactions. spoil changes or
// drops one of the operations, and reports whether it did. Short runs test a few
// faults of different kinds.
type fault struct {
	kind  string
	name  string
	spoil func(op *txn.Op, all []txn.Op) (drop, done bool)
}

// in reports whether an operation is on a document of a collection whose id has
// a prefix.
func in(op *txn.Op, collection, prefix string) bool {
	id, _ := op.Id.(string)
	return op.C == collection && strings.HasPrefix(id, prefix)
}

func onlyAsserts(op *txn.Op) bool { return op.Insert == nil && op.Update == nil && !op.Remove }

// inserts reports whether operations insert into a collection.
func inserts(ops []txn.Op, collection string) bool {
	return slices.ContainsFunc(ops, func(op txn.Op) bool { return op.C == collection && op.Insert != nil })
}

// dropped drops the operations that which matches.
func dropped(which func(op *txn.Op, all []txn.Op) bool) func(*txn.Op, []txn.Op) (bool, bool) {
	return func(op *txn.Op, all []txn.Op) (bool, bool) { found := which(op, all); return found, found }
}

// unasserted drops their asserts.
func unasserted(which func(op *txn.Op, all []txn.Op) bool) func(*txn.Op, []txn.Op) (bool, bool) {
	return func(op *txn.Op, all []txn.Op) (bool, bool) {
		if !which(op, all) {
			return false, false
		}
		op.Assert = txn.DocExists
		return false, true
	}
}

// uncounted omits a change of a count in one direction.
func uncounted(prefix, name string, sign int) func(*txn.Op, []txn.Op) (bool, bool) {
	return func(op *txn.Op, _ []txn.Op) (bool, bool) {
		update, _ := op.Update.(bson.D)
		if !in(op, "counts", prefix) || len(update) == 0 || update[0].Name != "$inc" {
			return false, false
		}
		inc, _ := update[0].Value.(bson.M)
		if n, _ := inc[name].(int); n*sign <= 0 {
			return false, false
		}
		left := bson.M{}
		for k, v := range inc {
			if k != name {
				left[k] = v
			}
		}
		if op.Update = (bson.D{{"$inc", left}}); len(left) == 0 {
			op.Update = nil
		}
		return false, true
	}
}

func cleanupOf(kind string) func(*txn.Op, []txn.Op) bool {
	return func(op *txn.Op, _ []txn.Op) bool {
		id, _ := op.Id.(string)
		return op.C == "cleanups" && op.Insert != nil && (strings.HasPrefix(id, kind) || strings.Contains(id, "-"+kind))
	}
}

func removed(collection, prefix string) func(*txn.Op, []txn.Op) bool {
	return func(op *txn.Op, _ []txn.Op) bool { return in(op, collection, prefix) && op.Remove }
}

// changed sets a different value.
func changed(collection, field string, to func(any) any) func(*txn.Op, []txn.Op) (bool, bool) {
	return func(op *txn.Op, _ []txn.Op) (bool, bool) {
		set, _ := setOf(op.Update).(bson.D)
		i := slices.IndexFunc(set, func(e bson.DocElem) bool { return e.Name == field })
		if op.C != collection || i < 0 || to(set[i].Value) == set[i].Value {
			return false, false
		}
		set = slices.Clone(set)
		set[i].Value = to(set[i].Value)
		op.Update = bson.D{{"$set", set}}
		return false, true
	}
}

var faults = append([]fault{
	{"assert", "add-unit does not assert that the machine is Alive", unasserted(func(op *txn.Op, all []txn.Op) bool {
		return in(op, "machines", "") && op.Update != nil && inserts(all, "units")
	})},
	{"assert", "add-unit does not assert that the service is Alive", dropped(func(op *txn.Op, all []txn.Op) bool {
		return in(op, "services", "") && onlyAsserts(op) && inserts(all, "units") && !inserts(all, "scopes")
	})},
	{"assert", "add-relation does not assert that the services are Alive", dropped(func(op *txn.Op, all []txn.Op) bool {
		return in(op, "services", "") && onlyAsserts(op) && inserts(all, "relations")
	})},
	{"assert", "a unit that enters does not assert that the relation is Alive",
		dropped(func(op *txn.Op, all []txn.Op) bool {
			return in(op, "relations", "") && onlyAsserts(op) && inserts(all, "scopes")
		})},
	{"assert", "a unit that enters does not assert that it is Alive", dropped(func(op *txn.Op, all []txn.Op) bool {
		return in(op, "units", "") && onlyAsserts(op) && inserts(all, "scopes")
	})},
	{"relations", "a relation is removed without asserting that its scope is empty",
		unasserted(func(op *txn.Op, _ []txn.Op) bool {
			return in(op, "counts", "r#") && op.Remove
		})},
	{"assert", "a service is removed without asserting that nothing refers to it",
		unasserted(func(op *txn.Op, _ []txn.Op) bool {
			return in(op, "counts", "s#") && op.Remove
		})},
	{"assert", "a machine's end does not assert that it has no Alive units",
		unasserted(func(op *txn.Op, all []txn.Op) bool {
			return in(op, "counts", "m#") && len(all) < 4 && op.Insert == nil
		})},
	{"assert", "destroy-unit does not assert that the agent never came up", unasserted(func(op *txn.Op, _ []txn.Op) bool {
		return in(op, "units", "") && op.Remove
	})},
	{"count", "a unit that goes is not counted off its service", uncounted("s#", "units", -1)},
	{"count", "a relation that goes is not counted off its services", uncounted("s#", "relations", -1)},
	{"count", "a unit that is no longer Alive is still counted as Alive", uncounted("m#", "alive-units", -1)},
	{"count", "a unit that enters is not counted by the relation", uncounted("r#", "scopes", 1)},
	{"count", "a subordinate is not counted by its principal", uncounted("u#", "subordinates", 1)},
	{"count", "a container that goes is not counted off its host", uncounted("m#", "containers", -1)},
	{"cleanup", "the units of a Dying service are forgotten", dropped(cleanupOf("destroy-s#"))},
	{"cleanup", "the subordinates of a Dying principal are forgotten", dropped(cleanupOf("destroy-u#"))},
	{"cleanup", "the subordinates without a relation are forgotten", dropped(cleanupOf("orphans"))},
	{"cleanup", "the settings of a relation are forgotten", dropped(cleanupOf("settings"))},
	{"cleanup", "what force is to do is forgotten", dropped(cleanupOf("force"))},
	{"cleanup", "what is on a machine is forgotten", dropped(cleanupOf("destroy-m#"))},
	{"peers", "the peers of another charm are forgotten", dropped(cleanupOf("peers"))},
	{"rest", "a unit that is gone stays deployed", dropped(removed("deployments", ""))},
	{"rest", "a unit that is gone keeps its credential", dropped(removed("credentials", "unit"))},
	{"rest", "a service that is gone keeps its settings", dropped(removed("settings", "s#"))},
	{"rest", "a relation that is gone keeps an endpoint", dropped(removed("endpoints", "db#"))},
	{"rest", "a unit that leaves stays in scope", dropped(removed("scopes", ""))},
	{"value", "a unit is Dead at once", changed("units", "life", func(v any) any {
		if v == entity.Dying {
			return entity.Dead
		}
		return v
	})},
	{"value", "the relation becomes Dying, its endpoints do not",
		changed("endpoints", "life", func(any) any { return entity.Alive })},
	{"value", "lenience is taken for plain", changed("units", "strength", func(v any) any {
		if v == entity.Lenient {
			return entity.Plain
		}
		return v
	})},
	{"value", "a machine with a unit stays clean", changed("machines", "clean", func(any) any { return true })},
	{"value", "the container of a unit is not there for units", func(op *txn.Op, all []txn.Op) (bool, bool) {
		id, _ := op.Id.(string)
		if op.C != "machines" || op.Insert == nil || !strings.Contains(id, "/lxd/") || !inserts(all, "units") {
			return false, false
		}
		spoilt := bson.M{}
		data, err := bson.Marshal(op.Insert)
		if err == nil {
			err = bson.Unmarshal(data, &spoilt)
		}
		if _, marked := spoilt["forunits"]; err != nil || !marked {
			return false, false
		}
		delete(spoilt, "forunits")
		op.Insert = spoilt
		return false, true
	}},
	{"rest", "a port stays open", dropped(func(op *txn.Op, all []txn.Op) bool {
		return in(op, "ports", "") && op.Update != nil &&
			slices.ContainsFunc(all, func(o txn.Op) bool { return in(&o, "units", "") && o.Remove })
	})},
	{"storage", "storage that goes is not counted off its machine", uncounted("m#", "storage", -1)},
	{"storage", "an attachment that goes is not counted off its unit", uncounted("u#", "attachments", -1)},
	{"storage", "storage that goes with its unit is forgotten", dropped(cleanupOf("storage"))},
	{"storage", "an attachment stays", dropped(removed("attachments", ""))},
	{"storage", "storage is destroyed though it is to be kept",
		changed("storage", "release", func(any) any { return false })},
	{"tasks", "the tasks of a unit that is gone are forgotten", dropped(cleanupOf("tasks"))},
	{"tasks", "an operation outlives its tasks", dropped(removed("operations", ""))},
	{"tasks", "a cancelled task goes on", changed("tasks", "status", func(v any) any {
		if v == entity.TaskAborting {
			return entity.TaskRunning
		}
		return v
	})},
	{"offers", "a relation that goes is not counted off its offer", uncounted("o#", "connections", -1)},
	{"offers", "an offer that is no longer Alive still bars its service", uncounted("s#", "offers", -1)},
	{"offers", "an offer is removed without asserting that no relation uses it",
		unasserted(func(op *txn.Op, _ []txn.Op) bool { return in(op, "counts", "o#") && op.Remove })},
	{"offers", "a relation uses an offer that is not Alive",
		unasserted(func(op *txn.Op, all []txn.Op) bool { return in(op, "offers", "") && inserts(all, "relations") })},
	{"offers", "the relations of an offer that is forced are forgotten", dropped(cleanupOf("destroy-o#"))},
	{"rest", "what force leaves behind is not recorded",
		dropped(func(op *txn.Op, _ []txn.Op) bool { return in(op, "leftovers", "") && op.Insert != nil })},
}, secretFaults...)

// plant makes a fault spoil the simulation's transactions.
func (s *sim) plant(f fault, hits *int) {
	s.fault = func(ops []txn.Op) []txn.Op {
		var spoilt []txn.Op
		for _, op := range ops {
			drop, done := f.spoil(&op, ops)
			if done {
				*hits++
			}
			if !drop {
				spoilt = append(spoilt, op)
			}
		}
		return spoilt
	}
}

// The simulation finds each of these faults, and finds nothing without them.
func TestSimulationFindsPlantedFaults(t *testing.T) {
	steps := 1500
	kinds := map[string]bool{}
	for _, i := range rand.Perm(len(faults)) {
		f := faults[i]
		if testing.Short() && (kinds[f.kind] || len(kinds) == 3) {
			continue
		}
		kinds[f.kind] = true
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			hits := 0
			for seed := range uint64(12) { // a rare one takes several
				// With a fault, a transaction can fail for ever, and the cleaner tries it again and again.
				s := newSimOn(t, seed, mongo.Options{Patience: time.Millisecond})
				s.busy, s.racing, s.cleaning = 25, 2-int(seed%2), 4 // with odd seeds, every action races
				switch f.kind {
				case "tasks":
					s.tasking = 20
				case "relations":
					s.relating = 15
				case "offers":
					s.offering = 20
				case "peers":
					s.rolling = 20
				case "secrets":
					s.hiding = 40
				case "names":
					s.hiding, s.cleaning = 40, 1
				}
				s.plant(f, &hits)
				err := s.run(steps)
				if err != nil {
					what, _, _ := strings.Cut(err.Error(), "\n\n")
					t.Logf("seed %d, step %d, spoilt %d times: %.200s", seed, s.steps, hits, what)
					return
				}
			}
			t.Errorf("spoilt %d times, but not found", hits)
		})
	}
}
