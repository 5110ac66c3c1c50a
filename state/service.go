package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/charm"
	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

type serviceDoc struct {
	Name        string      `bson:"_id"`
	Life        entity.Life `bson:"life"`
	Series      string      `bson:"series"`
	CharmURL    string      `bson:"charm"`
	ForceCharm  bool        `bson:"forcecharm,omitempty"`
	Subordinate bool        `bson:"subordinate"`
	Exposed     bool        `bson:"exposed"`
}

// A Service is a service as it was when it was read.
type Service struct {
	st  *State
	doc serviceDoc
}

// Service reads a service; entity.NotFound when there is none.
func (st *State) Service(ctx context.Context, name string) (*Service, error) {
	s := &Service{st: st}
	if err := st.db.Get(servicesC, name, &s.doc, fmt.Sprintf("service %q", name)); err != nil {
		return nil, entity.WithHint(err, "See what there is: juju status")
	}
	return s, nil
}

// Name returns the service's name.
func (s *Service) Name() string { return s.doc.Name }

// Life returns how far the service had come when it was read.
func (s *Service) Life() entity.Life { return s.doc.Life }

// CharmURL returns the charm that the service's units should have.
func (s *Service) CharmURL() string { return s.doc.CharmURL }

// Series returns the series of the service's units.
func (s *Service) Series() string { return s.doc.Series }

// IsSubordinate reports whether the service's units live beside those of others.
func (s *Service) IsSubordinate() bool { return s.doc.Subordinate }

// IsExposed reports whether the ports of its units are for everybody.
func (s *Service) IsExposed() bool { return s.doc.Exposed }

func (s *Service) refresh(ctx context.Context) error {
	now, err := s.st.Service(ctx, s.doc.Name)
	if err == nil {
		s.doc = now.doc
	}
	return err
}

// AddServiceParams describes a new service.
type AddServiceParams struct {
	Name        string
	CharmURL    string
	Series      string            // the charm's first when empty, or the model's
	Config      map[string]string // as the user wrote it
	Constraints string
	Units       int
	Placement   []string // machine ids for the first units
	Force       bool     // a series that the charm does not name is all right
}

// AddService adds a service with its peer relations, and its units. When it fails
// nothing has changed.
func (st *State) AddService(ctx context.Context, p AddServiceParams) (*Service, error) {
	if err := st.addService(ctx, p); err != nil {
		return nil, fmt.Errorf("cannot add service %q: %w", p.Name, err)
	}
	s, err := st.Service(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	if p.Units > 0 {
		if _, err := s.AddUnits(ctx, p.Units, p.Placement); err != nil {
			// Nobody has heard of the service yet: it goes again, also when the
			// caller has gone meanwhile.
			if derr := s.Destroy(context.WithoutCancel(ctx)); derr != nil {
				logger.Errorf("cannot take back service %q: %v", p.Name, derr)
			}
			return nil, err
		}
	}
	return s, nil
}

func (st *State) addService(ctx context.Context, p AddServiceParams) error {
	if !entity.IsValidService(p.Name) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "invalid name"),
			"A name has lowercase letters, digits and hyphens, and begins with a letter.")
	}
	ch, err := st.Charm(ctx, p.CharmURL)
	if err != nil {
		return err
	}
	config, err := ch.Config.ParseSettingsStrings(p.Config)
	if err != nil {
		return entity.Errorf(entity.Invalid, "%w", err)
	}
	if err := checkSettings(config); err != nil {
		return err
	}
	constraints, err := checkConstraints(p.Constraints)
	if err != nil {
		return err
	}
	if p.Series != "" && len(ch.Meta.Series) > 0 && !slices.Contains(ch.Meta.Series, p.Series) && !p.Force {
		return entity.WithHint(entity.Errorf(entity.Invalid, "series %q not supported by charm, supported series are: %s",
			p.Series, strings.Join(ch.Meta.Series, ",")), "To deploy it all the same: --series %s --force", p.Series)
	}
	if ch.Meta.Subordinate {
		if p.Units > 0 || len(p.Placement) > 0 {
			return entity.Errorf(entity.Invalid, "subordinate service must be deployed without units")
		}
		if p.Constraints != "" {
			return entity.Errorf(entity.Invalid, "subordinate service must be deployed without constraints")
		}
	}
	var peers []relationDoc // numbered once nothing bars the service any more
	return st.run(ctx, func(int) ([]txn.Op, error) {
		model, err := st.aliveModel()
		if err != nil {
			return nil, err
		}
		if n, err := st.db.Count(servicesC, bson.D{{"_id", p.Name}}); err != nil {
			return nil, err
		} else if n > 0 {
			return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists, "service already exists"),
				"Deploy it under another name: juju deploy CHARM NAME")
		}
		series := p.Series
		if series == "" && len(ch.Meta.Series) > 0 {
			series = ch.Meta.Series[0]
		}
		series = orElse(series, model.Series)
		for _, id := range p.Placement {
			if err := st.checkPlacement(ctx, p.Name, series, id); err != nil {
				return nil, err
			}
		}
		if peers == nil {
			if peers, err = st.peerRelations(ctx, p.Name, ch.Meta); err != nil {
				return nil, err
			}
		}
		key := serviceKey(p.Name)
		o := newOps()
		o.assertModelAlive()
		o.assert(charmsC, p.CharmURL, exists)
		o.insert(servicesC, p.Name, serviceDoc{Name: p.Name, Series: series,
			CharmURL: p.CharmURL, Subordinate: ch.Meta.Subordinate})
		o.newCounts(key, lifecycle.Service)
		o.insert(settingsC, key, settingsDoc{ID: key, Settings: escapeKeys(config)})
		o.insert(constraintsC, key, constraintsDoc{key, constraints.String()})
		o.insert(statusesC, key, newStatusDoc(key, entity.Status{Status: entity.StatusUnknown}, st.controller.now()))
		for _, r := range peers {
			st.addRelationOps(o, r)
		}
		return o.build()
	})
}

// peerRelations makes the relations that a service has with itself.
func (st *State) peerRelations(ctx context.Context, service string, meta *charm.Meta) ([]relationDoc, error) {
	peers := []relationDoc{}
	for _, end := range endpointsOf(service, meta) {
		if end.Role != string(charm.RolePeer) {
			continue
		}
		id, err := st.db.Next(ctx, "relation", 1)
		if err != nil {
			return nil, err
		}
		peers = append(peers, newRelationDoc(id, end))
	}
	return peers, nil
}

// relationsAtOnce is up to how many relations a service is destroyed in one
// transaction with them; beyond, they are left to a cleanup.
const relationsAtOnce = 30

// Destroy sets the service Dying, with its relations, or removes it when nothing
// refers to it. A service that is not Alive is left as it is.
func (s *Service) Destroy(ctx context.Context) error {
	ids := [2]string{newID(), newID()}
	return s.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := s.refresh(ctx); isNotFound(err) {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		if s.doc.Life != entity.Alive {
			return nil, mongo.ErrNothing
		}
		holders, err := s.st.holders(serviceKey(s.doc.Name))
		if err != nil {
			return nil, err
		}
		o := newOps()
		gone := map[string]int{}
		many := holders["relations"] > relationsAtOnce
		if !many {
			if holders["relations"], gone["relations"], err = s.destroyRelationsOps(ctx, o); err != nil {
				return nil, err
			}
		}
		left := map[string]int{"units": holders["units"], "relations": holders["relations"] - gone["relations"]}
		step, err := lifecycle.Plan(lifecycle.Service, lifecycle.ToDestroy, lifecycle.User,
			lifecycle.Facts{Life: s.doc.Life, Holders: left})
		if err != nil {
			return nil, err
		}
		o.expectStep(serviceKey(s.doc.Name), step, gone)
		if step.Move.To == entity.Gone {
			s.st.removeServiceOps(o, s.doc.Name, s.doc.Life)
			return o.build()
		}
		o.update(servicesC, s.doc.Name, isAlive, bson.D{{"$set", bson.D{{"life", entity.Dying}}}})
		if many {
			// After the life: a cleaner that comes across it must find that Dying.
			o.cleanup(ids[0], cleanupRelations, s.doc.Name)
		} else {
			// One that was added meanwhile would be destroyed by nobody.
			o.expect(serviceKey(s.doc.Name), "relations", holders["relations"])
		}
		if n := gone["relations"]; n > 0 {
			o.inc(serviceKey(s.doc.Name), "relations", -n)
		}
		// The agents of the units do this; the cleanup is for those that are away.
		o.cleanup(ids[1], cleanupUnits, s.doc.Name)
		return o.build()
	})
}

// destroyRelationsOps destroys the service's Alive relations without counting
// them down at the service; it returns how many relations the service has and how
// many of them are removed by that.
func (s *Service) destroyRelationsOps(ctx context.Context, o *ops) (all, removed int, err error) {
	relations, err := s.st.relationsOf(s.doc.Name)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range relations {
		gone, err := r.destroyOps(ctx, o, s.doc.Name)
		if err != nil {
			return 0, 0, err
		}
		if gone {
			removed++
		}
	}
	return len(relations), removed, nil
}

// removeServiceOps takes a service out of state with all that was its own.
func (st *State) removeServiceOps(o *ops, name string, life entity.Life) {
	key := serviceKey(name)
	o.remove(servicesC, name, bson.D{{"life", life}})
	o.dropCounts(key)
	o.remove(settingsC, key, exists)
	o.remove(constraintsC, key, exists)
	o.remove(statusesC, key, exists)
}

// dropServiceRefOps takes away one of the references to a service, "units" or
// "relations". When it was the last to a Dying service, the service goes too;
// whichever it is, the branch that was taken is asserted.
func (st *State) dropServiceRefOps(ctx context.Context, o *ops, name, ref string) error {
	svc, err := st.Service(ctx, name)
	if err != nil {
		return err
	}
	key := serviceKey(name)
	if svc.doc.Life == entity.Alive {
		o.assertLife(servicesC, name, entity.Alive)
		o.inc(key, ref, -1)
		return nil
	}
	holders, err := st.holders(key)
	if err != nil {
		return err
	}
	// What this transaction takes away in all; it may come here more than once
	// for one service, when two of its relations end together.
	o.inc(key, ref, -1)
	gone := map[string]int{}
	for _, r := range lifecycle.RefsTo(lifecycle.Service) {
		gone[r.Name] = -o.count(key).inc[r.Name]
		holders[r.Name] -= gone[r.Name]
	}
	step, err := lifecycle.Plan(lifecycle.Service, lifecycle.ToRemove, lifecycle.LastRef,
		lifecycle.Facts{Life: svc.doc.Life, Holders: holders})
	var barred *lifecycle.Barred
	if errors.As(err, &barred) && barred.Ref.Name != "" {
		// Something else still refers to it: whoever drops that comes here again.
		o.expect(key, barred.Ref.Name, bson.D{{"$gt", gone[barred.Ref.Name]}})
		return nil
	}
	if err != nil {
		return err
	}
	o.expectStep(key, step, gone)
	st.removeServiceOps(o, name, svc.doc.Life)
	return nil
}

// SetExposed makes the ports of the service's units open to everybody, or not.
func (s *Service) SetExposed(ctx context.Context, exposed bool) error {
	return s.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := s.refresh(ctx); err != nil {
			return nil, err
		}
		if s.doc.Life != entity.Alive {
			return nil, entity.Errorf(entity.NotAlive, "service %q is not alive", s.doc.Name)
		}
		if s.doc.Exposed == exposed {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.update(servicesC, s.doc.Name, isAlive, bson.D{{"$set", bson.D{{"exposed", exposed}}}})
		return o.build()
	})
}

// ConfigSettings returns what the user has set, without the charm's defaults.
func (s *Service) ConfigSettings(ctx context.Context) (map[string]any, error) {
	doc, err := s.st.settings(serviceKey(s.doc.Name))
	return doc.Settings, err
}

// EffectiveConfig returns what the hooks of the service's units see: the charm's
// defaults, and over them what the user has set.
func (s *Service) EffectiveConfig(ctx context.Context) (map[string]any, error) {
	ch, err := s.st.Charm(ctx, s.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	set, err := s.ConfigSettings(ctx)
	if err != nil {
		return nil, err
	}
	config := ch.Config.DefaultSettings()
	for k, v := range set {
		config[k] = v
	}
	return config, nil
}

// SetConfig changes settings, all or none; values are as the user wrote them. A
// key in reset goes back to the charm's default.
func (s *Service) SetConfig(ctx context.Context, values map[string]string, reset []string) error {
	return s.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := s.refresh(ctx); err != nil {
			return nil, err
		}
		ch, err := s.st.Charm(ctx, s.doc.CharmURL)
		if err != nil {
			return nil, err
		}
		changes, err := ch.Config.ParseSettingsStrings(values)
		if err != nil {
			return nil, entity.Errorf(entity.Invalid, "%w", err)
		}
		for _, key := range reset {
			if _, known := ch.Config.Options[key]; !known {
				return nil, entity.Errorf(entity.Invalid, "unknown option %q", key)
			}
			changes[key] = nil
		}
		doc, err := s.st.settings(serviceKey(s.doc.Name))
		if err != nil {
			return nil, err
		}
		o := newOps()
		if err := o.changeSettings(doc, changes); err != nil {
			return nil, err
		}
		if len(o.list) > 0 {
			// The values were judged by this charm's options.
			o.assert(servicesC, s.doc.Name, bson.D{{"charm", s.doc.CharmURL}})
		}
		return o.build()
	})
}
