package modelstatus

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// Backlog counts what in the model waits, or has failed. Each count is of its own moment.
func Backlog(ctx context.Context, db *modeltxn.DB) (b entity.Backlog, err error) {
	// failed selects the statuses of errors whose keys begin with a letter and #.
	failed := func(kind string) bson.D {
		return bson.D{{"_id", bson.D{{"$gt", kind + "#"}, {"$lt", kind + "$"}}}, {"status", entity.StatusError}}
	}
	for _, c := range []struct {
		into       *int
		collection string
		query      bson.D
	}{
		{&b.Cleanups, modeldb.CleanupsC, nil},
		{&b.Pending, modeldb.MachinesC, bson.D{{"instance", bson.D{{"$exists", false}}}, {"life", entity.Alive}}},
		{&b.FailedMachines, modeldb.StatusesC, failed("m")},
		{&b.FailedUnits, modeldb.StatusesC, failed("u")},
		{&b.Tasks, modeldb.TasksC, bson.D{{"status", entity.TaskPending}}},
		{&b.Agents, modeldb.CredentialsC, nil},
	} {
		if *c.into, err = db.Count(ctx, c.collection, c.query); err != nil {
			return b, err
		}
	}
	return b, nil
}
