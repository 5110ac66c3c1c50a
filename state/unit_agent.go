package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/internal/profiles"
	"juju/state/internal/watches"
	"juju/state/limits"
	"juju/state/mongo"
)

// SetStatus sets the status of the unit's workload.
func (u *Unit) SetStatus(ctx context.Context, s entity.Status) error {
	return u.st.db.SetStatus(ctx, modeldb.WorkloadKey(u.doc.Name), s)
}

// Status returns the status of the unit's workload.
func (u *Unit) Status(ctx context.Context) (entity.Status, error) {
	return u.st.db.Status(ctx, modeldb.WorkloadKey(u.doc.Name))
}

// SetAgentStatus sets the status of the unit's agent. The first one records that the agent has started.
func (u *Unit) SetAgentStatus(ctx context.Context, s entity.Status) error {
	return u.st.db.SetStatus(ctx, modeldb.UnitKey(u.doc.Name), s, func(o *modeltxn.Ops) error {
		if !u.doc.Started {
			o.Update(modeldb.UnitsC, u.doc.Name, modeltxn.Exists, bson.D{{"$set", bson.D{{"started", true}}}})
		}
		return nil
	})
}

// Resolve resolves the unit's failed hook: the agent runs it again, or continues as if it had succeeded.
func (u *Unit) Resolve(ctx context.Context, retry bool) error {
	mode := entity.ResolvedNoHooks
	if retry {
		mode = entity.ResolvedRetry
	}
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		workload, err := u.st.db.Status(ctx, modeldb.WorkloadKey(u.doc.Name))
		if err != nil {
			return err
		}
		switch {
		case u.doc.Resolved != entity.ResolvedNone:
			return entity.Errorf(entity.Invalid, "cannot set resolved mode for unit %q: already resolved", u.doc.Name)
		case workload.Status != entity.StatusError:
			return entity.WithHint(entity.Errorf(entity.Invalid, "unit %q is not in an error state", u.doc.Name),
				"To see what it is doing: juju status %s", u.doc.Name)
		}
		// A unit that has recovered by itself would take the mode for its next error.
		o.Assert(modeldb.StatusesC, modeldb.WorkloadKey(u.doc.Name), bson.D{{"status", entity.StatusError}})
		o.Update(modeldb.UnitsC, u.doc.Name, bson.D{{"resolved", bson.D{{"$exists", false}}}},
			bson.D{{"$set", bson.D{{"resolved", mode}}}})
		return nil
	})
}

// ClearResolved records that the agent has acted on Resolve.
func (u *Unit) ClearResolved(ctx context.Context) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		if u.doc.Resolved == entity.ResolvedNone {
			return mongo.ErrNothing
		}
		o.Update(modeldb.UnitsC, u.doc.Name, modeltxn.Exists, bson.D{{"$unset", bson.D{{"resolved", 1}}}})
		return nil
	})
}

// SetCharm records the charm that the unit runs, or is about to unpack.
func (u *Unit) SetCharm(ctx context.Context, url string) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		if u.doc.CharmURL == url {
			return mongo.ErrNothing
		}
		if _, err := u.st.db.Charm(ctx, url); err != nil {
			return err
		}
		if u.doc.Life == entity.Dead {
			return entity.Errorf(entity.NotAlive, "unit %q is dead", u.doc.Name)
		}
		if err := u.st.db.UseCharm(ctx, o.Ops, url); err != nil {
			return err
		}
		o.Update(modeldb.UnitsC, u.doc.Name, modeltxn.NotDead, bson.D{{"$set", bson.D{{"charm", url}}}})
		return nil
	})
}

// bound returns the addresses of the endpoints that are bound to other spaces than alpha.
func (u *Unit) bound(ctx context.Context, svc *Service, addresses []string) (map[string]entity.BoundAddress, error) {
	if len(svc.doc.Bindings) == 0 {
		return nil, nil
	}
	ch, err := u.st.db.Charm(ctx, svc.doc.CharmURL)
	if err != nil {
		return nil, err
	}
	doc, err := u.st.db.Networks(ctx)
	bound := map[string]entity.BoundAddress{}
	for _, endpoint := range append(ch.Meta.Endpoints(), charm.ImplicitRelation().Name) {
		space := doc.NameOf(svc.doc.SpaceFor(endpoint))
		if space == entity.AlphaSpace {
			continue
		}
		address := entity.BoundAddress{Space: space}
		if a, ok := networks.AddressFor(doc, svc.doc, endpoint, addresses); ok {
			address.Address = a
		}
		bound[endpoint] = address
	}
	return bound, err
}

// Info returns what the unit's agent needs to know.
func (u *Unit) Info(ctx context.Context) (entity.UnitInfo, error) {
	if err := u.refresh(ctx); err != nil {
		return entity.UnitInfo{}, err
	}
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return entity.UnitInfo{}, err
	}
	config, err := u.st.db.Settings(ctx, modeldb.ServiceKey(u.doc.Service))
	if err != nil {
		return entity.UnitInfo{}, err
	}
	info := entity.UnitInfo{
		Name: u.doc.Name, Service: u.doc.Service, Machine: u.doc.Machine, Principal: u.doc.Principal,
		Life: u.doc.Life, Strength: u.doc.Strength, ServiceLife: svc.doc.Life, Resolved: u.doc.Resolved,
		CharmURL: u.doc.CharmURL, ServiceCharmURL: svc.doc.CharmOf(u.doc), ForceCharm: svc.doc.ForceCharm,
		ConfigVersion: config.Version, ResourcesVersion: svc.doc.Resources, Started: u.doc.Started,
	}
	leaders, err := u.st.db.Settings(ctx, modeldb.LeaderSettingsKey(u.doc.Service))
	if err != nil && !entity.IsNotFound(err) {
		return entity.UnitInfo{}, err
	}
	info.LeaderSettingsVersion = leaders.Version
	if info.Tasks, err = u.taskRefs(ctx); err != nil {
		return entity.UnitInfo{}, err
	}
	if info.Secrets, err = u.st.secrets().Events(ctx, u.doc); err != nil {
		return entity.UnitInfo{}, err
	}
	if info.Storage, err = u.storage(ctx); err != nil {
		return entity.UnitInfo{}, err
	}
	if info.Subordinates, err = watches.DeployedBy(ctx, u.st.db, entity.UnitTag(u.doc.Name)); err != nil {
		return entity.UnitInfo{}, err
	}
	slices.SortFunc(info.Subordinates, entity.CompareNatural)
	machine, err := u.machine(ctx)
	if err != nil {
		return entity.UnitInfo{}, err
	}
	if addresses := machine.Addresses; len(addresses) > 0 {
		info.PrivateAddress, info.PublicAddress = addresses[0], addresses[0]
		if info.Bound, err = u.bound(ctx, svc, addresses); err != nil {
			return entity.UnitInfo{}, err
		}
	}
	info.Zone = machine.CloudHardware.Zone
	if up := machine.Upgrade; up != nil {
		info.Upgrade = &entity.UnitUpgrade{Number: up.Number, To: up.To, Completing: up.Completing, Done: !slices.Contains(up.Waiting, u.doc.Name)}
	}
	if info.AwaitedProfile, err = profiles.Awaited(ctx, u.st.db, u.doc, svc.doc, machine); err != nil {
		return entity.UnitInfo{}, err
	}
	if u.doc.Principal != "" {
		alive, err := u.st.hasContainerRelation(ctx, u.doc.Service, entity.UnitService(u.doc.Principal))
		if err != nil {
			return entity.UnitInfo{}, err
		}
		info.OrphanedBySubRel = !alive
	}
	return info, nil
}

// Config returns the settings that the unit's hooks see, for the charm that the unit runs, which can be older than the
// service's.
func (u *Unit) Config(ctx context.Context) (map[string]any, error) {
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return nil, err
	}
	return svc.EffectiveConfig(ctx, cmp.Or(u.doc.CharmURL, svc.doc.CharmURL))
}

// RequestReboot asks the agent of the unit's machine to restart the machine. boot identifies the current boot: once the
// machine has booted again, the request is satisfied. So if several units request a reboot, or repeat it, the machine
// restarts once.
func (u *Unit) RequestReboot(ctx context.Context, boot string) error {
	err := u.st.change(ctx, func(o *ops) error {
		if err := limits.Boot.CheckText(boot); err != nil {
			return err
		}
		if err := u.refresh(ctx); err != nil {
			return err
		}
		machine, err := u.st.db.MachineOf(ctx, u.doc)
		if err != nil {
			return err
		}
		m, err := u.st.Machine(ctx, machine)
		if err != nil {
			return err
		}
		switch {
		case boot == "":
			return entity.Errorf(entity.Invalid, "no boot specified")
		case m.doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "machine %s is dead", machine)
		case m.doc.Reboot == boot:
			return mongo.ErrNothing
		}
		// A hook of a unit that was removed meanwhile does not reboot the machine of others.
		o.Assert(modeldb.UnitsC, u.doc.Name, modeltxn.Exists)
		o.Update(modeldb.MachinesC, machine, modeltxn.NotDead, bson.D{{"$set", bson.D{{"reboot", boot}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot request a reboot for unit %s: %w", u.doc.Name, err)
	}
	return nil
}

// Deployed returns the units that a machine or principal deploys, in natural order.
func (a Agents) Deployed(ctx context.Context, parent entity.Tag) ([]entity.AgentUnit, error) {
	names, err := watches.DeployedBy(ctx, a.st.db, parent)
	if err != nil {
		return nil, err
	}
	units, err := a.st.units(ctx, bson.D{{"_id", bson.D{{"$in", names}}}})
	all := make([]entity.AgentUnit, len(units))
	for i, u := range units {
		all[i] = entity.AgentUnit{Name: u.doc.Name, Life: u.doc.Life}
	}
	return all, err
}
