package state

import (
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// A lifeDoc is the part that the documents of living entities share.
type lifeDoc struct {
	Life  entity.Life `bson:"life"`
	Since time.Time   `bson:"since,omitempty"` // when Life last changed
	// Strength is the strongest destruction asked for so far. Deadline is when the
	// cleaner takes over from the agents; forced destructions only.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
	// Machines says that the machines of the unit or service go with it.
	Machines bool `bson:"machines,omitempty"`
	// WithStorage says that the storage of the unit, service or model is destroyed with it.
	WithStorage bool `bson:"withstorage,omitempty"`
}

// born is the life of a new entity.
func (st *State) born() lifeDoc { return lifeDoc{Since: st.now()} }

func (l lifeDoc) forced() bool { return l.Strength == entity.Force }

// A destruction is an entity.Destruction that has begun. It is made before the
// transaction is built, so that each try makes the same operations.
type destruction struct {
	strength entity.Strength
	deadline time.Time // if forced
	now      time.Time
	id       string // begins the ids of its cleanups
	machines bool   // of units and services: their machines go too
	release  bool   // of storage and models: what is outside state stays
	storage  bool   // of units, services and models: their storage goes too
}

// begin starts a destruction and its timeout. Only units and services destroy machines and
// storage with them; other callers use alone.
func (st *State) begin(how entity.Destruction) destruction {
	d := destruction{strength: how.Strength, now: st.now(), id: mongo.NewID(), machines: how.Machines,
		storage: how.Storage}
	if how.Strength == entity.Force {
		d.deadline = d.now.Add(how.Timeout)
	}
	return d
}

// forced returns the destruction of entities that go with one whose deadline has passed.
func (st *State) forced() destruction { return st.again(entity.Force, st.now()) }

// alone is the same destruction without the machines and storage.
func (d destruction) alone() destruction {
	d.machines, d.storage = false, false
	return d
}

// again is the same destruction, applied to something else.
func (st *State) again(strength entity.Strength, deadline time.Time) destruction {
	return destruction{strength: strength, deadline: deadline, now: st.now(), id: mongo.NewID()}
}

// turn returns what is set in a document when its life changes.
func (d destruction) turn(to entity.Life) bson.D {
	return bson.D{{"life", to}, {"since", d.now}}
}

// forces reports whether the destruction forces an entity that was not forced before, or
// brings its deadline forward.
func (d destruction) forces(l lifeDoc) bool {
	return d.strength == entity.Force && (!l.forced() || d.deadline.Before(l.Deadline))
}

// raise returns what the destruction sets in a document, nil if nothing is new to it.
func (d destruction) raise(l lifeDoc) bson.D {
	var set bson.D
	if d.strength > l.Strength {
		set = append(set, bson.DocElem{Name: "strength", Value: d.strength})
	}
	if d.forces(l) {
		set = append(set, bson.DocElem{Name: "deadline", Value: d.deadline})
	}
	if d.machines && !l.Machines {
		set = append(set, bson.DocElem{Name: "machines", Value: true})
	}
	if d.storage && !l.WithStorage {
		set = append(set, bson.DocElem{Name: "withstorage", Value: true})
	}
	return set
}

// unraised asserts that the strength and deadline of a document are not beyond those
// read: strength only grows, and a deadline only moves forward.
func unraised(l lifeDoc) bson.D {
	assert := bson.D{{"life", l.Life}, {"strength", bson.D{{"$not", bson.D{{"$gt", l.Strength}}}}}}
	if l.forced() {
		assert = append(assert, bson.DocElem{Name: "deadline", Value: l.Deadline})
	}
	return assert
}

// forceID is the id of the cleanup that removes an entity by force. The document exists
// while the entity's strength is force.
func forceID(key string) string { return cleanupForce + "-" + key }

// forceOps makes the cleaner remove an entity by force once the destruction's deadline
// has passed. A model has no such cleanup: the forced removal of what is in it ends it.
func (o *ops) forceOps(key string, l lifeDoc, d destruction) {
	switch {
	case !d.forces(l) || key == modelKey:
		return
	case l.forced():
		o.Update(cleanupsC, forceID(key), exists, bson.D{{"$set", bson.D{{"deadline", d.deadline}}}})
		return
	}
	o.Insert(cleanupsC, forceID(key), cleanupDoc{ID: forceID(key), Kind: cleanupForce, Arg: key, Strength: d.strength,
		Deadline: d.deadline})
}

// wakeForce wakes the cleaner if it is to remove an entity by force and the cloud has failed to end
// what the entity has: the cleaner need not wait for the cloud any longer.
func (o *ops) wakeForce(key string, l lifeDoc, said entity.Status) {
	if l.forced() && said.Status == entity.StatusError {
		o.Update(cleanupsC, forceID(key), nil, bson.D{{"$inc", bson.D{{"woken", 1}}}})
	}
}

// owe leaves to the cleaner what a destruction does to others.
func (o *ops) owe(kind, arg string, d destruction) {
	id := d.id + "-" + kind + "-" + arg
	o.Insert(cleanupsC, id, cleanupDoc{ID: id, Kind: kind, Arg: arg, Strength: d.strength, Deadline: d.deadline})
}
