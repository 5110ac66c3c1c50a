package modelstatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo/cursor"
)

// Read reads the full status of a model, in a fixed number of queries. Match filters it.
func Read(ctx context.Context, db *modeltxn.DB) (*entity.ModelStatus, error) {
	all, err := readAll(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("cannot read the status of model %q: %w", db.Name, err)
	}
	return all.status(db.Clock()), nil
}

func byNumber(x, y modeldb.Relation) int { return cmp.Compare(x.ID, y.ID) }

// everything holds the documents from which a status is built, by id.
type everything struct {
	model       modeldb.Model
	machines    map[string]modeldb.Machine
	services    map[string]modeldb.Service
	units       map[string]modeldb.Unit
	relations   []modeldb.Relation // by number
	statuses    map[string]modeldb.Status
	ports       map[string]modeldb.Ports
	constraints map[string]modeldb.Constraints
	charms      map[string]modeldb.Charm
	leaders     map[string]modeldb.Leader
	attachments map[string]modeldb.Attachment
	offers      map[string]modeldb.Offer
	remotes     map[string]modeldb.Remote
	networks    modeldb.Networks

	offered  map[string][]entity.RemoteEndpoint       // by offer
	damaged  map[string]error                         // by offered service: why its charm can't be read
	opened   map[string]map[string][]entity.PortRange // by machine and unit; set by openPorts
	awaiting map[string][]string                      // by unit; set by awaitedStorage
}

func readAll(ctx context.Context, db *modeltxn.DB) (*everything, error) {
	a := &everything{}
	var err error
	if a.model, err = db.Model(ctx); err != nil {
		return nil, err
	}
	if a.networks, err = db.Networks(ctx); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.MachinesC, &a.machines, func(d modeldb.Machine) string {
		return d.ID
	}); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.ServicesC, &a.services, func(d modeldb.Service) string {
		return d.Name
	}); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.UnitsC, &a.units, func(d modeldb.Unit) string { return d.Name }); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.StatusesC, &a.statuses, func(d modeldb.Status) string { return d.ID }); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.PortsC, &a.ports, func(d modeldb.Ports) string { return d.ID }); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.ConstraintsC, &a.constraints, func(d modeldb.Constraints) string {
		return d.Key
	}); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.CharmsC, &a.charms, func(d modeldb.Charm) string {
		return d.URL
	}, "files", "warnings"); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.LeadersC, &a.leaders, func(d modeldb.Leader) string {
		return d.Service
	}); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.AttachmentsC, &a.attachments, func(d modeldb.Attachment) string {
		return d.ID
	}); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.OffersC, &a.offers, offerID); err != nil {
		return nil, err
	}
	if err := readMap(ctx, db, modeldb.RemotesC, &a.remotes, remoteID); err != nil {
		return nil, err
	}
	a.offered, a.damaged = map[string][]entity.RemoteEndpoint{}, map[string]error{}
	for _, o := range a.offers {
		ch, err := db.Charm(ctx, a.services[o.Service].CharmURL)
		var damaged *modeltxn.DamagedCharm
		switch {
		case err == nil:
			a.offered[o.Name] = o.Offered(ch.Meta)
		case errors.As(err, &damaged): // the rest of the status can be shown without the endpoints of this offer
			a.damaged[o.Service] = damaged
		case !entity.IsNotFound(err): // else the service was removed between the reads
			return nil, err
		}
	}
	if err := db.All(ctx, modeldb.RelationsC, nil, &a.relations); err != nil {
		return nil, err
	}
	slices.SortFunc(a.relations, byNumber)
	return a, nil
}

// readMap reads a collection without the given fields.
func readMap[D any](ctx context.Context, db *modeltxn.DB, collection string, into *map[string]D, id func(D) string,
	without ...string) error {
	fields := map[string]int{"txn-queue": 0, "txn-revno": 0}
	for _, f := range without {
		fields[f] = 0
	}
	var docs []D
	err := db.Reading(ctx, collection, func(c *mgo.Collection) error {
		return cursor.Find(c, nil).Select(fields).All(&docs)
	})
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", collection, err)
	}
	*into = make(map[string]D, len(docs))
	for _, d := range docs {
		(*into)[id(d)] = d
	}
	return nil
}
