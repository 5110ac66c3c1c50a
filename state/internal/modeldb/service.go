package modeldb

import (
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/limits"
)

type Service struct {
	Living   `bson:",inline"`
	Name     string `bson:"_id"`
	Series   string `bson:"series"`
	CharmURL string `bson:"charm"`
	// Origin is where the charm came from, nil if a user has uploaded it. Newer is the URL of the newest revision that its store
	// is known to have there; "" if that is the service's.
	Origin      *entity.CharmOrigin `bson:"origin,omitempty"`
	Newer       string              `bson:"newer,omitempty"`
	ForceCharm  bool                `bson:"forcecharm,omitempty"`
	Subordinate bool                `bson:"subordinate"`
	// Exposed is set if all endpoints are exposed to everyone, and Exposures is set if some are, or to some networks. They
	// exclude each other, so that an older controller which does not know Exposures opens too little rather than too much.
	Exposed   bool      `bson:"exposed"`
	Exposures []Exposed `bson:"exposures,omitempty"`
	MinUnits  int       `bson:"minunits,omitempty"` // the minimum number of Alive units; 0 for none
	// Stores is the storage that a new unit gets, by the names of the charm's stores.
	Stores map[string]entity.StorageConstraints `bson:"stores,omitempty"`
	// Resources is the version of the service's resources; 0 before the first.
	Resources int64  `bson:"resources,omitempty"`
	Maker     string `bson:"maker,omitempty"` // identifies the AddService call that created it
	// Bindings are the endpoints that are not bound like the default, with the default, unless it is alpha, at ""; sorted.
	Bindings []Binding `bson:"bindings,omitempty"`
	// Rollout is set while the units of an Alive service are upgraded to its charm in batches.
	Rollout *Rollout `bson:"rollout,omitempty"`
}

// Channel returns the channel from which a charm of a store gets its next revisions; "" for others.
func (d Service) Channel() string {
	if d.Origin == nil {
		return ""
	}
	return d.Origin.Channel
}

// An Exposed is who can reach the ports of an endpoint.
type Exposed struct {
	Endpoint         string `bson:"endpoint"` // or entity.AllEndpoints
	entity.ExposedTo `bson:",inline"`
}

// ExposedEndpoints returns who can reach the endpoints' ports, in normal form; nil if the service is not exposed.
func (d Service) ExposedEndpoints() entity.ExposedEndpoints {
	if d.Exposed {
		return entity.Everywhere()
	}
	var all entity.ExposedEndpoints
	for _, x := range d.Exposures {
		if all == nil {
			all = entity.ExposedEndpoints{}
		}
		all[x.Endpoint] = x.ExposedTo
	}
	return all
}

// KeepsExposed asserts that the service's charm and what is exposed of it are unchanged since it was read.
func (d Service) KeepsExposed() bson.D {
	keeps := bson.D{{"charm", d.CharmURL}, {"exposed", d.Exposed}}
	if len(d.Exposures) == 0 {
		return append(keeps, bson.DocElem{Name: "exposures", Value: bson.D{{"$exists", false}}})
	}
	return append(keeps, bson.DocElem{Name: "exposures", Value: d.Exposures})
}

// SetExposed returns the update that sets what ExposedEndpoints returns.
func SetExposed(all entity.ExposedEndpoints) bson.D {
	if len(all) == 0 || all.IsEverywhere() {
		return bson.D{{"$set", bson.D{{"exposed", len(all) > 0}}}, {"$unset", bson.D{{"exposures", true}}}}
	}
	list := []Exposed{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Exposed{name, all[name]})
	}
	return bson.D{{"$set", bson.D{{"exposed", false}, {"exposures", list}}}}
}

// A Binding binds an endpoint to a space.
type Binding struct {
	Endpoint string `bson:"endpoint"`
	Space    string `bson:"space"` // the id
}

// SpaceFor returns the id of the space to which an endpoint is bound.
func (d Service) SpaceFor(endpoint string) string {
	space := entity.AlphaSpaceID
	for _, b := range d.Bindings { // the default is first
		if b.Endpoint == "" || b.Endpoint == endpoint {
			space = b.Space
		}
	}
	return space
}

// KeepsBindings asserts that the service's bindings are unchanged since it was read.
func (d Service) KeepsBindings() bson.DocElem {
	if len(d.Bindings) == 0 {
		return bson.DocElem{Name: "bindings", Value: bson.D{{"$exists", false}}}
	}
	return bson.DocElem{Name: "bindings", Value: d.Bindings}
}

// A Rollout upgrades the units of a service in batches. Package rollout describes it.
type Rollout struct {
	ID      string              `bson:"id"`                // distinguishes it from earlier ones
	Former  string              `bson:"former"`            // the charm to which it can be reverted
	Origin  *entity.CharmOrigin `bson:"origin,omitempty"`  // Former's
	Reverts bool                `bson:"reverts,omitempty"` // it reverts another one, whose charm is Former
	Batch   int                 `bson:"batch"`             // the maximum number of units at a time
	Timeout time.Duration       `bson:"timeout"`           // within which the units of a batch must be healthy
	Since   time.Time           `bson:"since"`             // when it last started, stopped or was resumed
	Stopped string              `bson:"stopped,omitempty"` // why it has stopped

	Settings []Setting `bson:"settings,omitempty"` // that were changed with it
}

// A Setting is a setting of a service that was changed with a rollout, as in Settings; nil if it is not set.
type Setting struct {
	Name string `bson:"name"`
	Was  any    `bson:"was"`
	Set  any    `bson:"set"`
}

// Public returns what users see of a rollout; nil if there is none.
func (r *Rollout) Public() *entity.Rollout {
	if r == nil {
		return nil
	}
	return &entity.Rollout{Former: r.Former, Reverts: r.Reverts, Batch: r.Batch, Timeout: r.Timeout, Since: r.Since, Stopped: r.Stopped}
}

// CharmOf returns the charm that a unit of the service should run: during a rollout the one that it runs, until it is
// its turn. A unit that has none yet gets the service's.
func (d Service) CharmOf(u Unit) string {
	if d.Rollout == nil || u.CharmURL == "" || u.InTurn(d.Rollout) {
		return d.CharmURL
	}
	return u.CharmURL
}

// KeepsCharm asserts that the service has the same charm, and the same rollout, as when it was read.
func (d Service) KeepsCharm() bson.D {
	keeps, none := bson.D{{"charm", d.CharmURL}}, bson.D{{"$exists", false}}
	switch {
	case d.Rollout == nil:
		return append(keeps, bson.DocElem{Name: "rollout", Value: none})
	case d.Rollout.Stopped == "":
		return append(keeps, bson.DocElem{Name: "rollout.id", Value: d.Rollout.ID}, bson.DocElem{Name: "rollout.stopped", Value: none})
	}
	return append(keeps, bson.DocElem{Name: "rollout.id", Value: d.Rollout.ID},
		bson.DocElem{Name: "rollout.stopped", Value: d.Rollout.Stopped})
}

// KeepsPace asserts that the service's rollout has the same pace, and since the same time, as when it was read.
func (d Service) KeepsPace() bson.D {
	return bson.D{{"rollout.batch", d.Rollout.Batch}, {"rollout.timeout", d.Rollout.Timeout}, {"rollout.since", d.Rollout.Since}}
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
	Files    map[string]string `bson:"files"` // content by name, see package charms; keys escaped
	Warnings []string          `bson:"warnings,omitempty"`
	Version  string            `bson:"version,omitempty"` // what it says it was built from
}

// IsStored reports whether the URL of a charm is that of one from a store.
func IsStored(url string) bool { return strings.HasPrefix(url, "ch:") }

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

// TrustSetting is the key of charm.Trust among the settings of a service. No option can have this name.
const TrustSetting = "=trust"

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

// A Payloads contains the payloads of a unit. It is removed with the unit.
type Payloads struct {
	ID       string           `bson:"_id"`      // the unit's key
	Payloads []entity.Payload `bson:"payloads"` // by class
	Version  int64            `bson:"version"`  // counts the changes
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
