package crossmodel

import (
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltxn"
	"juju/state/internal/secrets"
	"juju/state/limits"
)

// Connections returns the relations with services of other models that match a query, by number.
func Connections(ctx context.Context, db *modeltxn.DB, query bson.D) ([]entity.Connection, error) {
	var docs []modeldb.Relation
	if err := db.All(ctx, modeldb.RelationsC, append(bson.D{{"endpoints.remote", true}}, query...), &docs); err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b modeldb.Relation) int { return a.ID - b.ID })
	remotes, err := db.Remotes(ctx, nil)
	if err != nil {
		return nil, err
	}
	offers, err := db.Offers(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := make([]entity.Connection, 0, len(docs))
	for _, d := range docs {
		far, _ := d.RemoteEnd()
		near := d.Counterpart(far.Service)
		c := entity.Connection{Relation: d.ID, Life: d.Life, Endpoint: near.Name, Suspended: d.Suspended, Message: d.Message, Since: d.StatusSince(), Far: far.Name,
			Near: entity.NearEnd{Service: near.Service, RemoteEndpoint: near.Described()}}
		if d.Consumer != nil {
			i := slices.IndexFunc(offers, func(o modeldb.Offer) bool { return o.Name == d.Offer })
			if i < 0 {
				continue // it was removed between the reads
			}
			c.Offer = offers[i].UUID
			c.Model, c.Counterpart, c.User, c.OfferName = d.Consumer.Model, d.Consumer.Relation, d.Consumer.User, d.Offer
			c.Token, c.Ingress = d.Consumer.Token, d.Ingress
			all = append(all, c)
			continue
		}
		i := slices.IndexFunc(remotes, func(r modeldb.Remote) bool { return r.Name == far.Service })
		if i < 0 {
			continue // it was removed between the reads
		}
		r := remotes[i]
		c.Consumes, c.Remote, c.Joined, c.Model, c.Offer, c.User = true, r.Name, d.Joined, r.Model, r.Offer, r.User
		all = append(all, c)
	}
	return all, nil
}

// Offers returns the offers of a model, or those of names that exist, by name. An offer whose charm is damaged has no
// endpoints, so that it does not hide the others, and can be removed.
func Offers(ctx context.Context, db *modeltxn.DB, names ...string) ([]entity.Offer, error) {
	var query bson.D
	used := bson.D{{"$exists", true}}
	if len(names) > 0 {
		used = bson.D{{"$in", names}}
		query = bson.D{{"_id", used}}
	}
	docs, err := db.Offers(ctx, query)
	if err != nil {
		return nil, err
	}
	connections, err := Connections(ctx, db, bson.D{{"offer", used}})
	if err != nil {
		return nil, err
	}
	all := make([]entity.Offer, 0, len(docs))
	for _, d := range docs {
		svc, err := db.Service(ctx, d.Service)
		if entity.IsNotFound(err) {
			continue // both were removed meanwhile
		} else if err != nil {
			return nil, err
		}
		one := entity.Offer{Name: d.Name, UUID: d.UUID, Service: d.Service, CharmURL: svc.CharmURL, Description: d.Description, Life: d.Life}
		ch, err := db.Charm(ctx, svc.CharmURL)
		var damaged *modeltxn.DamagedCharm
		if err == nil {
			one.Endpoints = d.Offered(ch.Meta)
		} else if !errors.As(err, &damaged) {
			return nil, err
		}
		for _, c := range connections {
			if c.OfferName == d.Name {
				one.Connections = append(one.Connections, c)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// partUnits limits the units in a part of a relation's members, and partSize their settings, unless the first has more. So a
// part fits in a request, and is mirrored well within the time for one.
const (
	partUnits = 1000
	partSize  = 1 << 20
)

// Members returns the units of the model's own service that are in a relation with a service of another model, in the order
// of their numbers from first on; none if there is no such relation. They are a part of all unless they are few.
func Members(ctx context.Context, db *modeltxn.DB, relation, first int) (m entity.Members, err error) {
	m.Units, m.First = map[int]map[string]string{}, first
	r, err := db.RelationByID(ctx, relation)
	if entity.IsNotFound(err) {
		return m, nil
	} else if err != nil {
		return m, err
	}
	far, _ := r.RemoteEnd()
	// A unit's settings are written with its scope or before, so scopes are read first.
	scopes, err := db.ScopesIn(ctx, relation)
	if err != nil {
		return m, err
	}
	var units, part []string
	for _, s := range scopes {
		if s.Unit == "" {
			continue
		}
		if units = append(units, s.Unit); entity.UnitNumber(s.Unit) >= first {
			part = append(part, s.Unit)
		}
	}
	if r.Consumer == nil {
		if m.Egress, err = egress(ctx, db, r, units); err != nil {
			return m, err
		}
	}
	size, near := 0, r.Counterpart(far.Service).Service
	if first == 0 {
		settings, err := db.SettingsOf(ctx, relation, near)
		if err != nil {
			return m, err
		}
		m.Application = settings[near]
		size = limits.SettingsSize(m.Application)
		if m.Secrets, err = secretsOf(ctx, db, r, near); err != nil {
			return m, err
		}
	}
	slices.SortFunc(part, func(a, b string) int { return entity.UnitNumber(a) - entity.UnitNumber(b) })
	for some := range slices.Chunk(part, modeltxn.SettingsAtOnce) {
		settings, err := db.SettingsOf(ctx, relation, some...)
		if err != nil {
			return m, err
		}
		for _, unit := range some {
			n := entity.UnitNumber(unit)
			if size += limits.SettingsSize(settings[unit]); len(m.Units) > 0 && (size > partSize || len(m.Units) == partUnits) {
				m.End = n
				return m, nil
			}
			m.Units[n] = settings[unit]
		}
	}
	return m, nil
}

// secretsOf returns what the other model gets to know of secrets: those that the relation shares, or which of its own the units
// of a service read.
func secretsOf(ctx context.Context, db *modeltxn.DB, r modeldb.Relation, service string) (map[string][]int, error) {
	of := secrets.Secrets{DB: db}
	if r.Consumer != nil {
		return of.Shared(ctx, r)
	}
	far, _ := r.RemoteEnd()
	remote, err := db.Remote(ctx, far.Service)
	if entity.IsNotFound(err) {
		return nil, nil // it was removed meanwhile
	} else if err != nil {
		return nil, err
	}
	return of.Consumed(ctx, service, remote.Model)
}

// Shown returns the status of a service, as users see it.
func Shown(ctx context.Context, db *modeltxn.DB, service string) (entity.Status, error) {
	units, err := db.Units(ctx, bson.D{{"service", service}})
	if err != nil {
		return entity.Status{}, err
	}
	by, err := modelstatus.Workloads(ctx, db, units)
	if err != nil {
		return entity.Status{}, err
	}
	said, err := db.StatusDoc(ctx, modeldb.ServiceKey(service))
	if err != nil {
		return entity.Status{}, err
	}
	leader, _, err := db.Leader(ctx, service)
	if err != nil {
		return entity.Status{}, err
	}
	workload := func(unit string) entity.Status { return by[unit] }
	return modelstatus.OfService(said.Mended(), leader.Holder, modeldb.NamesOf(units), workload), nil
}
