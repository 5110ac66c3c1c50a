package state

import (
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// A lifeDoc is the part that the documents of all have that can be destroyed.
type lifeDoc struct {
	Life  entity.Life `bson:"life"`
	Since time.Time   `bson:"since,omitempty"` // when it came to be so
	// Strength is that of the strongest destruction asked for so far, and Deadline,
	// of force, when what agents have not done is done for them.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
	// Machines says, of units and services, that machines go with them.
	Machines bool `bson:"machines,omitempty"`
}

// born is the life of what is made now.
func (st *State) born() lifeDoc { return lifeDoc{Since: st.now()} }

// now is the time as the store keeps it.
func (st *State) now() time.Time { return st.controller.now().UTC().Truncate(time.Millisecond) }

func (l lifeDoc) forced() bool { return l.Strength == entity.Force }

// A destruction is an entity.Destruction that has begun. It is made before a
// transaction is built, so that each try makes the same operations.
type destruction struct {
	strength entity.Strength
	deadline time.Time // of force
	now      time.Time
	id       string // what the ids of its cleanups begin with
	machines bool   // of a unit or a service: machines go with it
}

// begin is where the time of a destruction begins to run. Only units and services
// have machines that go with them: others call alone.
func (st *State) begin(how entity.Destruction) destruction {
	d := destruction{strength: how.Strength, now: st.now(), id: newID(), machines: how.Machines}
	if how.Strength == entity.Force {
		d.deadline = d.now.Add(how.Timeout)
	}
	return d
}

// forced is the destruction of what goes with an entity whose time is over.
func (st *State) forced() destruction { return st.again(entity.Force, st.now()) }

// alone is the same destruction without the machines.
func (d destruction) alone() destruction {
	d.machines = false
	return d
}

// again is the same destruction, at work on something else.
func (st *State) again(strength entity.Strength, deadline time.Time) destruction {
	return destruction{strength: strength, deadline: deadline, now: st.now(), id: newID()}
}

// turn is what is set in a document whose life changes.
func (d destruction) turn(to entity.Life) bson.D {
	return bson.D{{"life", to}, {"since", d.now}}
}

// forces reports whether the destruction makes a thing with this life one that is
// destroyed with force, or brings its deadline forward.
func (d destruction) forces(l lifeDoc) bool {
	return d.strength == entity.Force && (!l.forced() || d.deadline.Before(l.Deadline))
}

// raise is what is set in a document because of how it is destroyed, and nil when
// the document says as much already.
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
	return set
}

// unraised asserts of a document that nobody was stronger, or earlier, than it was
// seen to be: strength only grows, and a deadline only comes nearer.
func unraised(l lifeDoc) bson.D {
	assert := bson.D{{"life", l.Life}, {"strength", bson.D{{"$not", bson.D{{"$gt", l.Strength}}}}}}
	if l.forced() {
		assert = append(assert, bson.DocElem{Name: "deadline", Value: l.Deadline})
	}
	return assert
}

// forceID is the id of the cleanup that removes an entity by force; it comes and
// goes with the strength of the entity's destruction.
func forceID(key string) string { return cleanupForce + "-" + key }

// forceOps has the cleaner remove an entity by force when the time that a
// destruction leaves it is over. A model is not removed that way: what is in it is,
// and that ends it.
func (o *ops) forceOps(key string, l lifeDoc, d destruction) {
	switch {
	case !d.forces(l) || key == modelKey:
		return
	case l.forced():
		o.update(cleanupsC, forceID(key), exists, bson.D{{"$set", bson.D{{"deadline", d.deadline}}}})
		return
	}
	o.insert(cleanupsC, forceID(key), cleanupDoc{ID: forceID(key), Kind: cleanupForce, Arg: key, Strength: d.strength, Deadline: d.deadline})
}

// owe leaves to the cleaner what a destruction does to others.
func (o *ops) owe(kind, arg string, d destruction) {
	id := d.id + "-" + kind + "-" + arg
	o.insert(cleanupsC, id, cleanupDoc{ID: id, Kind: kind, Arg: arg, Strength: d.strength, Deadline: d.deadline})
}
