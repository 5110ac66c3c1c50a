package state

import (
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// born is the life of a new entity.
func (st *State) born() modeldb.Living { return modeldb.Living{Since: st.db.Now()} }

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
	d := destruction{strength: how.Strength, now: st.db.Now(), id: mongo.NewID(), machines: how.Machines,
		storage: how.Storage}
	if how.Strength == entity.Force {
		d.deadline = d.now.Add(how.Timeout)
	}
	return d
}

// forced returns the destruction of entities that go with one whose deadline has passed.
func (st *State) forced() destruction { return st.again(entity.Force, st.db.Now()) }

// alone is the same destruction without the machines and storage.
func (d destruction) alone() destruction {
	d.machines, d.storage = false, false
	return d
}

// again is the same destruction, applied to something else.
func (st *State) again(strength entity.Strength, deadline time.Time) destruction {
	return destruction{strength: strength, deadline: deadline, now: st.db.Now(), id: mongo.NewID()}
}

// turn returns what is set in a document when its life changes.
func (d destruction) turn(to entity.Life) bson.D {
	return bson.D{{"life", to}, {"since", d.now}}
}

// forces reports whether the destruction forces an entity that was not forced before, or
// brings its deadline forward.
func (d destruction) forces(l modeldb.Living) bool {
	return d.strength == entity.Force && (!l.Forced() || d.deadline.Before(l.Deadline))
}

// raise returns what the destruction sets in a document, nil if nothing is new to it.
func (d destruction) raise(l modeldb.Living) bson.D {
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
func unraised(l modeldb.Living) bson.D {
	assert := bson.D{{"life", l.Life}, {"strength", bson.D{{"$not", bson.D{{"$gt", l.Strength}}}}}}
	if l.Forced() {
		assert = append(assert, bson.DocElem{Name: "deadline", Value: l.Deadline})
	}
	return assert
}

// forceOps makes the cleaner remove an entity by force once the destruction's deadline
// has passed. A model has no such cleanup: the forced removal of what is in it ends it.
func (o *ops) forceOps(key string, l modeldb.Living, d destruction) {
	switch {
	case !d.forces(l) || key == modeldb.ModelKey:
		return
	case l.Forced():
		o.Update(modeldb.CleanupsC, modeldb.ForceID(key), modeltxn.Exists, bson.D{{"$set", bson.D{{"deadline", d.deadline}}}})
		return
	}
	o.Insert(modeldb.CleanupsC, modeldb.ForceID(key), modeldb.Cleanup{ID: modeldb.ForceID(key), Kind: modeldb.CleanupForce, Arg: key, Strength: d.strength,
		Deadline: d.deadline})
}

// owe leaves to the cleaner what a destruction does to others.
func (o *ops) owe(kind, arg string, d destruction) {
	id := d.id + "-" + kind + "-" + arg
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: kind, Arg: arg, Strength: d.strength, Deadline: d.deadline})
}
