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
	"juju/state/internal/modeldb"
	"juju/state/internal/resources"
	"juju/state/internal/tasks"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A Cleaner runs a model's cleanups.
type Cleaner struct{ st *State }

// Cleaner returns the model's cleaner.
func (st *State) Cleaner() Cleaner { return Cleaner{st} }

// WatchCleanups fires when there may be something to clean up.
func (c Cleaner) WatchCleanups(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.st.hub, watcher.Collection(modeldb.CleanupsC)), nil
}

// roundsOfCleanups is how many rounds of cleanups may make progress before the later ones get their turn. Any single
// destruction finishes well before that: a cleanup cascades to what refers to its entity, and references have no cycles.
const roundsOfCleanups = 100

// Cleanup runs the cleanups and removes the documents of those that are done. It logs failures, leaves those cleanups
// to the next call, and continues with the others. left is how many should be retried; due is the time until the next
// one with a deadline, 0 if there is none.
//
// The destruction of the model runs once the other cleanups have nothing left to do, and force once that has nothing
// left to do either: so earlier removals, including which machines are removed with their units, do not depend on later
// ones. After roundsOfCleanups rounds the later ones run anyway, since others may keep adding cleanups. That preserves
// the order, since the initial cleanups have finished by then.
func (c Cleaner) Cleanup(ctx context.Context) (left int, due time.Duration, err error) {
	ofModel := bson.D{{"kind", modeldb.CleanupDestroy}, {"arg", modeldb.ModelKey}}
	others := bson.D{{"kind", bson.D{{"$ne", modeldb.CleanupForce}}}, {"$nor", []bson.D{ofModel}}}
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
		if p, err = c.pass(ctx, others); err != nil { // cleanups added by the model's destruction
			return left, 0, err
		}
		left, again = m.left+p.left, p.done > 0 && round < roundsOfCleanups
	}
	p, err := c.pass(ctx, bson.D{{"kind", modeldb.CleanupForce}})
	return left + p.left, p.due, err
}

// A cleanupPass has the results of some cleanups.
type cleanupPass struct {
	done, left int
	due        time.Duration
}

// pass runs the cleanups that match a query by their turns, and within a turn in the order of their ids, which is that
// of their causes for all but emptied machines.
func (c Cleaner) pass(ctx context.Context, query bson.D) (p cleanupPass, err error) {
	var docs []modeldb.Cleanup
	if err := c.st.db.All(ctx, modeldb.CleanupsC, query, &docs); err != nil {
		return p, err
	}
	slices.SortFunc(docs, func(a, b modeldb.Cleanup) int {
		return cmp.Or(cmp.Compare(a.Turn(), b.Turn()), cmp.Compare(a.ID, b.ID))
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

// dropCleanup removes a cleanup that is done, unless the id now belongs to a new cleanup, of a new entity with the same
// name.
func (st *State) dropCleanup(ctx context.Context, doc modeldb.Cleanup) error {
	return st.change(ctx, func(o *ops) error {
		var now modeldb.Cleanup
		err := st.db.Get(ctx, modeldb.CleanupsC, doc.ID, &now, "cleanup "+doc.ID)
		if entity.IsNotFound(err) || err == nil && !now.Deadline.Equal(doc.Deadline) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		deadline := bson.D{{"$exists", false}}
		if !doc.Deadline.IsZero() {
			deadline = bson.D{{"$eq", doc.Deadline}}
		}
		o.Remove(modeldb.CleanupsC, doc.ID, bson.D{{"deadline", deadline}})
		return nil
	})
}

// cleanup runs one cleanup. If it is not done and has a deadline, again is the time until then.
func (st *State) cleanup(ctx context.Context, doc modeldb.Cleanup) (done bool, again time.Duration, err error) {
	d := st.again(doc.Strength, doc.Deadline)
	switch doc.Kind {
	case modeldb.CleanupDestroy:
		done, err = st.cleanupDestroy(ctx, doc, d)
		return done, 0, err
	case modeldb.CleanupOrphans:
		err = st.cleanupOrphans(ctx, doc, d)
	case modeldb.CleanupEmptied:
		err = st.cleanupEmptied(ctx, doc.Arg, d)
	case modeldb.CleanupTasks:
		err = tasks.CancelLeft(ctx, st.db, doc.Arg)
	case modeldb.CleanupArchive:
		err = st.host.Archives.Release(ctx, doc.Arg, func() (bool, error) { return resources.Uses(ctx, st.db, doc.Arg) })
	case modeldb.CleanupUpgrade:
		err = st.cleanupUpgrade(ctx, doc.Arg)
	case modeldb.CleanupAddresses:
		err = st.republish(ctx, doc.Arg)
	case modeldb.CleanupEgress:
		err = st.republishEgress(ctx, doc.Arg)
	case modeldb.CleanupPeers:
		err = st.addPeers(ctx, doc.Arg)
	case modeldb.CleanupStorage:
		err = st.cleanupStorage(ctx, doc.Arg, d)
	case modeldb.CleanupLease:
		done, err = st.leadership().EndLease(ctx, doc.Arg)
		return done, 0, err
	case modeldb.CleanupParty:
		done, err = st.secrets().DropParty(ctx, doc.Arg)
		return done, 0, err
	case modeldb.CleanupGrants:
		done, err = st.secrets().DropGrants(ctx, doc.Arg)
		return done, 0, err
	case modeldb.CleanupSecret:
		err = st.secrets().DropSecret(ctx, doc.Arg)
	case modeldb.CleanupTell:
		err = st.secrets().Tell(ctx, doc.Arg)
	case modeldb.CleanupSettings:
		done, err = st.deleteRelationSettings(ctx, doc.Arg)
		return done, 0, err
	case modeldb.CleanupForce:
		if early := doc.Deadline.Sub(st.db.Now()); early > 0 {
			return false, early, nil
		}
		if done, again, err = st.cleanupForce(ctx, doc.Arg); err != nil || !done {
			return false, again, err
		}
		// The document is removed with the entity. If the entity has new references, the cleanup runs again.
		n, err := st.db.Count(ctx, modeldb.CleanupsC, bson.D{{"_id", doc.ID}})
		return n == 0, 0, err
	default:
		return false, 0, fmt.Errorf("unknown cleanup kind %q", doc.Kind)
	}
	return err == nil, 0, err
}

// deleteRelationSettings deletes the units' settings in a removed relation.
func (st *State) deleteRelationSettings(ctx context.Context, key string) (done bool, err error) {
	id, err := strconv.Atoi(key[len("r#"):])
	if err != nil {
		return false, err
	}
	left, err := st.db.DeleteUntouched(ctx, modeldb.SettingsC, bson.D{{"relation", id}})
	return left == 0, err
}
