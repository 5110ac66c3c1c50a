package watcher

import (
	"context"
	"fmt"
	"strings"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// streamOnce is tailOnce for a server that announces changes in a change stream of the database.
func streamOnce(ctx context.Context, source Source, barrier func(context.Context) error, hub *Hub) error {
	iter, err := openStream(source.DB)
	if err != nil {
		return fmt.Errorf("cannot follow the changes: %w", err)
	}
	return follow(ctx, iter, barrier, hub, func(ctx context.Context, entries *queue) error {
		entries.add(nil, true) // the stream is positioned, and misses nothing from now on
		var e event
		for iter.Next(&e) {
			entries.add(e.changes(source.Ignored), false)
			e = event{}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := iter.Err(); err != nil {
			return fmt.Errorf("cannot follow the changes: %w", err)
		}
		return fmt.Errorf("the cursor is dead")
	})
}

// openStream opens a change stream of a database.
func openStream(db *mgo.Database) (*mgo.Iter, error) {
	var reply struct {
		Cursor struct {
			ID    int64      `bson:"id"`
			NS    string     `bson:"ns"`
			First []bson.Raw `bson:"firstBatch"`
		}
	}
	err := db.Run(bson.D{{"aggregate", 1}, {"pipeline", []bson.D{
		{{"$changeStream", bson.D{}}},
		// Whole documents are not needed.
		{{"$project", bson.D{{"ns", 1}, {"documentKey", 1}, {"updateDescription", 1}}}},
	}}, {"cursor", bson.D{}}}, &reply)
	if err != nil {
		return nil, err
	}
	_, collection, _ := strings.Cut(reply.Cursor.NS, ".")
	return db.C(collection).NewIter(nil, reply.Cursor.First, reply.Cursor.ID, nil), nil
}

// An event is an entry of a change stream.
type event struct {
	NS  struct{ Coll string }
	Key struct {
		ID bson.Raw `bson:"_id"`
	} `bson:"documentKey"`
	Update struct {
		Fields  bson.D   `bson:"updatedFields"`
		Removed []string `bson:"removedFields"`
	} `bson:"updateDescription"`
}

// changes returns the change that the event reports, if it is more than one of the ignored field, and can be watched:
// all watched documents have strings for ids.
func (e *event) changes(ignored string) []Change {
	var id string
	if e.Key.ID.Kind != 2 || e.Key.ID.Unmarshal(&id) != nil {
		return nil
	}
	if f := e.Update.Fields; len(f) == 1 && f[0].Name == ignored && len(e.Update.Removed) == 0 {
		return nil
	}
	return []Change{{Collection: e.NS.Coll, ID: id}}
}
