package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/charm"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/internal/placement"
	"juju/state/internal/resources"
	"juju/state/internal/storage"
	"juju/state/lifecycle"
	"juju/state/limits"
	"juju/state/mongo"
)

// A Service is a snapshot of a service.
type Service struct {
	ordinary
	st  *State
	doc modeldb.Service
}

// Service reads a service; the error is entity.NotFound if there is none.
func (st *State) Service(ctx context.Context, name string) (*Service, error) {
	doc, err := st.db.Service(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Service{st: st, doc: doc}, nil
}

// services reads the services that match, in natural order.
func (st *State) services(ctx context.Context, query bson.D) ([]*Service, error) {
	docs, err := st.db.Services(ctx, query)
	return mapped(docs, func(d modeldb.Service) *Service { return &Service{st: st, doc: d} }), err
}

// Name returns the service's name.
func (s *Service) Name() string { return s.doc.Name }

// Life returns the service's life when it was read.
func (s *Service) Life() entity.Life { return s.doc.Life }

// CharmURL returns the charm that the service's units should run.
func (s *Service) CharmURL() string { return s.doc.CharmURL }

// Origin returns where the charm came from, nil if a user has uploaded it.
func (s *Service) Origin() *entity.CharmOrigin { return s.doc.Origin }

// Series returns the series that new units of the service get.
func (s *Service) Series() string { return s.doc.Series }

// IsSubordinate reports whether the service's units are subordinates.
func (s *Service) IsSubordinate() bool { return s.doc.Subordinate }

func (s *Service) refresh(ctx context.Context) error {
	now, err := s.st.Service(ctx, s.doc.Name)
	if err == nil {
		s.doc = now.doc
	}
	return err
}

// Bindings is networks.Bindings.
func (s *Service) Bindings(ctx context.Context) (map[string]string, error) {
	ch, err := s.st.db.Charm(ctx, s.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	return networks.Bindings(ctx, s.st.db, s.doc, ch.Meta)
}

// Bind is networks.Bind.
func (s *Service) Bind(ctx context.Context, bindings map[string]string, force bool) error {
	return networks.Bind(ctx, s.st.db, s.doc.Name, bindings, force)
}

// AddServiceParams describes a new service.
type AddServiceParams struct {
	Name        string
	CharmURL    string
	Origin      *entity.CharmOrigin // of a charm from a store, else nil
	Series      string              // if empty the model's default, or the charm's first if the charm does not support that
	Config      map[string]any      // as for SetConfig
	Constraints constraints.Value
	Units       int
	Placement   []entity.Placement                   // of the first units
	Storage     map[string]entity.StorageConstraints // by the names of the charm's stores; may be partial
	Resources   map[string]string                    // ids of uploads, by the names of the charm's resources
	Attach      []string                             // storage instances for a single unit
	Bindings    map[string]string                    // names of spaces by endpoint; "" for the default
	Force       bool                                 // allow a series that the charm does not support
}

// StorageConstraints returns the storage constraints of the service's new units, by store.
func (s *Service) StorageConstraints() map[string]entity.StorageConstraints { return s.doc.Stores }

// AddService adds a service with its peer relations and as many of its units as fit in one transaction. AddUnits adds the
// other units; if that fails, the service keeps the units that it has, and the error says how many.
func (st *State) AddService(ctx context.Context, p AddServiceParams) (*Service, error) {
	first, err := st.addService(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("cannot add service %q: %w", p.Name, err)
	}
	s, err := st.Service(ctx, p.Name)
	if err != nil || first == p.Units {
		return s, err
	}
	names, err := s.AddUnits(ctx, p.Units-first, p.Placement[min(len(p.Placement), first):])
	if n := first + len(names); err != nil {
		return nil, entity.WithHint(fmt.Errorf("service %q is added with %d of %d units: %w", p.Name, n, p.Units, err),
			"To see them: juju status %s. To add the others: juju add-unit %s -n %d", p.Name, p.Name, p.Units-n)
	}
	return s, nil
}

// addService adds a service with as many of its units as fit in one transaction, and returns their number.
func (st *State) addService(ctx context.Context, p AddServiceParams) (n int, err error) {
	if !entity.IsValidService(p.Name) {
		return 0, entity.WithHint(entity.Errorf(entity.Invalid, "invalid name"), entity.ServiceNames)
	}
	ch, err := st.db.Charm(ctx, p.CharmURL)
	if err != nil {
		return 0, err
	}
	config, err := checkSettings(ch.Config, p.Config)
	if err != nil {
		return 0, err
	}
	maps.DeleteFunc(config, func(_ string, v any) bool { return v == nil })
	if err := limits.ServiceSettings.Check(modeltxn.SettingsSize(config)); err != nil {
		return 0, err
	}
	if err := checkConstraints(p.Constraints); err != nil {
		return 0, err
	}
	if p.Series != "" && !ch.Meta.Supports(p.Series) && !p.Force {
		return 0, entity.WithHint(ch.Meta.Unsupported(p.Series), "To deploy it anyway: --series %s --force", p.Series)
	}
	if ch.Meta.Subordinate {
		if p.Units > 0 || len(p.Placement) > 0 {
			return 0, entity.Errorf(entity.Invalid, "subordinate service must be deployed without units")
		}
		if !p.Constraints.IsEmpty() {
			return 0, entity.Errorf(entity.Invalid, "subordinate service must be deployed without constraints")
		}
	}
	if err := checkUnits(p.Units, p.Placement, p.Attach); err != nil {
		return 0, err
	}
	born, maker := st.born(), mongo.NewID()
	units := unitBatch{born: born, attach: p.Attach}
	var peers []modeldb.Relation // created once the service is known to be valid
	err = st.change(ctx, func(o *ops) error {
		model, err := st.db.AliveModel(ctx)
		if err != nil {
			return err
		}
		if there, err := st.Service(ctx, p.Name); err == nil && there.doc.Maker == maker {
			return mongo.ErrNothing
		} else if err != nil && !entity.IsNotFound(err) {
			return err
		} else if err == nil {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "service already exists"),
				"Deploy it under another name: juju deploy CHARM NAME")
		}
		if remote, err := st.db.Remote(ctx, p.Name); err == nil {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "the model uses %s under this name", remote.URL),
				"Deploy it under another name: juju deploy CHARM NAME")
		} else if !entity.IsNotFound(err) {
			return err
		}
		stores, err := storage.Constraints(model, ch.Meta, p.Storage)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(stores)) {
			if _, err := o.pools.Pool(ctx, st.db, o.Ops, model, stores[name].Pool); err != nil {
				return fmt.Errorf("charm %q store %q: %w", ch.Meta.Name, name, err)
			}
		}
		series := cmp.Or(p.Series, model.SeriesFor(ch.Meta.Series))
		if peers == nil {
			if peers, err = st.peerRelations(ctx, p.Name, ch.Meta); err != nil {
				return err
			}
		}
		key := modeldb.ServiceKey(p.Name)
		o.AssertModelAlive()
		o.Assert(modeldb.RemotesC, p.Name, txn.DocMissing) // services and remote services share their names
		if err := st.db.UseCharm(ctx, o.Ops, p.CharmURL); err != nil {
			return err
		}
		doc := modeldb.Service{Living: born, Name: p.Name, Series: series, CharmURL: p.CharmURL, Origin: p.Origin, Subordinate: ch.Meta.Subordinate,
			Stores: stores, Maker: maker}
		if doc.Resources, err = resources.Give(ctx, st.db, o.Ops, doc, ch.Meta, p.Resources); err != nil {
			return err
		}
		if doc.Bindings, err = networks.Merge(ctx, st.db, o.Ops, ch.Meta, nil, p.Bindings); err != nil {
			return err
		}
		if _, _, err := networks.Demand(ctx, st.db, o.Ops, p.Constraints, doc); err != nil {
			return err
		}
		o.Insert(modeldb.ServicesC, p.Name, doc)
		o.addCounts(&Service{st: st, doc: doc})
		o.Insert(modeldb.SettingsC, key, modeldb.Settings{ID: key, Settings: modeldb.EscapeKeys(config)})
		o.Insert(modeldb.ConstraintsC, key, modeldb.Constraints{key, p.Constraints.String()})
		o.Insert(modeldb.StatusesC, key, modeldb.NewStatus(key, entity.Status{Status: entity.StatusUnknown}, st.host.Now()))
		for _, r := range peers {
			st.addRelationOps(o, r)
		}
		if p.Units <= 0 {
			return nil
		}
		units.service = &Service{st: st, doc: doc}
		// Before any number is taken, also those of units that don't fit in this transaction are checked.
		for _, at := range p.Placement {
			if err := placement.Check(ctx, st.db, at, p.Name, series); err != nil {
				return err
			}
		}
		return units.newOps(ctx, o, p.Units, p.Placement, model, p.Constraints, ch.Meta)
	})
	return len(units.names), err
}

// peerRelations creates a service's peer relations.
func (st *State) peerRelations(ctx context.Context, service string, meta *charm.Meta) ([]modeldb.Relation, error) {
	peers := []modeldb.Relation{}
	for _, end := range modeldb.EndpointsOf(service, meta) {
		if end.Role != string(charm.RolePeer) {
			continue
		}
		id, err := st.db.Next(ctx, modeldb.RelationSequence, 1)
		if err != nil {
			return nil, err
		}
		peers = append(peers, st.newRelation(id, end))
	}
	return peers, nil
}

// ConfigSettings returns the user's settings for which the service's charm has options, without the charm's defaults.
func (s *Service) ConfigSettings(ctx context.Context) (map[string]any, error) {
	ch, err := s.st.db.Charm(ctx, s.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	doc, err := s.st.db.Settings(ctx, modeldb.ServiceKey(s.doc.Name))
	return ch.Config.UsableSettings(doc.Settings), err
}

// EffectiveConfig returns the settings that the hooks of a charm see: the user's settings over the charm's defaults. A
// unit's charm may differ from the service's.
func (s *Service) EffectiveConfig(ctx context.Context, charmURL string) (map[string]any, error) {
	ch, err := s.st.db.Charm(ctx, charmURL)
	if err != nil {
		return nil, err
	}
	doc, err := s.st.db.Settings(ctx, modeldb.ServiceKey(s.doc.Name))
	if err != nil {
		return nil, err
	}
	config := ch.Config.DefaultSettings()
	maps.Copy(config, ch.Config.UsableSettings(doc.Settings))
	return config, nil
}

// checkSettings checks the settings of a service, and returns them by the keys under which they are stored; nil for those
// that are reset.
func checkSettings(config *charm.Config, settings map[string]any) (map[string]any, error) {
	stored, err := config.ForService().CheckSettings(settings)
	if err != nil {
		return nil, entity.Errorf(entity.Invalid, "%w", err)
	}
	if trust, ok := stored[charm.Trust]; ok {
		delete(stored, charm.Trust)
		stored[modeldb.TrustSetting] = trust
	}
	return stored, nil
}

// Trust reports whether the service may know the credential of its cloud, and whether a user has said so.
func (s *Service) Trust(ctx context.Context) (trusted, isSet bool, err error) {
	doc, err := s.st.db.Settings(ctx, modeldb.ServiceKey(s.doc.Name))
	trusted, isSet = doc.Settings[modeldb.TrustSetting].(bool)
	return trusted, isSet, err
}

// SetConfig changes settings atomically. They are as charm.Config.ForService().ParseSettings returns them; nil resets a
// setting to its default.
func (s *Service) SetConfig(ctx context.Context, settings map[string]any) error {
	return s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		ch, err := s.st.db.Charm(ctx, s.doc.CharmURL)
		if err != nil {
			return err
		}
		changes, err := checkSettings(ch.Config, settings)
		if err != nil {
			return err
		}
		doc, err := s.st.db.Settings(ctx, modeldb.ServiceKey(s.doc.Name))
		if err != nil {
			return err
		}
		if err := o.ChangeSettings(doc, changes); err != nil {
			return err
		}
		if o.Len() > 0 {
			// The values were checked against this charm's options.
			o.Assert(modeldb.ServicesC, s.doc.Name, bson.D{{"charm", s.doc.CharmURL}})
		}
		return nil
	})
}

// UnitNames returns the names of the service's units, in order.
func (s *Service) UnitNames(ctx context.Context) ([]string, error) {
	units, err := s.st.units(ctx, bson.D{{"service", s.doc.Name}})
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.doc.Name
	}
	return names, err
}

// Destroy sets the service Dying, with its relations, or removes it if nothing refers to it. If it is already Dying, a
// stronger destruction raises its strength, and may also destroy its machines.
func (s *Service) Destroy(ctx context.Context, how entity.Destruction) error {
	return s.st.move(ctx, s, lifecycle.ToDestroy, lifecycle.User, s.st.begin(how))
}

// How services differ from other living entities.

func (s *Service) state() *State         { return s.st }
func (s *Service) kind() lifecycle.Kind  { return lifecycle.Service }
func (s *Service) name() string          { return s.doc.Name }
func (s *Service) docID() string         { return s.doc.Name }
func (s *Service) tag() entity.Tag       { return entity.ServiceTag(s.doc.Name) }
func (s *Service) life() *modeldb.Living { return &s.doc.Living }

// refusal says that offers keep the service from being destroyed.
func (s *Service) refusal(ctx context.Context, _ lifecycle.Goal, barred *lifecycle.Barred) error {
	if barred.Ref.Name != "offers" {
		return barred
	}
	counts, err := s.st.db.CountsOf(ctx, keyOf(s))
	if err != nil {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.InUse, "service is used by %s", entity.Counted(counts["offers"], "offer")),
		"To see them: juju offers. To remove them first: juju remove-offer. To remove them too: juju destroy-service %s --force", s.doc.Name)
}

// asserts includes the version of the resources: the files are released with the service.
func (s *Service) asserts() bson.D {
	version := any(s.doc.Resources)
	if s.doc.Resources == 0 {
		version = bson.D{{"$exists", false}}
	}
	return bson.D{s.doc.KeepsMinUnits(), {"resources", version}}
}

func (s *Service) turning(ctx context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.machines && !s.doc.Machines {
		o.Expect(modeldb.ServiceKey(s.doc.Name), modeldb.TakesMachines, bson.D{{"$exists", false}})
		o.Inc(modeldb.ServiceKey(s.doc.Name), modeldb.TakesMachines, 1)
	}
	if t.from == entity.Alive && s.doc.MinUnits > 0 { // only Alive services have a minimum
		o.Remove(modeldb.MinUnitsC, s.doc.Name, modeltxn.Exists)
	}
	if t.from == entity.Alive {
		update = bson.D{{"$unset", bson.D{{"minunits", 1}, {"rollout", 1}}}}
	}
	if t.to != entity.Gone {
		return update, nil
	}
	if err := o.forgetDestructions(ctx, s); err != nil {
		return nil, err
	}
	if err := resources.Release(ctx, s.st.db, o.Ops, s.doc.Name); err != nil {
		return nil, err
	}
	return update, leadership.LeaveLease(ctx, s.st.db, o.Ops, s.doc.Name)
}

// forgetDestructions removes the remaining cleanups of the destructions of a service, remote service or offer, which would
// destroy what refers to the next one with this name. No other entity's name is reused.
func (o *ops) forgetDestructions(ctx context.Context, e living) error {
	var owed []modeldb.Cleanup
	query := bson.D{{"kind", modeldb.CleanupDestroy}, {"arg", keyOf(e)}}
	if err := e.state().db.All(ctx, modeldb.CleanupsC, query, &owed); err != nil {
		return err
	}
	for _, c := range owed {
		o.Remove(modeldb.CleanupsC, c.ID, nil)
	}
	return nil
}
