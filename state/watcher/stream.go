package watcher

import (
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo/cursor"
)

// openStream opens the change stream of a database. traced has its events say of which transaction they are.
func openStream(db *mgo.Database, traced bool) *cursor.Cursor {
	// Whole documents are not needed.
	fields := bson.D{{"ns", 1}, {"documentKey", 1}, {"updateDescription", 1}, {"clusterTime", 1}, {"wallTime", 1}}
	if traced {
		fields = append(fields, bson.DocElem{"lsid", 1}, bson.DocElem{"txnNumber", 1})
	}
	return cursor.Run(db, bson.D{{"aggregate", 1}, {"pipeline", []bson.D{
		{{"$changeStream", bson.D{}}},
		{{"$project", fields}},
	}}, {"cursor", bson.D{}}}, awaitFor)
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
	Cluster bson.MongoTimestamp `bson:"clusterTime"` // in its upper half, seconds
	Wall    time.Time           `bson:"wallTime"`    // zero before MongoDB 6.0
	// Session and Number identify its transaction, if the stream was opened so and it has one.
	Session struct{ ID bson.Binary } `bson:"lsid"`
	Number  int64                    `bson:"txnNumber"`
}

// at returns when the change was made, by the server's clock.
func (e *event) at() time.Time {
	if e.Wall.IsZero() {
		return time.Unix(int64(e.Cluster>>32), 0)
	}
	return e.Wall
}

// ofCollection reports whether the event is that of a whole collection, as when it is dropped, or replaced by an aggregation.
func (e *event) ofCollection() bool { return e.Key.ID.Kind == 0 }

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
