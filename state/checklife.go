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

// cleanupKinds are those that this program does.
var cleanupKinds = []string{cleanupModel, cleanupUnits, cleanupRelations, cleanupSubordinates, cleanupOrphans, cleanupGuests, cleanupForce, cleanupEmptied, cleanupLease, cleanupSettings}

func judgeCleanup(v *view, id string) *wrong {
	c := v.get(cleanupsC, id)
	if c == nil || slices.Contains(cleanupKinds, c.text("kind")) {
		return nil
	}
	return toRemove(docID{cleanupsC, id}, fmt.Sprintf("nobody knows how to do a cleanup of kind %q", c.text("kind")), "remove it")
}

// barrers returns what refers to an entity and bars the life that it has.
func (v *view) barrers(kind lifecycle.Kind, key string, target any, life entity.Life) []row {
	v.get(countsC, key) // it changes with them
	for _, ref := range lifecycle.RefsTo(kind) {
		if life < ref.Bars {
			continue
		}
		if all := v.holders(kind, ref.Name, target); len(all) > 0 {
			return all
		}
	}
	return nil
}

// judgeGuests finds machines that have gone further than what is on them allows.
func judgeGuests(v *view, id string) *wrong {
	m := v.get(machinesC, id)
	if m == nil || m.life() == entity.Alive {
		return nil
	}
	if m.life() == entity.Dying && m.strength() == entity.Force {
		return nil // what is on it is being destroyed after it
	}
	on := v.barrers(lifecycle.Machine, machineKey(id), id, m.life())
	if len(on) == 0 {
		return nil
	}
	guest := docID{unitsC, on[0].text("_id")}
	if v.get(guest.collection, guest.id) == nil {
		guest.collection = machinesC // a container
	}
	if g := v.get(guest.collection, guest.id); g.life() == entity.Alive && m.life() == entity.Dying {
		return toUpdate(guest, fmt.Sprintf("it is alive on machine %s, which is dying", id), "set it dying",
			bson.D{{"$set", bson.D{{"life", entity.Dying}}}})
	}
	return toRemove(guest, fmt.Sprintf("machine %s, which it is on, is %v", id, m.life()), outOfState)
}

// forcedRules say of what was destroyed with force that it is to be taken apart.
func forcedRules() (rules []rule) {
	for _, collection := range []string{machinesC, unitsC, servicesC, relationsC} {
		rules = append(rules, rule{of: collection, judge: func(v *view, id string) *wrong {
			r := v.get(collection, id)
			if r == nil || r.strength() != entity.Force {
				return nil
			}
			_, key, _ := entityOf(collection, id, r)
			where := docID{cleanupsC, forceID(key)}
			if v.get(where.collection, where.id) != nil {
				return nil
			}
			deadline, _ := r["deadline"].(time.Time)
			return toInsert(where, fmt.Sprintf("it is missing, so nobody will take %s %s apart", collection, id), "write it",
				cleanupDoc{ID: where.id, Kind: cleanupForce, Arg: key, Strength: entity.Force, Deadline: deadline})
		}})
	}
	return rules
}

// judgeDeadUnit finds units that are Dead with something that bars that.
func judgeDeadUnit(v *view, name string) *wrong {
	u := v.get(unitsC, name)
	if u == nil || u.life() != entity.Dead {
		return nil
	}
	kind, key, target := entityOf(unitsC, name, u)
	bars := v.barrers(kind, key, target, entity.Dead)
	if len(bars) == 0 {
		return nil
	}
	id := bars[0].text("_id")
	if v.get(scopesC, id) != nil {
		return toRemove(docID{scopesC, id}, fmt.Sprintf("unit %s is dead, and in the relation still", name), "remove it")
	}
	v.get(unitsC, id)
	return toRemove(docID{unitsC, id}, fmt.Sprintf("unit %s, its principal, is dead", name), outOfState)
}

// judgeDyingModel finds a model whose end nobody will bring about any more.
func judgeDyingModel(v *view, id string) *wrong {
	m := v.get(modelC, id)
	if m == nil || m.life() != entity.Dying || v.hasCleanup(cleanupModel, modelKey) {
		return nil
	}
	for _, collection := range []string{servicesC, machinesC} {
		for _, r := range v.where(collection, "life", int(entity.Alive)) {
			v.get(collection, r.text("_id"))
			return v.needsCleanup(docID{modelC, id}, cleanupModel, modelKey,
				fmt.Sprintf("it is dying, %s %s is alive, and no cleanup is to destroy that", collection, r.text("_id")))
		}
	}
	return nil
}

// judgeDyingService finds services that nobody will end any more.
func judgeDyingService(v *view, name string) *wrong {
	s := v.get(servicesC, name)
	if s == nil || s.life() == entity.Alive {
		return nil
	}
	where, key := docID{servicesC, name}, serviceKey(name)
	v.get(countsC, key)
	cleaned := v.hasCleanup(cleanupUnits, name) // which is done before it goes
	units := v.holders(lifecycle.Service, "units", name)
	relations := v.holders(lifecycle.Service, "relations", name)
	if len(units)+len(relations) == 0 {
		return toRemove(where, fmt.Sprintf("it is %v, nothing refers to it, and nobody will remove it", s.life()), outOfState)
	}
	for _, u := range units {
		if u.life() == entity.Alive && !cleaned {
			v.get(unitsC, u.text("_id"))
			return v.needsCleanup(where, cleanupUnits, name, fmt.Sprintf("it is %v, its unit %s is alive, and no cleanup is to destroy that",
				s.life(), u.text("_id")))
		}
	}
	return nil
}

// judgeDyingRelation finds relations that nobody will remove any more.
func judgeDyingRelation(v *view, key string) *wrong {
	r := v.get(relationsC, key)
	if r == nil || r.life() == entity.Alive {
		return nil
	}
	v.get(countsC, relationKey(r.number("id")))
	if len(v.holders(lifecycle.Relation, "scopes", r.number("id"))) > 0 {
		return nil
	}
	return toRemove(docID{relationsC, key}, fmt.Sprintf("it is %v, no unit is in it, and nobody will remove it", r.life()), outOfState)
}

// judgeDyingPrincipal finds subordinates that nobody will destroy any more, when
// the principal's agent is away.
func judgeDyingPrincipal(v *view, name string) *wrong {
	u := v.get(unitsC, name)
	if u == nil || u.life() != entity.Dying || u.text("principal") != "" {
		return nil
	}
	v.get(countsC, unitKey(name))
	cleaned := v.hasCleanup(cleanupSubordinates, name)
	for _, s := range v.holders(lifecycle.Principal, "subordinates", name) {
		if s.life() == entity.Alive && !cleaned {
			v.get(unitsC, s.text("_id"))
			return v.needsCleanup(docID{unitsC, name}, cleanupSubordinates, name,
				fmt.Sprintf("it is dying, its subordinate %s is alive, and no cleanup is to destroy that", s.text("_id")))
		}
	}
	return nil
}

// used returns the sequence that the number in an id came from, and the number.
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

// usedNumbers returns, of each sequence, the highest number that something has.
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

// judgeSequence finds sequences that would give a number again. A number is taken
// before anything has it.
func judgeSequence(v *view, id string) *wrong {
	highest, ok := v.usedNumbers()[id]
	next := v.get(sequenceC, id).number("counter")
	if !ok || next > highest {
		return nil
	}
	return &wrong{where: docID{sequenceC, id}, what: fmt.Sprintf("its next number is %d, and %d is taken", next, highest),
		repair: "go on after that", act: func(context.Context) error {
			return v.db.With(sequenceC, func(c *mgo.Collection) error {
				_, err := c.UpsertId(id, bson.D{{"$max", bson.D{{"counter", highest + 1}}}})
				return err
			})
		}}
}
