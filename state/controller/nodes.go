package controller

import (
	"context"
	"reflect"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A Node is one of the controllers that share a store.
type Node struct {
	ID        string   `bson:"_id"`       // its machine in the controller's model
	Addresses []string `bson:"addresses"` // of its API, "host:port", best first
	Version   string   `bson:"version"`
	Commit    string   `bson:"commit"`
	SHA256    string   `bson:"sha256,omitempty"` // of the archive of its binaries; "" if there is none
	Forms     Forms    `bson:"forms,omitempty"`  // that its binaries need
}

// SetNode records this controller and where it is reached.
func (c *Controller) SetNode(ctx context.Context, n Node) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		var was Node
		err := c.db.Get(ctx, nodesC, n.ID, &was, "node "+n.ID)
		switch {
		case entity.IsNotFound(err):
			o.Insert(nodesC, n.ID, n)
			return nil
		case err != nil:
			return err
		case reflect.DeepEqual(was, n):
			return mongo.ErrNothing
		}
		o.Update(nodesC, n.ID, bson.D{{"_id", n.ID}}, bson.D{{"$set", bson.D{{"addresses", n.Addresses},
			{"version", n.Version}, {"commit", n.Commit}, {"sha256", n.SHA256}, {"forms", n.Forms}}}})
		return nil
	})
}

// Nodes returns the controllers, by id.
func (c *Controller) Nodes(ctx context.Context) ([]Node, error) {
	var nodes []Node
	if err := c.db.All(ctx, nodesC, nil, &nodes); err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b Node) int { return entity.CompareNatural(a.ID, b.ID) })
	return nodes, nil
}

// WatchNodes sends an event when the result of Nodes may have changed.
func (c *Controller) WatchNodes(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(nodesC)), nil
}

// RemoveNode removes what the store has about a controller whose machine is removed.
func (c *Controller) RemoveNode(ctx context.Context, id string) error {
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		var n Node
		if err := c.db.Get(ctx, nodesC, id, &n, "node "+id); entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.Remove(nodesC, id, nil)
		return nil
	})
	if err == nil {
		err = c.DropPresence(ctx, id)
	}
	if err == nil {
		err = c.db.Reading(ctx, beatsC, func(col *mgo.Collection) error {
			_, err := col.RemoveAll(bson.D{{"_id", id}})
			return err
		})
	}
	return err
}

// A Beat shows that a node was up.
type Beat struct {
	ID    string    `bson:"_id"`
	Count int64     `bson:"count"`
	At    time.Time `bson:"at"` // by the node's clock, for people
	// Failures are the node's workers that keep failing.
	Failures []NodeFailure `bson:"failures"`
	// Waits means that the node serves nothing until others have been upgraded.
	Waits bool `bson:"waits,omitempty"`
}

// A NodeFailure is a worker of a node that keeps failing.
type NodeFailure struct {
	Model                string // the UUID of the model that it is for, "" for all
	entity.WorkerFailure `bson:",inline"`
}

// Beat records that a node is up, and how; the Count and the time of the beat are set here. It returns the last beats of
// all nodes.
func (c *Controller) Beat(ctx context.Context, b Beat) (all []Beat, err error) {
	err = c.db.Upsert(ctx, beatsC, b.ID, bson.D{{"$inc", bson.D{{"count", int64(1)}}},
		{"$set", bson.D{{"at", c.now()}, {"failures", b.Failures}, {"waits", b.Waits}}}})
	if err == nil {
		err = c.store.Barrier(ctx)
	}
	if err == nil {
		err = c.db.All(ctx, beatsC, nil, &all)
	}
	return all, err
}
