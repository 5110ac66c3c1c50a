package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A cleanup is work that a transaction leaves for later, because it has no bound or
// because it is the duty of an agent that may be away. It can be repeated at any time;
// its document is removed when it is done.
type cleanupDoc struct {
	ID   string `bson:"_id"`
	Kind string `bson:"kind"`
	Arg  string `bson:"arg"`
	// Of a destruction that is passed on.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
}

// The kinds of cleanups.
const (
	cleanupDestroy  = "destroy"  // destroy what refers to a Dying entity, by its key
	cleanupOrphans  = "orphans"  // destroy the subordinates that an ended container relation leaves
	cleanupForce    = "force"    // remove an entity that was destroyed with force, by its key
	cleanupEmptied  = "emptied"  // destroy a machine with its last unit, if nothing is on it
	cleanupStorage  = "storage"  // destroy a storage instance that goes with its last unit
	cleanupLease    = "lease"    // delete a removed service's lease, outside transactions
	cleanupTasks    = "tasks"    // cancel the tasks of a removed unit
	cleanupArchive  = "archive"  // give up a file of a resource if nothing uses it any more
	cleanupSettings = "settings" // delete a removed relation's settings, outside transactions
)

// cleanup adds a cleanup of a kind that is only ever added once for an arg.
func (o *ops) cleanup(kind, arg string) {
	o.Insert(cleanupsC, kind+"-"+arg, cleanupDoc{ID: kind + "-" + arg, Kind: kind, Arg: arg})
}

// A Cleaner is the part of a model's state that its cleaner uses.
type Cleaner struct{ st *State }

// Cleaner returns the model's state as its cleaner uses it.
func (st *State) Cleaner() Cleaner { return Cleaner{st} }

// WatchCleanups fires when there may be something to clean up.
func (c Cleaner) WatchCleanups(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.st.hub, watcher.Collection(cleanupsC)), nil
}

// roundsOfCleanups is how many rounds of cleanups may do something before those that come after them
// get their turn. What a command or an agent begins has run out long before: a cleanup passes
// it on to what refers to its entity, and references have no cycles.
const roundsOfCleanups = 100

// Cleanup runs the cleanups and removes the documents of those that are done. It logs a
// failure, leaves that cleanup to the next call, and goes on with the others. left is how
// many should be tried again; due is the time until the next one with a deadline, 0 if
// there is none.
//
// The destruction of the model comes once the others have led to nothing new, and force
// once that has led to nothing new either: what goes before, and which machines go with
// their units, does not depend on what the later ones remove beside it. After roundsOfCleanups
// rounds they have their turn all the same, as others may begin something all the time.
// That keeps the order: what there was at first has led to nothing new by then.
func (c Cleaner) Cleanup(ctx context.Context) (left int, due time.Duration, err error) {
	ofModel := bson.D{{"kind", cleanupDestroy}, {"arg", modelKey}}
	others := bson.D{{"kind", bson.D{{"$ne", cleanupForce}}}, {"$nor", []bson.D{ofModel}}}
	for round, again := 1, true; again; round++ {
		p, err := c.pass(ctx, others)
		if left = p.left; err != nil {
			return left, 0, err
		}
		if p.done > 0 && round < roundsOfCleanups {
			continue
		}
		m, err := c.pass(ctx, ofModel)
		if left += m.left; err != nil {
			return left, 0, err
		}
		if again = m.done > 0 && round < roundsOfCleanups; again || m.left == 0 {
			continue
		}
		if p, err = c.pass(ctx, others); err != nil { // what the model's end has begun
			return left, 0, err
		}
		left, again = m.left+p.left, p.done > 0 && round < roundsOfCleanups
	}
	p, err := c.pass(ctx, bson.D{{"kind", cleanupForce}})
	return left + p.left, p.due, err
}

// A cleanupPass counts what came of some cleanups.
type cleanupPass struct {
	done, left int
	due        time.Duration
}

// pass runs the cleanups that match a query in the order of their causes, which is that of
// their ids; but machines go with their units after the cleanups that remove units.
func (c Cleaner) pass(ctx context.Context, query bson.D) (p cleanupPass, err error) {
	var docs []cleanupDoc
	if err := c.st.db.All(cleanupsC, query, &docs); err != nil {
		return p, err
	}
	slices.SortFunc(docs, func(a, b cleanupDoc) int {
		return cmp.Or(cmp.Compare(a.last(), b.last()), cmp.Compare(a.ID, b.ID))
	})
	for _, doc := range docs {
		if err := ctx.Err(); err != nil {
			p.left = len(docs)
			return p, err
		}
		done, again, err := c.st.cleanup(ctx, doc)
		if err == nil && done {
			err = c.st.dropCleanup(ctx, doc)
		}
		switch {
		case err != nil:
			logger.Errorf("cleanup failed: %s %q: %v", doc.Kind, doc.Arg, err)
			p.left++
		case again > 0:
			if p.due == 0 || again < p.due {
				p.due = again
			}
		case done:
			p.done++
		default:
			p.left++
		}
	}
	return p, nil
}

// last returns 1 for a cleanup that comes after those for which it returns 0.
func (d cleanupDoc) last() int {
	if d.Kind == cleanupEmptied {
		return 1
	}
	return 0
}

// dropCleanup removes a cleanup that is done, unless a new cleanup has its id because a
// new entity has the old one's name.
func (st *State) dropCleanup(ctx context.Context, doc cleanupDoc) error {
	return st.change(ctx, func(o *ops) error {
		var now cleanupDoc
		err := st.db.Get(cleanupsC, doc.ID, &now, "cleanup "+doc.ID)
		if entity.IsNotFound(err) || err == nil && !now.Deadline.Equal(doc.Deadline) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		deadline := bson.D{{"$exists", false}}
		if !doc.Deadline.IsZero() {
			deadline = bson.D{{"$eq", doc.Deadline}}
		}
		o.Remove(cleanupsC, doc.ID, bson.D{{"deadline", deadline}})
		return nil
	})
}

// cleanup runs one cleanup. If it is not done and has a deadline, again is the time until
// then.
func (st *State) cleanup(ctx context.Context, doc cleanupDoc) (done bool, again time.Duration, err error) {
	d := st.again(doc.Strength, doc.Deadline)
	switch doc.Kind {
	case cleanupDestroy:
		done, err = st.cleanupDestroy(ctx, doc, d)
		return done, 0, err
	case cleanupOrphans:
		err = st.cleanupOrphans(ctx, doc, d)
	case cleanupEmptied:
		err = st.cleanupEmptied(ctx, doc.Arg, d)
	case cleanupTasks:
		err = st.cleanupTasks(ctx, doc.Arg)
	case cleanupArchive:
		err = st.host.Archives.Release(ctx, doc.Arg, func() (bool, error) { return st.uses(doc.Arg) })
	case cleanupStorage:
		err = st.cleanupStorage(ctx, doc.Arg, d)
	case cleanupLease:
		done, err = st.cleanupLease(ctx, doc.Arg)
		return done, 0, err
	case cleanupSettings:
		done, err = st.deleteRelationSettings(ctx, doc.Arg)
		return done, 0, err
	case cleanupForce:
		if early := doc.Deadline.Sub(st.now()); early > 0 {
			return false, early, nil
		}
		if done, again, err = st.cleanupForce(ctx, doc.Arg); err != nil || !done {
			return false, again, err
		}
		// The document is removed with the entity. If the entity has new references,
		// its turn comes again.
		n, err := st.db.Count(cleanupsC, bson.D{{"_id", doc.ID}})
		return n == 0, 0, err
	default:
		return false, 0, fmt.Errorf("unknown cleanup kind %q", doc.Kind)
	}
	return err == nil, 0, err
}

// deleteRelationSettings deletes what units told a relation that is gone.
func (st *State) deleteRelationSettings(ctx context.Context, key string) (done bool, err error) {
	id, err := strconv.Atoi(key[len("r#"):])
	if err != nil {
		return false, err
	}
	left, err := st.db.DeleteUntouched(ctx, settingsC, bson.D{{"relation", id}})
	return left == 0, err
}
