package state

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A cleanup is something still to do that its cause could not do itself, because
// it has no bound or because it is an agent's duty and the agent may be away.
// Each can be done again at any time, and its document goes when it is done.
type cleanupDoc struct {
	ID   string `bson:"_id"`
	Kind string `bson:"kind"`
	Arg  string `bson:"arg"`
	// Of a destruction: what reaches downward.
	Strength entity.Strength `bson:"strength,omitempty"`
	Deadline time.Time       `bson:"deadline,omitempty"`
}

// The kinds of cleanups.
const (
	cleanupDestroy  = "destroy"  // what refers to a key that is on its way out
	cleanupOrphans  = "orphans"  // subordinates of a Dying container relation: destroy them
	cleanupForce    = "force"    // remove what was destroyed with force; its key
	cleanupEmptied  = "emptied"  // a machine that a unit has left which takes it along: destroy it if nothing is on it
	cleanupLease    = "lease"    // of a removed service: delete it, outside transactions
	cleanupSettings = "settings" // of a removed relation: delete them, outside transactions
)

// cleanup adds one of which there is never more than one for an arg.
func (o *ops) cleanup(kind, arg string) {
	o.insert(cleanupsC, kind+"-"+arg, cleanupDoc{ID: kind + "-" + arg, Kind: kind, Arg: arg})
}

// Cleaner is what a model's cleaner does.
type Cleaner struct{ st *State }

// Cleaner returns what the cleaner does.
func (st *State) Cleaner() Cleaner { return Cleaner{st} }

// WatchCleanups fires when there may be something to clean up.
func (c Cleaner) WatchCleanups(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.st.hub, watcher.Collection(cleanupsC)), nil
}

// Cleanup does what cleanup documents ask for and removes those that are done.
// One that fails is logged and left for the next pass, and the others go on. It
// returns how many are left that should be tried again, and in how long the next
// falls due of those that have a time; 0 when none has.
func (c Cleaner) Cleanup(ctx context.Context) (left int, due time.Duration, err error) {
	var docs []cleanupDoc
	if err := c.st.db.All(cleanupsC, nil, &docs); err != nil {
		return 0, 0, err
	}
	for _, doc := range docs {
		if err := ctx.Err(); err != nil {
			return len(docs), 0, err
		}
		done, again, err := c.st.cleanup(ctx, doc)
		if err == nil && done {
			err = c.st.dropCleanup(ctx, doc)
		}
		switch {
		case err != nil:
			logger.Errorf("cleanup failed: %s %q: %v", doc.Kind, doc.Arg, err)
			left++
		case again > 0:
			if due == 0 || again < due {
				due = again
			}
		case !done:
			left++
		}
	}
	return left, due, nil
}

// dropCleanup removes a cleanup that is done, and not another that is of the same
// id because something else has taken the name of what is gone.
func (st *State) dropCleanup(ctx context.Context, doc cleanupDoc) error {
	return st.change(ctx, func(o *ops) error {
		var now cleanupDoc
		err := st.db.Get(cleanupsC, doc.ID, &now, "cleanup "+doc.ID)
		if isNotFound(err) || err == nil && !now.Deadline.Equal(doc.Deadline) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		deadline := bson.D{{"$exists", false}}
		if !doc.Deadline.IsZero() {
			deadline = bson.D{{"$eq", doc.Deadline}}
		}
		o.remove(cleanupsC, doc.ID, bson.D{{"deadline", deadline}})
		return nil
	})
}

// cleanup does one; when it is not done, again is when it falls due, if it has a
// time.
func (st *State) cleanup(ctx context.Context, doc cleanupDoc) (done bool, again time.Duration, err error) {
	d := st.again(doc.Strength, doc.Deadline)
	switch doc.Kind {
	case cleanupDestroy:
		done, err = st.cleanupDestroy(ctx, doc.Arg, d)
		return done, 0, err
	case cleanupOrphans:
		err = st.cleanupOrphans(ctx, doc, d)
	case cleanupEmptied:
		err = st.cleanupEmptied(ctx, doc.Arg, d)
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
		// It goes with the entity. One that something new has come to refer to meanwhile
		// is looked at again.
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
