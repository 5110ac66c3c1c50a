package modeldb

import (
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/limits"
)

type Service struct {
	Living      `bson:",inline"`
	Name        string `bson:"_id"`
	Series      string `bson:"series"`
	CharmURL    string `bson:"charm"`
	ForceCharm  bool   `bson:"forcecharm,omitempty"`
	Subordinate bool   `bson:"subordinate"`
	Exposed     bool   `bson:"exposed"`
	MinUnits    int    `bson:"minunits,omitempty"` // the minimum number of Alive units; 0 for none
	// Stores is the storage that a new unit gets, by the names of the charm's stores.
	Stores map[string]entity.StorageConstraints `bson:"stores,omitempty"`
	// Resources is the version of the service's resources; 0 before the first.
	Resources int64  `bson:"resources,omitempty"`
	Maker     string `bson:"maker,omitempty"` // identifies the AddService call that created it
}

// KeepsMinUnits asserts that the service's minimum is unchanged since it was read.
func (d Service) KeepsMinUnits() bson.DocElem {
	if d.MinUnits == 0 {
		return bson.DocElem{Name: "minunits", Value: bson.D{{"$exists", false}}}
	}
	return bson.DocElem{Name: "minunits", Value: d.MinUnits}
}

// TakesMachines is the count that a service has while its machines are destroyed with its units. It is a
// count because the removal of a unit reads the counts anyway.
const TakesMachines = "machines"

// A MinUnits exists while a service has a minimum number of units, which is in the service's document. Each
// destruction of an Alive unit changes it, to make the worker that watches it add units if there are too few.
type MinUnits struct {
	Service string `bson:"_id"`
	// Token distinguishes this document from earlier ones of the service.
	Token   string `bson:"token"`
	Changes int64  `bson:"changes"`
}

// A Leader records which unit leads a service. It is inserted before the service's first
// lease, and removed with the service. The service's count "leaders" is 1 while it
// exists, because a removal reads the counts anyway.
type Leader struct {
	Service string `bson:"_id"`
	Holder  string `bson:"holder"` // a unit, or "" while none leads
	Epoch   int64  `bson:"epoch"`
	// Token distinguishes this document from those of earlier services with the same name.
	Token string `bson:"token"`
}

// A Charm holds the files of a charm that state reads. The archive is in the controller's database, stored
// once for all models that have it: see blobDoc.
type Charm struct {
	URL      string            `bson:"_id"`
	Base     string            `bson:"base"` // the URL without the revision
	Revision int               `bson:"revision"`
	SHA256   string            `bson:"sha256"`
	Size     int64             `bson:"size"`
	Files    map[string]string `bson:"files"` // content by name, see charmFiles in state; keys escaped
	Warnings []string          `bson:"warnings,omitempty"`
}

// A Settings is a map written by users or charms. Version grows only if a value changes, so writing the same values
// does not trigger watches.
type Settings struct {
	ID       string `bson:"_id"`
	Relation *int   `bson:"relation,omitempty"` // the relation's number, for deleting all of its settings
	// Container is the principal that identifies the scope of a container relation to which the settings
	// belong.
	Container string         `bson:"container,omitempty"`
	Settings  map[string]any `bson:"settings"`
	Version   int64          `bson:"version"`
	Absent    bool           `bson:"-"` // it will be inserted
}

// Texts returns settings whose values are all texts.
func (d Settings) Texts() map[string]string {
	texts := make(map[string]string, len(d.Settings))
	for k, v := range d.Settings {
		texts[k], _ = v.(string)
	}
	return texts
}

// Limit returns the size limit of the settings, well below the store's own limit. A transaction that the
// store refuses to apply would never complete, and would block all others on its documents.
func (d Settings) Limit() limits.Limit {
	switch kind, _ := lifecycle.ParseKey(d.ID); kind {
	case lifecycle.Relation:
		return limits.RelationSettings
	case lifecycle.Principal: // also of subordinates
		return limits.CharmState
	}
	return limits.ServiceSettings
}

// A Resources contains the files of a service's resources, or those that a unit fetched last.
type Resources struct {
	ID      string                         `bson:"_id"`     // the owner's key
	Files   map[string]entity.ResourceFile `bson:"files"`   // by the resource's name, escaped
	Version int64                          `bson:"version"` // counts the changes
}

// File returns the file of a resource; nil if it has none. The document may be nil.
func (d *Resources) File(name string) *entity.ResourceFile {
	if d == nil {
		return nil
	}
	f, ok := d.Files[EscapeKey(name)]
	if !ok {
		return nil
	}
	return &f
}

// An Upload is the file of a resource that no service uses yet, because the service is about to be added or upgraded.
// It is written before the file, so that nothing removes the file in the meantime.
type Upload struct {
	ID       string    `bson:"_id"`
	Service  string    `bson:"service"`
	Resource string    `bson:"resource"`
	Began    time.Time `bson:"began"`
	Stored   bool      `bson:"stored"` // the file is in the store

	entity.ResourceFile `bson:",inline"` // zero before it is uploaded
}
