package state

import (
	"juju/state/internal/modeldb"
	"juju/state/mongo"
)

// Sizes bound the capped collections of a database, in bytes.
type Sizes struct {
	Log     int // a database's log of transactions
	History int // a model's status history
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
			{Collection: modeldb.AttachmentsC, Fields: []string{"machine"}},
			{Collection: modeldb.AttachmentsC, Fields: []string{"unit"}},
			{Collection: modeldb.AttachmentsC, Fields: []string{"storage"}},
		},
	}
}
