package profiles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// NameOf returns the name of the profile of a service's charm, in Juju's form.
func NameOf(model modeldb.Model, service string, revision int) string {
	return fmt.Sprintf("juju-%s-%s-%s-%d", model.Name, model.UUID[:min(6, len(model.UUID))], service, revision)
}

// of returns the profile that units of a service get with a charm; an empty one if the charm has none.
func of(ctx context.Context, db *modeltxn.DB, model modeldb.Model, service,
	charmURL string) (entity.CharmProfile, error) {
	ch, err := db.Charm(ctx, charmURL)
	if err != nil || ch.Profile == nil || ch.Profile.IsEmpty() {
		return entity.CharmProfile{}, err
	}
	return entity.CharmProfile{Name: NameOf(model, service, ch.Revision), LXDProfile: ch.Profile.LXDProfile}, nil
}

// Wanted returns the profiles that a machine should have, by name.
func Wanted(ctx context.Context, db *modeltxn.DB, machine string) ([]entity.CharmProfile, error) {
	units, err := db.Units(ctx, bson.D{{"machine", machine}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, u := range units {
		names = append(names, u.Name)
	}
	if len(names) > 0 {
		beside, err := db.Units(ctx, bson.D{{"principal", bson.D{{"$in", names}}}})
		if err != nil {
			return nil, err
		}
		units = append(units, beside...)
	}
	w, err := newWants(ctx, db)
	if err != nil {
		return nil, err
	}
	var all []entity.CharmProfile
	for _, u := range units {
		p, err := w.of(ctx, u)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return tidy(all), nil
}

// tidy sorts profiles by name, each once, and drops empty ones.
func tidy(all []entity.CharmProfile) []entity.CharmProfile {
	all = slices.DeleteFunc(all, func(p entity.CharmProfile) bool { return p.Name == "" })
	byName := func(a, b entity.CharmProfile) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(all, byName)
	return slices.CompactFunc(all, func(a, b entity.CharmProfile) bool { return a.Name == b.Name })
}

// A wants is what the services of a model want.
type wants struct {
	db       *modeltxn.DB
	model    modeldb.Model
	services map[string]modeldb.Service
}

func newWants(ctx context.Context, db *modeltxn.DB) (*wants, error) {
	w := &wants{db: db, services: map[string]modeldb.Service{}}
	var err error
	if w.model, err = db.Model(ctx); err != nil {
		return nil, err
	}
	all, err := db.Services(ctx, nil)
	for _, s := range all {
		w.services[s.Name] = s
	}
	return w, err
}

// of returns the profile that a unit wants: that of the charm that it should run. A unit that was added since the services
// were read wants none, until it is read again.
func (w *wants) of(ctx context.Context, u modeldb.Unit) (entity.CharmProfile, error) {
	s, ok := w.services[u.Service]
	if !ok {
		return entity.CharmProfile{}, nil
	}
	return of(ctx, w.db, w.model, s.Name, s.CharmOf(u))
}

// any reports whether any unit may want a profile.
func (w *wants) any(ctx context.Context) (bool, error) {
	for _, s := range w.services {
		if s.Rollout != nil { // some of its units may run the former charm
			return true, nil
		}
		if p, err := of(ctx, w.db, w.model, s.Name, s.CharmURL); err != nil || p.Name != "" {
			return true, err
		}
	}
	return false, nil
}

// Work returns the machines with an instance of the cloud that has other profiles than it should, or of which it is not
// recorded, in natural order.
func Work(ctx context.Context, db *modeltxn.DB) ([]entity.ProfileWork, error) {
	machines, err := db.Machines(ctx, nil)
	if err != nil {
		return nil, err
	}
	wanted, err := allWanted(ctx, db)
	if err != nil {
		return nil, err
	}
	work := []entity.ProfileWork{}
	for _, m := range machines {
		if m.Life == entity.Dead || !inCloud(m) {
			continue
		}
		want := entity.ProfileRefs(tidy(wanted[m.ID]))
		if m.Profiles == nil || m.Profiles.Failed != "" || !slices.Equal(m.Profiles.Has, want) {
			work = append(work, entity.ProfileWork{Machine: m.ID, Instance: m.InstanceID, Wanted: want, Recorded: m.Profiles != nil})
		}
	}
	return work, nil
}

// inCloud reports whether the provisioner has started an instance for a machine.
func inCloud(m modeldb.Machine) bool {
	return m.InstanceID != "" && m.InstanceID != entity.BootstrapInstance && !entity.IsManualInstance(m.InstanceID)
}

// allWanted returns the profiles that units want, by machine.
func allWanted(ctx context.Context, db *modeltxn.DB) (map[string][]entity.CharmProfile, error) {
	w, err := newWants(ctx, db)
	if err != nil {
		return nil, err
	}
	if some, err := w.any(ctx); err != nil || !some {
		return nil, err
	}
	units, err := db.Units(ctx, nil)
	if err != nil {
		return nil, err
	}
	machineOf := map[string]string{}
	for _, u := range units {
		machineOf[u.Name] = u.Machine
	}
	wanted := map[string][]entity.CharmProfile{}
	for _, u := range units {
		p, err := w.of(ctx, u)
		if err != nil {
			return nil, err
		}
		if id := machineOf[cmp.Or(u.Principal, u.Name)]; id != "" && p.Name != "" {
			wanted[id] = append(wanted[id], p)
		}
	}
	return wanted, nil
}

// Awaited returns the name of the profile that a unit must wait for before it deploys the charm that it should run, "" for
// none. machine is the one that the unit is on.
func Awaited(ctx context.Context, db *modeltxn.DB, u modeldb.Unit, svc modeldb.Service,
	machine modeldb.Machine) (string, error) {
	if machine.Profiles == nil || u.Life != entity.Alive {
		return "", nil
	}
	model, err := db.Model(ctx)
	if err != nil {
		return "", err
	}
	p, err := of(ctx, db, model, svc.Name, svc.CharmOf(u))
	if err != nil || p.Name == "" || slices.Contains(machine.Profiles.Has, p.Ref()) {
		return "", err
	}
	return p.Name, nil
}

// Set records which profiles the instance of a machine has, or why it could not get those that it should. It does nothing
// if the machine has another instance by now.
func Set(ctx context.Context, db *modeltxn.DB, machine string, set entity.ProfilesSet) error {
	err := db.Change(ctx, func(o *modeltxn.Ops) error {
		m, err := db.Machine(ctx, machine)
		if entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		now := modeldb.Profiles{Has: set.Has, Failed: limits.StatusMessage.Cut(set.Failed)}
		if set.Failed != "" {
			now.Has = nil
			if m.Profiles != nil {
				now.Has = m.Profiles.Has
			}
		}
		if now.Has == nil {
			now.Has = []entity.ProfileRef{}
		}
		switch {
		case m.InstanceID != set.Instance || !inCloud(m):
			return mongo.ErrNothing
		case m.Profiles != nil && slices.Equal(m.Profiles.Has, now.Has) && m.Profiles.Failed == now.Failed:
			return mongo.ErrNothing
		}
		o.Update(modeldb.MachinesC, machine, bson.D{{"instance", set.Instance}}, bson.D{{"$set", bson.D{{"profiles", now}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot record the profiles of machine %s: %w", machine, err)
	}
	return nil
}
