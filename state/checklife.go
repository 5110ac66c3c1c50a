package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// cleanupKinds are the kinds of cleanups that this program knows.
var cleanupKinds = []string{cleanupDestroy, cleanupOrphans, cleanupForce, cleanupEmptied, cleanupLease, cleanupSettings}

func judgeCleanup(v *view, id string) *wrong {
	c := v.get(cleanupsC, id)
	if c == nil || slices.Contains(cleanupKinds, c.text("kind")) {
		return nil
	}
	return toRemove(docID{cleanupsC, id}, fmt.Sprintf("unknown cleanup kind %q", c.text("kind")), "remove it")
}

// lifeRules check each entity against the lifecycle tables.
func lifeRules() (rules []rule) {
	for _, collection := range append([]string{modelC}, livingC...) {
		for _, judge := range []func(*view, recorded) *wrong{judgeBlocked, judgeUnreached, judgeUnreferred, judgeForced} {
			rules = append(rules, rule{of: collection, judge: func(v *view, id string) *wrong {
				e, ok := v.entityIn(collection, id)
				if !ok || e.doc.life() == entity.Alive {
					return nil
				}
				v.get(countsC, e.key()) // confirm sees a change of the references by it
				return judge(v, e)
			}})
		}
	}
	return rules
}

// judgeBlocked finds entities with a life that their references bar.
func judgeBlocked(v *view, e recorded) *wrong {
	life := e.doc.life()
	for _, ref := range lifecycle.Bars(e.kind, life) {
		if life == entity.Dying && e.doc.strength() == entity.Force {
			continue // its sources are destroyed after it
		}
		for _, s := range v.sources(ref, e) {
			where := docID{ref.In, s.text("_id")}
			is := fmt.Sprintf("%s, its %s, is %v", e, ref.Field, life)
			switch r := v.get(where.collection, where.id); {
			case r == nil:
			case ref.From != lifecycle.Scope && r.life() == entity.Alive && life == entity.Dying:
				return toUpdate(where, "it is alive, and "+is, "set it dying", bson.D{{"$set", bson.D{{"life", entity.Dying}}}})
			case ref.From == lifecycle.Scope:
				return toRemove(where, is, "remove it")
			default:
				return toRemove(where, is, outOfState)
			}
		}
	}
	return nil
}

// judgeUnreached finds Dying entities with an Alive source and no cleanup to destroy it
// if its agent is away.
func judgeUnreached(v *view, e recorded) *wrong {
	if v.hasCleanup(cleanupDestroy, e.key()) {
		return nil
	}
	for _, ref := range lifecycle.Reached(e.kind, e.doc.strength(), lifecycle.Cleaner) {
		for _, s := range v.sources(ref, e) {
			if v.lifeOf(ref, s) != entity.Alive {
				continue
			}
			return v.needsCleanup(e.where(), cleanupDestroy, e.key(),
				fmt.Sprintf("it is %v, %s is alive, and no cleanup will destroy it", e.doc.life(),
					recorded{kind: ref.From, id: v.named(ref, s)}))
		}
	}
	return nil
}

// named returns the id of the entity that a source is, or is part of.
func (v *view) named(ref lifecycle.Ref, s row) string {
	if ref.In == endpointsC {
		return s.text("relation")
	}
	return s.text("_id")
}

// lifeOf reads the life of a source.
func (v *view) lifeOf(ref lifecycle.Ref, s row) entity.Life {
	if r := v.get(lifecycle.RowOf(ref.From).In, v.named(ref, s)); r != nil {
		return r.life()
	}
	return entity.Gone
}

// judgeUnreferred finds entities that should have been removed with the last reference to
// them.
func judgeUnreferred(v *view, e recorded) *wrong {
	if !lifecycle.May(e.kind, lifecycle.ToRemove, lifecycle.LastRef, entity.Dying) {
		return nil
	}
	for _, ref := range lifecycle.RefsTo(e.kind) {
		if len(v.sources(ref, e)) > 0 {
			return nil
		}
	}
	return toRemove(e.where(), fmt.Sprintf("it is %v, nothing refers to it, and nothing will remove it", e.doc.life()),
		outOfState)
}

// judgeForced finds entities that were destroyed with force and that the cleaner will not
// remove.
func judgeForced(v *view, e recorded) *wrong {
	if e.doc.strength() != entity.Force || e.kind == lifecycle.Model {
		return nil
	}
	where := docID{cleanupsC, forceID(e.key())}
	if v.get(where.collection, where.id) != nil {
		return nil
	}
	deadline, _ := e.doc["deadline"].(time.Time)
	return toInsert(where, fmt.Sprintf("it is missing, so %s will not be removed by force", e), "write it",
		cleanupDoc{ID: where.id, Kind: cleanupForce, Arg: e.key(), Strength: entity.Force, Deadline: deadline})
}

// used returns the sequence and the number that a document's id was made from.
func used(collection string, r row) (sequence string, number int) {
	id := r.text("_id")
	switch collection {
	case relationsC:
		return "relation", r.number("id")
	case unitsC:
		return unitSequence(entity.UnitService(id)), entity.UnitNumber(id)
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
	return remembered(v, "numbers", func() map[string]int {
		highest := map[string]int{}
		for _, collection := range []string{machinesC, unitsC, relationsC} {
			for _, r := range v.all(collection) {
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

// judgeSequence finds sequences that would give a number again. The sequence is always
// advanced before a number is used.
func judgeSequence(v *view, id string) *wrong {
	highest, ok := v.usedNumbers()[id]
	next := v.get(sequenceC, id).number("counter")
	if !ok || next > highest {
		return nil
	}
	return &wrong{where: docID{sequenceC, id}, what: fmt.Sprintf("its next number is %d, and %d is taken", next, highest),
		repair: "continue after it", act: func(context.Context) error {
			return v.db.With(sequenceC, func(c *mgo.Collection) error {
				_, err := c.UpsertId(id, bson.D{{"$max", bson.D{{"counter", highest + 1}}}})
				return err
			})
		}}
}
