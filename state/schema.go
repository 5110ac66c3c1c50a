package state

import (
	"cmp"
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/schema"
)

// Sizes limit the capped collections of a database, in bytes.
type Sizes struct {
	Log     int // a database's log of transactions
	History int // a model's status history
	Audit   int // the controller's audit log; the controller's default if zero
}

// DefaultSizes are the sizes in production.
var DefaultSizes = Sizes{Log: 10 << 20, History: 20 << 20}

// Schema returns the collections and indexes of a model's database.
func Schema(sizes Sizes) mongo.Schema {
	return mongo.Schema{
		LogSize: sizes.Log,
		Capped:  map[string]int{modeldb.HistoryC: sizes.History},
		Indexes: []mongo.Index{
			{Collection: modeldb.UnitsC, Fields: []string{"service"}},
			{Collection: modeldb.UnitsC, Fields: []string{"machine"}},
			{Collection: modeldb.UnitsC, Fields: []string{"principal"}},
			{Collection: modeldb.RelationsC, Fields: []string{"id"}, Unique: true},
			{Collection: modeldb.EndpointsC, Fields: []string{"service"}},
			{Collection: modeldb.ScopesC, Fields: []string{"relation"}},
			{Collection: modeldb.ScopesC, Fields: []string{"unit"}},
			{Collection: modeldb.DeploymentsC, Fields: []string{"parent"}},
			{Collection: modeldb.SettingsC, Fields: []string{"relation"}},
			{Collection: modeldb.TasksC, Fields: []string{"number"}, Unique: true},
			{Collection: modeldb.TasksC, Fields: []string{"operation"}},
			{Collection: modeldb.TasksC, Fields: []string{"unit"}},
			{Collection: modeldb.MachinesC, Fields: []string{"clean"}},
			{Collection: modeldb.MachinesC, Fields: []string{"host"}},
			{Collection: modeldb.StorageC, Fields: []string{"machine"}},
			{Collection: modeldb.OffersC, Fields: []string{"service"}},
			{Collection: modeldb.RelationsC, Fields: []string{"offer"}},
			{Collection: modeldb.AttachmentsC, Fields: []string{"machine"}},
			{Collection: modeldb.AttachmentsC, Fields: []string{"unit"}},
			{Collection: modeldb.AttachmentsC, Fields: []string{"storage"}},
			{Collection: modeldb.SecretsC, Fields: []string{"owner"}},
			{Collection: modeldb.SecretsC, Fields: []string{"unit"}},
			{Collection: modeldb.SecretsC, Fields: []string{"secret"}},
			{Collection: modeldb.SecretsC, Fields: []string{"token"}},
			{Collection: modeldb.SecretsC, Fields: []string{"scope"}},
			{Collection: modeldb.SecretsC, Fields: []string{"label"}},
			{Collection: modeldb.SecretsC, Fields: []string{"next"}},
			{Collection: modeldb.SecretsC, Fields: []string{"model"}},
			{Collection: modeldb.SecretsC, Fields: []string{"kind"}}, // last, as the others select fewer
		},
	}
}

// Steps are the upgrade steps of models' databases: see schema.Form.
var Steps = []schema.Step{
	{About: "one kind of cleanup destroys what refers to an entity", Run: mergeCleanups},
	{About: "residues are leftovers", Run: schema.Rename("residues", "leftovers")},
	{About: "units and machines count their storage", Run: countStorage},
	{About: "services count their offers", Run: countOffers},
}

// oldCleanups maps the kinds of cleanups of version 1 to the prefixes of the keys that
// "destroy" has.
var oldCleanups = map[string]string{"model": "", "units": "s#", "relations": "s#", "subordinates": "u#", "guests": "m#"}

// mergeCleanups is the models' step to version 2. Version 1 had a kind of cleanup for each kind of entity that destroys
// others, with the entity's id.
func mergeCleanups(ctx context.Context, _ *mongo.Store, db *mongo.Database) error {
	type cleanup struct {
		ID   string `bson:"_id"`
		Kind string `bson:"kind"`
		Arg  string `bson:"arg"`
	}
	var docs []cleanup
	if err := db.All(ctx, "cleanups", nil, &docs); err != nil {
		return err
	}
	for _, doc := range docs {
		prefix, old := oldCleanups[doc.Kind]
		if !old {
			continue
		}
		err := db.Change(ctx, func(o *mongo.Ops) error {
			var now cleanup
			if err := db.Get(ctx, "cleanups", doc.ID, &now, "cleanup"); entity.IsNotFound(err) ||
				err == nil && now.Kind != doc.Kind {
				return mongo.ErrNothing // another controller has done it
			} else if err != nil {
				return err
			}
			o.Update("cleanups", doc.ID, bson.D{{"kind", doc.Kind}},
				bson.D{{"$set", bson.D{{"kind", "destroy"}, {"arg", prefix + doc.Arg}}}})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countStorage is the models' step to version 4. Earlier versions, which had no storage, lack the counts of units'
// attachments and machines' storage.
func countStorage(ctx context.Context, _ *mongo.Store, db *mongo.Database) error {
	return addCounts(ctx, db, map[string]string{"u#": "attachments", "m#": "storage"})
}

// countOffers is the models' step to version 5. Earlier versions, which had no offers, lack services' counts of them.
func countOffers(ctx context.Context, _ *mongo.Store, db *mongo.Database) error {
	return addCounts(ctx, db, map[string]string{"s#": "offers"})
}

// addCounts adds a count, of nothing, to the entities whose keys begin with a prefix.
func addCounts(ctx context.Context, db *mongo.Database, counts map[string]string) error {
	for prefix, count := range counts {
		var docs []struct {
			ID string `bson:"_id"`
		}
		query := bson.D{{"_id", bson.D{{"$gte", prefix}, {"$lt", prefix[:1] + "$"}}}, {count, bson.D{{"$exists", false}}}}
		if err := db.All(ctx, "counts", query, &docs); err != nil {
			return err
		}
		for _, doc := range docs {
			err := db.Change(ctx, func(o *mongo.Ops) error {
				n, err := db.Count(ctx, "counts", bson.D{{"_id", doc.ID}, {count, bson.D{{"$exists", false}}}})
				if err != nil || n == 0 {
					return cmp.Or(err, mongo.ErrNothing) // another controller has done it
				}
				o.Update("counts", doc.ID, bson.D{{count, bson.D{{"$exists", false}}}}, bson.D{{"$set", bson.D{{count, 0}}}})
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
