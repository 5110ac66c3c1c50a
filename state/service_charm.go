package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/resources"
)

// SetCharmParams specify a service's new charm, and how its units are upgraded to it.
type SetCharmParams struct {
	URL         string
	ForceUnits  bool              // upgrade units in error too, without waiting until they are resolved
	ForceSeries bool              // allow a charm that does not support the service's series
	Config      map[string]any    // settings to change with it, as for SetConfig
	Resources   map[string]string // ids of uploads, by the names of the charm's resources
	// Storage replaces the storage constraints of new units.
	Storage map[string]entity.StorageConstraints
}

// SetCharm changes the charm of a service; its units' agents upgrade them. Peer relations that only the new charm has
// are added, unless the service is Dying: then the charm is to fix failed hooks. The error is entity.Invalid if the new
// charm can't replace the old one, for example because it lacks an endpoint that is in use.
//
// Settings that the old charm used, and for which the new one has no option, or one of another type, are kept but
// unused; SetCharm returns their names, sorted. A later charm may have the option again.
func (s *Service) SetCharm(ctx context.Context, p SetCharmParams) (unused []string, err error) {
	c := &charmChange{SetCharmParams: p, Service: s, peers: map[string]modeldb.Relation{}}
	if c.charm, err = s.st.db.Charm(p.URL); err == nil {
		err = s.st.change(ctx, func(o *ops) error { return c.add(ctx, o) })
	}
	if err != nil {
		return nil, fmt.Errorf("cannot upgrade service %q to charm %q: %w", s.doc.Name, p.URL, err)
	}
	return c.unused, nil
}

// A charmChange is a SetCharm in progress.
type charmChange struct {
	SetCharmParams
	*Service
	charm *charm.Charm
	peers map[string]modeldb.Relation // new relations by endpoint; created once

	unused []string
}

func (c *charmChange) add(ctx context.Context, o *ops) error {
	if err := c.refresh(ctx); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := c.configOps(ctx, o); err != nil {
		return err
	}
	same := bson.D{{"life", c.doc.Life}, {"charm", c.doc.CharmURL}}
	version, err := resources.Give(c.st.db, o.Ops, c.doc, c.charm.Meta, c.SetCharmParams.Resources)
	if err != nil {
		return err
	}
	// Changing storage or resources with the same charm does not revoke force.
	other := len(c.Storage) > 0 || version != c.doc.Resources
	force := c.ForceUnits || other && c.URL == c.doc.CharmURL && c.doc.ForceCharm
	if c.doc.CharmURL == c.URL && c.doc.ForceCharm == force && !other {
		if o.Len() > 0 { // the settings were checked against this charm
			o.Assert(modeldb.ServicesC, c.doc.Name, same)
		}
		return nil
	}
	if err := c.relationOps(ctx, o); err != nil {
		return err
	}
	old, err := c.st.db.Charm(c.doc.CharmURL)
	if err != nil {
		return err
	}
	storage, err := c.storageOps(o, old.Meta)
	if err != nil {
		return err
	}
	o.Assert(modeldb.CharmsC, c.URL, modeltxn.Exists)
	set := bson.D{{"charm", c.URL}, {"forcecharm", force}}
	if len(storage) > 0 {
		set = append(set, bson.DocElem{Name: "stores", Value: storage})
	}
	if version != c.doc.Resources {
		set = append(set, bson.DocElem{Name: "resources", Value: version})
	}
	o.Update(modeldb.ServicesC, c.doc.Name, same, bson.D{{"$set", set}})
	return nil
}

// check checks the charm against the immutable properties of a service.
func (c *charmChange) check() error {
	why, hint := c.charm.Meta.Unfit(c.doc.Series, c.doc.Subordinate, c.ForceSeries)
	if why == "" {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "%s", why), "%s", hint)
}

// configOps changes the settings that come with the charm, and finds those that it does not use.
func (c *charmChange) configOps(ctx context.Context, o *ops) error {
	changes, err := c.charm.Config.CheckSettings(c.Config)
	if err != nil {
		return entity.Errorf(entity.Invalid, "%w", err)
	}
	old, err := c.st.db.Charm(c.doc.CharmURL)
	if err != nil {
		return err
	}
	doc, err := c.st.db.Settings(modeldb.ServiceKey(c.doc.Name))
	if err != nil {
		return err
	}
	c.unused = nil
	used := c.charm.Config.UsableSettings(doc.Settings)
	for _, name := range slices.Sorted(maps.Keys(old.Config.UsableSettings(doc.Settings))) {
		if _, ok := used[name]; !ok {
			c.unused = append(c.unused, name)
		}
	}
	return o.ChangeSettings(doc, changes)
}

// relationOps rejects a charm that lacks an endpoint in use, asserts that no relation is added meanwhile, and adds the
// peer relations that only the new charm has, unless the service is Dying.
func (c *charmChange) relationOps(ctx context.Context, o *ops) error {
	relations, err := c.st.relationsOf(c.doc.Name)
	if err != nil {
		return err
	}
	ends := endpointsOf(c.doc.Name, c.charm.Meta)
	related := map[string]bool{}
	for _, r := range relations {
		end, err := r.doc.Endpoint(c.doc.Name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(ends, end.IsLike) {
			err := entity.Errorf(entity.Invalid, "would break relation %q", r.doc.Key)
			if r.isPeer() {
				return entity.WithHint(err, "The charm has no such peers; deploy it as another service.")
			}
			return entity.WithHint(err, "The charm has no endpoint like %s. To remove the relation first: "+
				"juju destroy-relation %s", end.Name, r.doc.Key)
		}
		related[end.Name] = true
	}
	o.Expect(modeldb.ServiceKey(c.doc.Name), "relations", len(relations))
	if c.doc.Life != entity.Alive {
		return nil
	}
	for _, end := range ends {
		if end.Role != string(charm.RolePeer) || related[end.Name] {
			continue
		}
		if _, made := c.peers[end.Name]; !made {
			id, err := c.st.db.Next(ctx, modeldb.RelationSequence, 1)
			if err != nil {
				return err
			}
			c.peers[end.Name] = c.st.newRelation(id, end)
		}
		c.st.addRelationOps(o, c.peers[end.Name])
	}
	return nil
}

// storageOps rejects a charm whose stores are incompatible with those that units already have, and returns the storage
// constraints of new units: for stores that only the new charm has, what the charm needs unless the user overrides it.
func (c *charmChange) storageOps(o *ops, old *charm.Meta) (map[string]entity.StorageConstraints, error) {
	for _, name := range slices.Sorted(maps.Keys(old.Storage)) {
		store, ok := c.charm.Meta.Storage[name]
		if !ok {
			return nil, entity.Errorf(entity.Invalid, "storage %q removed", name)
		}
		if err := checkSameStore(old.Storage[name], store); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.charm.Meta.Storage)) {
		if _, ok := old.Storage[name]; !ok && c.charm.Meta.Storage[name].CountMin > 0 {
			return nil, entity.Errorf(entity.Invalid, "required storage %q added", name)
		}
	}
	model, err := c.st.db.Model()
	if err != nil {
		return nil, err
	}
	asked := map[string]entity.StorageConstraints{}
	maps.Copy(asked, c.doc.Stores)
	maps.Copy(asked, c.Storage)
	all, err := storageFor(model, c.charm.Meta, asked)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Storage)) {
		if _, err := c.st.poolOps(o, model, all[name].Pool); err != nil {
			return nil, fmt.Errorf("charm %q store %q: %w", c.charm.Meta.Name, name, err)
		}
	}
	return all, nil
}

// checkSameStore rejects a store that differs from an old one in what units depend on.
func checkSameStore(old, now charm.Storage) error {
	fail := func(format string, args ...any) error {
		return entity.Errorf(entity.Invalid, "existing storage %q %s", old.Name, fmt.Sprintf(format, args...))
	}
	single := func(s charm.Storage) bool { return s.CountMin == 1 && s.CountMax == 1 }
	switch {
	case now.Type != old.Type:
		return fail("type changed from %q to %q", old.Type, now.Type)
	case now.Shared != old.Shared:
		return fail("shared changed from %v to %v", old.Shared, now.Shared)
	case now.ReadOnly != old.ReadOnly:
		return fail("read-only changed from %v to %v", old.ReadOnly, now.ReadOnly)
	case now.Location != old.Location:
		return fail("location changed from %q to %q", old.Location, now.Location)
	case now.CountMin > old.CountMin:
		return fail("range contracted: min increased from %d to %d", old.CountMin, now.CountMin)
	case now.CountMax >= 0 && (old.CountMax < 0 || now.CountMax < old.CountMax):
		before := any(old.CountMax)
		if old.CountMax < 0 {
			before = "<unbounded>"
		}
		return fail("range contracted: max decreased from %v to %d", before, now.CountMax)
	case old.Location != "" && single(old) && !single(now):
		// The location of one is the directory of several.
		return fail("with location changed from single to multiple")
	}
	return nil
}
