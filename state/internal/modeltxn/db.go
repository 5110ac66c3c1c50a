package modeltxn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A DB is the database of a model. It is safe for concurrent use.
type DB struct {
	*mongo.Database
	UUID  string // the model's
	Name  string // the model's
	Clock func() time.Time

	charms *sync.Map // URL → *charm.Charm
	copies *watcher.Copies
	// watched is set if Get and All may return copies.
	watched bool
}

// New returns the database of the model with a UUID and a name. copies are kept true by the hub of its changes.
func New(database *mongo.Database, uuid, name string, clock func() time.Time, copies *watcher.Copies) *DB {
	return &DB{Database: database, UUID: uuid, Name: name, Clock: clock, charms: &sync.Map{}, copies: copies}
}

// Now is the current time in the store's precision.
func (db *DB) Now() time.Time { return db.Clock().UTC().Truncate(time.Millisecond) }

// Change runs a transaction on the model: see mongo.Runner.Change.
func (db *DB) Change(ctx context.Context, build func(*Ops) error) error {
	if db.watched {
		return errors.New("cannot change a model from what its watches have reported")
	}
	var changed []watcher.Change // by all attempts: the outcome of one may be unknown
	err := db.Run(ctx, func(int) ([]txn.Op, error) {
		o := &Ops{counts: map[string]*countOp{}}
		if err := build(o); err != nil {
			return nil, err
		}
		o.addCounts()
		list, err := o.List()
		changed = append(changed, watcher.ChangesOf(list)...)
		return list, err
	})
	// Before the caller is told: no one who has heard of the change reads what was before it.
	db.copies.Drop(changed...)
	return err
}

// Model reads the model's document.
func (db *DB) Model(ctx context.Context) (doc modeldb.Model, err error) {
	err = db.Get(ctx, modeldb.ModelC, modeldb.ModelC, &doc, fmt.Sprintf("model %q", db.Name))
	return doc, err
}

// AliveModel reads the model for callers that add something to it. The error, in Juju's
// words, is entity.NotAlive if the model is not Alive.
func (db *DB) AliveModel(ctx context.Context) (modeldb.Model, error) {
	doc, err := db.Model(ctx)
	if err != nil {
		return doc, err
	}
	if doc.Life != entity.Alive {
		return doc, entity.Errorf(entity.NotAlive, "model %q is no longer alive", doc.Name)
	}
	return doc, nil
}

// Machine reads a machine; the error is entity.NotFound if it does not exist.
func (db *DB) Machine(ctx context.Context, id string) (doc modeldb.Machine, err error) {
	err = db.Get(ctx, modeldb.MachinesC, id, &doc, "machine "+id)
	return doc, err
}

// Unit reads a unit; the error is entity.NotFound if it does not exist.
func (db *DB) Unit(ctx context.Context, name string) (doc modeldb.Unit, err error) {
	err = db.Get(ctx, modeldb.UnitsC, name, &doc, fmt.Sprintf("unit %q", name))
	return doc, err
}

// MachineOf returns the name of the machine that a unit is on: its own or its principal's.
func (db *DB) MachineOf(ctx context.Context, unit modeldb.Unit) (string, error) {
	if unit.Principal == "" {
		return unit.Machine, nil
	}
	principal, err := db.Unit(ctx, unit.Principal)
	return principal.Machine, err
}

// Service reads a service; the error is entity.NotFound if it does not exist.
func (db *DB) Service(ctx context.Context, name string) (doc modeldb.Service, err error) {
	err = db.Get(ctx, modeldb.ServicesC, name, &doc, fmt.Sprintf("service %q", name))
	return doc, entity.WithHint(err, "To see what is in the model: juju status")
}

// Storage reads a storage instance; the error is entity.NotFound if it does not exist.
func (db *DB) Storage(ctx context.Context, id string) (doc modeldb.Storage, err error) {
	err = db.Get(ctx, modeldb.StorageC, id, &doc, fmt.Sprintf("storage %q", id))
	return doc, entity.WithHint(err, "To list the storage: juju storage")
}

// Relation reads a relation by its key; the error is entity.NotFound if it does not exist.
func (db *DB) Relation(ctx context.Context, key string) (doc modeldb.Relation, err error) {
	err = db.Get(ctx, modeldb.RelationsC, key, &doc, fmt.Sprintf("relation %q", key))
	return doc, err
}

// RelationByID reads a relation by its number; the error is entity.NotFound if it does not
// exist.
func (db *DB) RelationByID(ctx context.Context, id int) (modeldb.Relation, error) {
	var docs []modeldb.Relation
	if err := db.All(ctx, modeldb.RelationsC, bson.D{{"id", id}}, &docs); err != nil {
		return modeldb.Relation{}, err
	}
	if len(docs) == 0 {
		return modeldb.Relation{}, entity.Errorf(entity.NotFound, "relation %d not found", id)
	}
	return docs[0], nil
}

// RelationsOf reads all relations of a service, by number.
func (db *DB) RelationsOf(ctx context.Context, service string) ([]modeldb.Relation, error) {
	var ends []modeldb.RelationEnd
	if err := db.All(ctx, modeldb.EndpointsC, bson.D{{"service", service}}, &ends); err != nil {
		return nil, err
	}
	keys := make([]string, len(ends))
	for i, e := range ends {
		keys[i] = e.Relation
	}
	var docs []modeldb.Relation
	err := db.All(ctx, modeldb.RelationsC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &docs)
	slices.SortFunc(docs, func(a, b modeldb.Relation) int { return a.ID - b.ID })
	return docs, err
}

// RelationsBy reads the relations that refer to a target, by number.
func (db *DB) RelationsBy(ctx context.Context, ref lifecycle.Ref, name string) (docs []modeldb.Relation, err error) {
	if ref.In == modeldb.EndpointsC {
		return db.RelationsOf(ctx, name)
	}
	err = db.All(ctx, modeldb.RelationsC, modeldb.SourcesQuery(ref, name), &docs)
	slices.SortFunc(docs, func(a, b modeldb.Relation) int { return a.ID - b.ID })
	return docs, err
}

// Machines reads the machines that match, in natural order.
func (db *DB) Machines(ctx context.Context, query bson.D) ([]modeldb.Machine, error) {
	return sorted(ctx, db, modeldb.MachinesC, query, func(d modeldb.Machine) string { return d.ID })
}

// Units reads the units that match, in natural order.
func (db *DB) Units(ctx context.Context, query bson.D) ([]modeldb.Unit, error) {
	return sorted(ctx, db, modeldb.UnitsC, query, func(d modeldb.Unit) string { return d.Name })
}

// Services reads the services that match, in natural order.
func (db *DB) Services(ctx context.Context, query bson.D) ([]modeldb.Service, error) {
	return sorted(ctx, db, modeldb.ServicesC, query, func(d modeldb.Service) string { return d.Name })
}

// Offers reads the offers that match, in natural order.
func (db *DB) Offers(ctx context.Context, query bson.D) ([]modeldb.Offer, error) {
	return sorted(ctx, db, modeldb.OffersC, query, func(d modeldb.Offer) string { return d.Name })
}

// Offer reads an offer; the error is entity.NotFound if it does not exist.
func (db *DB) Offer(ctx context.Context, name string) (doc modeldb.Offer, err error) {
	err = db.Get(ctx, modeldb.OffersC, name, &doc, fmt.Sprintf("offer %q", name))
	return doc, entity.WithHint(err, "To list the offers: juju offers")
}

// Remote reads a remote service; the error is entity.NotFound if it does not exist.
func (db *DB) Remote(ctx context.Context, name string) (doc modeldb.Remote, err error) {
	err = db.Get(ctx, modeldb.RemotesC, name, &doc, fmt.Sprintf("remote service %q", name))
	return doc, entity.WithHint(err, "To see what is in the model: juju status")
}

// Remotes reads the remote services that match, in natural order.
func (db *DB) Remotes(ctx context.Context, query bson.D) ([]modeldb.Remote, error) {
	return sorted(ctx, db, modeldb.RemotesC, query, func(d modeldb.Remote) string { return d.Name })
}

// Storages reads the storage instances that match, in natural order.
func (db *DB) Storages(ctx context.Context, query bson.D) ([]modeldb.Storage, error) {
	return sorted(ctx, db, modeldb.StorageC, query, func(d modeldb.Storage) string { return d.ID })
}

// Attachments reads the attachments that match, in natural order.
func (db *DB) Attachments(ctx context.Context, query bson.D) ([]modeldb.Attachment, error) {
	return sorted(ctx, db, modeldb.AttachmentsC, query,
		func(d modeldb.Attachment) string { return modeldb.AttachmentName(d.Unit, d.Storage) })
}

// AttachmentOf returns the attachment of a storage instance, or nil.
func (db *DB) AttachmentOf(ctx context.Context, storage string) (*modeldb.Attachment, error) {
	all, err := db.Attachments(ctx, bson.D{{"storage", storage}})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// ScopesOf reads the scopes that refer to a target, in the natural order of their units.
func (db *DB) ScopesOf(ctx context.Context, ref lifecycle.Ref, name string) ([]modeldb.Scope, error) {
	if ref.From != lifecycle.Scope {
		return nil, nil
	}
	return sorted(ctx, db, modeldb.ScopesC, modeldb.SourcesQuery(ref, name), modeldb.Scope.Member)
}

// ScopesIn reads the scopes of a relation, in the natural order of their units.
func (db *DB) ScopesIn(ctx context.Context, relation int) ([]modeldb.Scope, error) {
	return sorted(ctx, db, modeldb.ScopesC, bson.D{{"relation", relation}}, modeldb.Scope.Member)
}

// IDs returns the ids of the documents that match a query.
func (db *DB) IDs(ctx context.Context, collection string, query bson.D) ([]string, error) {
	var docs []struct {
		ID string `bson:"_id"`
	}
	err := db.All(ctx, collection, query, &docs)
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	return ids, err
}

// Leftovers reads the leftovers that match, in the natural order of their entities.
func (db *DB) Leftovers(ctx context.Context, query bson.D) ([]modeldb.Leftover, error) {
	return sorted(ctx, db, modeldb.LeftoversC, query, func(d modeldb.Leftover) string { return d.Of })
}

// sorted reads the documents that match a query, in the natural order of their names.
func sorted[D any](ctx context.Context, db *DB, collection string, query bson.D,
	name func(D) string) (docs []D, err error) {
	err = db.All(ctx, collection, query, &docs)
	slices.SortFunc(docs, func(a, b D) int { return entity.CompareNatural(name(a), name(b)) })
	return docs, err
}

// Networks reads the spaces and subnets of the model.
func (db *DB) Networks(ctx context.Context) (doc modeldb.Networks, err error) {
	err = db.Get(ctx, modeldb.NetworksC, modeldb.NetworksC, &doc, "networks")
	if entity.IsNotFound(err) {
		return modeldb.Networks{ID: modeldb.NetworksC, Missing: true}, nil
	}
	return doc, err
}

// Constraints reads the constraints of a key; "" if it has none.
func (db *DB) Constraints(ctx context.Context, key string) (string, error) {
	var doc modeldb.Constraints
	err := db.Get(ctx, modeldb.ConstraintsC, key, &doc, "constraints of "+key)
	if entity.IsNotFound(err) {
		return "", nil
	}
	return doc.Value, err
}

// Leader reads which unit leads a service. there reports whether its document exists.
func (db *DB) Leader(ctx context.Context, service string) (doc modeldb.Leader, there bool, err error) {
	err = db.Get(ctx, modeldb.LeadersC, service, &doc, "leader of "+service)
	if entity.IsNotFound(err) {
		return modeldb.Leader{Service: service}, false, nil
	}
	return doc, err == nil, err
}

// A DamagedCharm is the error for a charm that is stored, but whose metadata, options or actions make no sense.
type DamagedCharm struct {
	URL string
	Why error
}

func (d *DamagedCharm) Error() string { return fmt.Sprintf("cannot read charm %q: %v", d.URL, d.Why) }
func (d *DamagedCharm) Unwrap() error { return d.Why }

// Charm returns the parsed files of a charm; the error is entity.NotFound if the model does
// not have it. A charm never changes, so each is parsed once.
func (db *DB) Charm(ctx context.Context, url string) (*charm.Charm, error) {
	if known, ok := db.charms.Load(url); ok {
		return known.(*charm.Charm), nil
	}
	var doc modeldb.Charm
	if err := db.Get(ctx, modeldb.CharmsC, url, &doc, fmt.Sprintf("charm %q", url)); err != nil {
		return nil, err
	}
	files := modeldb.UnescapeKeys(doc.Files)
	ch := &charm.Charm{Revision: doc.Revision, Config: &charm.Config{Options: map[string]charm.Option{}},
		Actions: &charm.Actions{Specs: map[string]charm.ActionSpec{}}}
	var err error
	if ch.Meta, err = charm.ParseMeta([]byte(files["metadata.yaml"])); err != nil {
		return nil, &DamagedCharm{url, err}
	}
	if text, ok := files["manifest.yaml"]; ok {
		if err := ch.Meta.ReadManifest([]byte(text)); err != nil {
			return nil, &DamagedCharm{url, err}
		}
	}
	if text, ok := files["config.yaml"]; ok {
		if ch.Config, err = charm.ParseConfig([]byte(text)); err != nil {
			return nil, &DamagedCharm{url, err}
		}
	}
	if text, ok := files["actions.yaml"]; ok {
		if ch.Actions, err = charm.ParseActions(ch.Meta.Name, []byte(text)); err != nil {
			return nil, &DamagedCharm{url, err}
		}
	}
	if text, ok := files["lxd-profile.yaml"]; ok {
		if ch.Profile, err = charm.ParseLXDProfile([]byte(text)); err != nil {
			return nil, &DamagedCharm{url, err}
		}
	}
	db.charms.Store(url, ch)
	return ch, nil
}

// UseCharm asserts that the model keeps a charm that something will use. The error is entity.NotFound if it does not have it,
// also if Charm still knows it.
func (db *DB) UseCharm(ctx context.Context, o *Ops, url string) error {
	found, err := db.Count(ctx, modeldb.CharmsC, bson.D{{"_id", url}})
	if err == nil && found == 0 {
		err = entity.Errorf(entity.NotFound, "charm %q not found", url)
	}
	o.Assert(modeldb.CharmsC, url, Exists)
	return err
}
