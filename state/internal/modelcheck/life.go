package modelcheck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
)

// CleanupKinds are the known kinds of cleanups.
var CleanupKinds = []string{modeldb.CleanupDestroy, modeldb.CleanupOrphans, modeldb.CleanupForce, modeldb.CleanupAddresses,
	modeldb.CleanupEmptied, modeldb.CleanupStorage, modeldb.CleanupLease, modeldb.CleanupTasks, modeldb.CleanupArchive, modeldb.CleanupSettings,
	modeldb.CleanupPeers, modeldb.CleanupUpgrade, modeldb.CleanupEgress, modeldb.CleanupParty, modeldb.CleanupGrants,
	modeldb.CleanupSecret, modeldb.CleanupTell}

func judgeCleanup(v *view, id string) *check.Wrong {
	c := v.Get(modeldb.CleanupsC, id)
	if c == nil || slices.Contains(CleanupKinds, c.Text("kind")) {
		return nil
	}
	return check.Remove(check.DocID{modeldb.CleanupsC, id}, fmt.Sprintf("unknown cleanup kind %q", c.Text("kind")), "remove it")
}

// lifeRules check each entity against the lifecycle tables.
func lifeRules() (rules []rule) {
	for _, collection := range append([]string{modeldb.ModelC}, livingC...) {
		for _, judge := range []func(*view, recorded) *check.Wrong{
			judgeBlocked, judgeUnreached, judgeUnreferred, judgeForced} {
			rules = append(rules, rule{of: collection, judge: func(v *view, id string) *check.Wrong {
				e, ok := v.entityIn(collection, id)
				if !ok || e.doc.Life() == entity.Alive {
					return nil
				}
				v.Get(modeldb.CountsC, e.key()) // confirm detects a change of the references by it
				return judge(v, e)
			}})
		}
	}
	return rules
}

// judgeBlocked finds entities whose life contradicts their references.
func judgeBlocked(v *view, e recorded) *check.Wrong {
	life := e.doc.Life()
	for _, ref := range lifecycle.Bars(e.kind, life) {
		if life == entity.Dying && (e.doc.Strength() == entity.Force || e.kind == lifecycle.Offer) {
			continue // its sources are destroyed after it; those of an offer end with its service, if its model ends
		}
		for _, s := range v.sources(ref, e) {
			where := check.DocID{ref.In, s.Text("_id")}
			is := fmt.Sprintf("%s, its %s, is %v", e, ref.Field, life)
			switch r := v.Get(where.Collection, where.ID); {
			case r == nil:
			case ref.From != lifecycle.Scope && r.Life() == entity.Alive && life == entity.Dying:
				return check.Update(where, "it is alive, and "+is, "set it dying", bson.D{{"$set", bson.D{{"life", entity.Dying}}}})
			case ref.From == lifecycle.Scope:
				return check.Remove(where, is, "remove it")
			default:
				return check.Remove(where, is, outOfState)
			}
		}
	}
	return nil
}

// judgeUnreached finds Dying entities with an Alive source, and no cleanup to destroy the source if its agent is
// disconnected.
func judgeUnreached(v *view, e recorded) *check.Wrong {
	if v.hasCleanup(modeldb.CleanupDestroy, e.key()) {
		return nil
	}
	for _, ref := range lifecycle.Reached(e.kind, e.doc.Strength(), lifecycle.Cleaner) {
		for _, s := range v.sources(ref, e) {
			if v.lifeOf(ref, s) != entity.Alive {
				continue
			}
			return v.needsCleanup(e.where(), modeldb.CleanupDestroy, e.key(),
				fmt.Sprintf("it is %v, %s is alive, and no cleanup will destroy it", e.doc.Life(),
					recorded{kind: ref.From, id: v.named(ref, s)}))
		}
	}
	return nil
}

// named returns the id of the entity that a source is, or is part of.
func (v *view) named(ref lifecycle.Ref, s check.Row) string {
	if ref.In == modeldb.EndpointsC {
		return s.Text("relation")
	}
	return s.Text("_id")
}

// lifeOf reads the life of a source.
func (v *view) lifeOf(ref lifecycle.Ref, s check.Row) entity.Life {
	if r := v.Get(lifecycle.RowOf(ref.From).In, v.named(ref, s)); r != nil {
		return r.Life()
	}
	return entity.Gone
}

// judgeUnreferred finds entities that should have been removed with the last reference to them.
func judgeUnreferred(v *view, e recorded) *check.Wrong {
	if !lifecycle.May(e.kind, lifecycle.ToRemove, lifecycle.LastRef, entity.Dying) {
		return nil
	}
	for _, ref := range lifecycle.RefsTo(e.kind) {
		if len(v.sources(ref, e)) > 0 {
			return nil
		}
	}
	return check.Remove(e.where(), fmt.Sprintf("it is %v, nothing refers to it, and nothing will remove it", e.doc.Life()),
		outOfState)
}

// judgeForced finds entities that were destroyed with force but that the cleaner will not remove.
func judgeForced(v *view, e recorded) *check.Wrong {
	if e.doc.Strength() != entity.Force || e.kind == lifecycle.Model {
		return nil
	}
	where := check.DocID{modeldb.CleanupsC, modeldb.ForceID(e.key())}
	if v.Get(where.Collection, where.ID) != nil {
		return nil
	}
	deadline, _ := e.doc["deadline"].(time.Time)
	return check.Insert(where, fmt.Sprintf("it is missing, so %s will not be removed by force", e), "write it",
		modeldb.Cleanup{ID: where.ID, Kind: modeldb.CleanupForce, Arg: e.key(), Strength: entity.Force, Deadline: deadline})
}

// used returns the sequence and number from which a document's id was made.
func used(collection string, r check.Row) (sequence string, number int) {
	id := r.Text("_id")
	switch collection {
	case modeldb.OperationsC:
		n, _ := strconv.Atoi(id)
		return modeldb.TaskSequence, n - 1
	case modeldb.TasksC:
		return modeldb.TaskSequence, r.Number("number") - 1
	case modeldb.RelationsC:
		return "relation", r.Number("id")
	case modeldb.UnitsC:
		return modeldb.UnitSequence(entity.UnitService(id)), entity.UnitNumber(id)
	case modeldb.StorageC:
		return modeldb.StorageSequence, entity.UnitNumber(id)
	}
	host, last := "", id
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		host, last = id[:i], id[i+1:]
	}
	var n int
	fmt.Sscan(last, &n)
	if host == "" {
		return "machine", n
	}
	host, kind := host[:strings.LastIndexByte(host, '/')], host[strings.LastIndexByte(host, '/')+1:]
	return "machine" + host + kind + "Container", n
}

// usedNumbers returns the highest number in use, by sequence.
func (v *view) usedNumbers() map[string]int {
	return check.Remembered(v.View, "numbers", func() map[string]int {
		highest := map[string]int{}
		for _, collection := range []string{modeldb.MachinesC, modeldb.UnitsC, modeldb.RelationsC, modeldb.OperationsC,
			modeldb.TasksC, modeldb.StorageC} {
			for _, r := range v.All(collection) {
				s, n := used(collection, r)
				if was, ok := highest[s]; !ok || n > was {
					highest[s] = n
				}
			}
		}
		return highest
	})
}

func sequences(v *view) []string { return slices.Sorted(maps.Keys(v.usedNumbers())) }

// judgeSequence finds sequences that would return a used number. A sequence always advances before its number
// is used.
func judgeSequence(v *view, id string) *check.Wrong {
	highest, ok := v.usedNumbers()[id]
	next := v.Get(modeldb.SequenceC, id).Number("counter")
	if !ok || next > highest {
		return nil
	}
	return &check.Wrong{Where: check.DocID{modeldb.SequenceC, id},
		What:   fmt.Sprintf("its next number is %d, and %d is taken", next, highest),
		Repair: "continue after it", Act: func(ctx context.Context) error {
			return v.DB.Upsert(ctx, modeldb.SequenceC, id, bson.D{{"$max", bson.D{{"counter", highest + 1}}}})
		}}
}
