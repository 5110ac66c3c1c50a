package controller

import (
	"context"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/watcher"
)

// A Presence is what a node knows about the connections of a model's agents. It is written outside transactions: what is
// lost with the node's process is not true any more.
type Presence struct {
	ID      string                 `bson:"_id"`
	Node    string                 `bson:"node"`
	Model   string                 `bson:"model"`
	Version int64                  `bson:"version"` // differs between changes
	Agents  []entity.AgentPresence `bson:"agents"`
}

func presenceID(node, model string) string { return node + "#" + model }

// SetPresence records what a node knows about a model's agents.
func (c *Controller) SetPresence(ctx context.Context, node, model string, agents []entity.AgentPresence) error {
	doc := Presence{presenceID(node, model), node, model, c.now().UnixNano(), agents}
	return c.db.Upsert(ctx, presenceC, doc.ID, doc)
}

// DropPresence removes what a node knows, as its process has ended.
func (c *Controller) DropPresence(ctx context.Context, node string) error {
	return c.dropPresence(ctx, bson.D{{"node", node}})
}

func (c *Controller) dropPresence(ctx context.Context, query bson.D) error {
	return c.db.Reading(ctx, presenceC, func(col *mgo.Collection) error {
		_, err := col.RemoveAll(query)
		return err
	})
}

// Presences returns what the nodes know about models' agents: the documents with these ids that exist.
func (c *Controller) Presences(ctx context.Context, ids []string) (all []Presence, err error) {
	err = c.db.All(ctx, presenceC, bson.D{{"_id", bson.D{{"$in", ids}}}}, &all)
	return all, err
}

// WatchPresences sends the ids of Presences that have changed or disappeared.
func (c *Controller) WatchPresences(ctx context.Context) (<-chan []string, error) {
	return watcher.Strings(ctx, c.hub, watcher.Listing[int64]{
		Topics: []watcher.Topic{watcher.Collection(presenceC)},
		List: func(ids []string) (map[string]int64, error) {
			var query bson.D
			if ids != nil {
				query = bson.D{{"_id", bson.D{{"$in", ids}}}}
			}
			var found []struct {
				ID      string `bson:"_id"`
				Version int64  `bson:"version"`
			}
			if err := c.db.All(ctx, presenceC, query, &found); err != nil {
				return nil, err
			}
			all := map[string]int64{}
			for _, doc := range found {
				all[doc.ID] = doc.Version
			}
			return all, nil
		},
	})
}
