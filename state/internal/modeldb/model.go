package modeldb

import (
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// Model is the only document of the collection "model".
type Model struct {
	Living `bson:",inline"`
	ID     string `bson:"_id"`
	Name   string `bson:"name"`
	UUID   string `bson:"uuid"`
	Series string `bson:"series"` // the controller's default series; see defaultSeries
	Cloud  string `bson:"cloud"`
	// Constraints apply to machines unless a service's or machine's own replace them.
	Constraints string `bson:"constraints,omitempty"`
	// Config has the settings that are set for this model, in their stored form.
	Config map[string]string `bson:"config,omitempty"`
	// Released means that a user wants to keep the filesystems that are not destroyed yet.
	Released bool `bson:"released,omitempty"`
	// Binaries are the agent binaries that the model's agents should run; nil means the controller's.
	Binaries *Binaries `bson:"programs,omitempty"`
	// Imports grows with each import of a filesystem, Uploads with each addition of pending resources, and Controllers
	// with each change of the machines that run controllers by EnableHA, so that each operation can assert that no other
	// ran since it read the model.
	Imports     int `bson:"imports,omitempty"`
	Uploads     int `bson:"uploads,omitempty"`
	Controllers int `bson:"controllers,omitempty"`
}

// AsRead asserts that the model is Alive and its constraints are those read.
func (d Model) AsRead() bson.D {
	if d.Constraints == "" {
		return bson.D{{"life", entity.Alive}, {"constraints", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"life", entity.Alive}, {"constraints", d.Constraints}}
}

// Settings returns all settings of the model.
func (d Model) Settings() modelconfig.Config { return modelconfig.New(d.Config, d.Series) }

// DefaultSeries returns the default series of machines.
func (d Model) DefaultSeries() string { return d.Settings()[modelconfig.DefaultSeries].Value }

// SeriesFor returns the series for a charm that supports the given ones: the model's default if the charm
// supports it or names none, else the charm's first.
func (d Model) SeriesFor(charm []string) string {
	series := d.DefaultSeries()
	if len(charm) > 0 && !slices.Contains(charm, series) {
		return charm[0]
	}
	return series
}

// A Binaries is an entity.Binaries without the commit, which the agents report.
type Binaries struct {
	Version string `bson:"version"`
	SHA256  string `bson:"sha256"`
}

func (d Model) AgentBinaries() entity.Binaries {
	if d.Binaries == nil {
		return entity.Binaries{}
	}
	return entity.Binaries{Version: d.Binaries.Version, SHA256: d.Binaries.SHA256}
}

// A Block is an enabled block. Its id is its type, so a model has at most one of each.
type Block struct {
	Type    entity.BlockType `bson:"_id"`
	Message string           `bson:"message"`
}

type Constraints struct {
	Key   string `bson:"_id"`
	Value string `bson:"value"` // in the users' notation
}

// An Annotations contains the annotations of an entity by users and their tools; Juju does not use them. The
// document is inserted with the first annotation and removed with the entity. From then on the entity's count
// "annotations" is 1, because a removal reads the counts anyway.
type Annotations struct {
	Key         string            `bson:"_id"`
	Annotations map[string]string `bson:"annotations"`
	Version     int64             `bson:"version"`
}

// A Credential is the password hash of a machine's or unit's agent. It is inserted with the agent's first
// password and removed with the entity. No password matches an empty hash.
type Credential struct {
	ID   string `bson:"_id"` // a tag
	Hash string `bson:"hash"`
}

// ControllerModel is the name of the model that holds the controller's machines.
const ControllerModel = "controller"
