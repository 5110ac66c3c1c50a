package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// PrepareUpgrade locks an Alive machine, so that a user can upgrade its operating system to a series: its units run
// pre-series-upgrade and then nothing until CompleteUpgrade, and it gets no new units. The error is entity.Invalid if a charm of
// its units does not name the series, unless force is set, or if the machine is locked already.
func (m *Machine) PrepareUpgrade(ctx context.Context, series string, force bool) error {
	since := m.st.db.Now()
	err := m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		if err := m.checkUpgrade(series); err != nil {
			return err
		}
		waiting, err := m.lockUnits(ctx, o, func(u *Unit) error { return u.checkSeries(ctx, series, force) })
		if err != nil {
			return err
		}
		assert := append(bson.D{{"life", entity.Alive}, {"series", m.doc.Series}, {"instance", bson.D{{"$exists", true}}}},
			(*modeldb.SeriesUpgrade)(nil).AsRead()...)
		number := m.doc.Upgrades + 1
		o.Update(modeldb.MachinesC, m.doc.ID, assert, bson.D{{"$set", bson.D{{"upgrades", number},
			{"upgrade", modeldb.SeriesUpgrade{Number: number, To: series, Since: since, Waiting: waiting}}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot prepare machine %s for an upgrade: %w", m.doc.ID, err)
	}
	return nil
}

// checkUpgrade rejects the upgrade of the machine, as it was read, to a series.
func (m *Machine) checkUpgrade(series string) error {
	switch {
	case !charm.IsValidSeries(series):
		return entity.InvalidSeries(series)
	case m.doc.Life != entity.Alive:
		return entity.Errorf(entity.NotAlive, "machine is not alive")
	case m.IsManager():
		return entity.Errorf(entity.NotSupported, "it runs a controller")
	case m.doc.Upgrade != nil:
		return entity.WithHint(entity.Errorf(entity.Invalid, "it is already being upgraded to %q",
			entity.BaseOf(m.doc.Upgrade.To).Short()),
			"Complete that upgrade first, or give it up with --keep-base: juju upgrade-machine %s complete", m.doc.ID)
	case m.doc.Series == series:
		return entity.Errorf(entity.Invalid, "it already has base %q", entity.BaseOf(series).Short())
	case m.doc.InstanceID == "":
		return entity.WithHint(entity.Errorf(entity.Invalid, "it has not started"), "To see why: juju explain %s", m.doc.ID)
	}
	return nil
}

// checkSeries rejects a series that the charm of the unit's service does not name, unless force is set.
func (u *Unit) checkSeries(ctx context.Context, series string, force bool) error {
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil || force {
		return err
	}
	ch, err := u.st.db.Charm(ctx, svc.doc.CharmURL)
	if err == nil && !ch.Meta.Supports(series) {
		err = unsupported(ch.Meta, series)
	}
	return err
}

// lockUnits returns the names of the machine's Alive units, subordinates too, and marks them, so that their destruction leaves a
// cleanup. It asserts that these are all until the transaction is applied.
func (m *Machine) lockUnits(ctx context.Context, o *ops, check func(*Unit) error) (names []string, err error) {
	units, err := m.hosted(ctx)
	if err != nil {
		return nil, err
	}
	principals, subordinates := 0, map[string]int{}
	for _, u := range units {
		if subordinates[u.doc.Principal]++; u.doc.Principal == "" {
			principals++
		}
	}
	o.Expect(keyOf(m), "units", principals)
	for _, u := range units {
		if u.doc.Principal == "" {
			o.Expect(keyOf(u), "subordinates", subordinates[u.doc.Name])
		}
		if u.doc.Life != entity.Alive { // the counts would hide that one was removed and another added
			o.AssertLife(modeldb.UnitsC, u.doc.Name, u.doc.Life)
			continue
		}
		if err := check(u); err != nil {
			return nil, err
		}
		names = append(names, u.doc.Name)
		if u.doc.Locked {
			o.AssertLife(modeldb.UnitsC, u.doc.Name, entity.Alive)
		} else {
			o.Update(modeldb.UnitsC, u.doc.Name, modeltxn.IsAlive, bson.D{{"$set", bson.D{{"locked", true}}}})
		}
	}
	slices.SortFunc(names, entity.CompareNatural)
	return names, nil
}

// CompleteUpgrade has the units of a machine that PrepareUpgrade has locked run post-series-upgrade. Once all have, the machine
// is no longer locked, and has the new series, unless keep says that its operating system was not upgraded. The error is
// entity.Invalid if the machine is not locked, or if units have not finished preparing. Called again, it changes at most the
// series that the machine gets, to the one that it has.
func (m *Machine) CompleteUpgrade(ctx context.Context, keep bool) error {
	since := m.st.db.Now()
	err := m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		up := m.doc.Upgrade
		kept := !keep || up != nil && up.To == m.doc.Series
		switch {
		case m.doc.Life != entity.Alive:
			return entity.Errorf(entity.NotAlive, "machine is not alive")
		case up == nil:
			return entity.WithHint(entity.Errorf(entity.Invalid, "it has not been prepared"),
				"Prepare it first: juju upgrade-machine %s prepare BASE", m.doc.ID)
		case up.Completing && kept && len(up.Waiting) > 0: // else a repair took the last unit off the list
			return mongo.ErrNothing
		case !up.Completing && len(up.Waiting) > 0:
			return entity.WithHint(entity.Errorf(entity.Invalid, "units have not finished preparing: %s",
				strings.Join(up.Waiting, ", ")),
				"To see what a unit is waiting for: juju explain %s", up.Waiting[0])
		}
		next := *up
		if keep {
			next.To = m.doc.Series
		}
		if !up.Completing {
			waiting, err := m.lockUnits(ctx, o, func(*Unit) error { return nil })
			if err != nil {
				return err
			}
			next.Completing, next.Since, next.Waiting = true, since, waiting
		}
		m.upgradeOps(o, modeltxn.IsAlive, next)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot complete the upgrade of machine %s: %w", m.doc.ID, err)
	}
	return nil
}

// upgradeOps replaces the machine's lock. If no unit is left to complete the upgrade, it removes the lock and sets the series.
func (m *Machine) upgradeOps(o *ops, assert bson.D, next modeldb.SeriesUpgrade) {
	next.Version++
	update := bson.D{{"$set", bson.D{{"upgrade", next}}}}
	if next.Completing && len(next.Waiting) == 0 {
		update = bson.D{{"$set", bson.D{{"series", next.To}}}, {"$unset", bson.D{{"upgrade", 1}}}}
	}
	o.Update(modeldb.MachinesC, m.doc.ID, slices.Concat(assert, m.doc.Upgrade.AsRead()), update)
}

// FinishUpgradeStep records that the unit has finished a step of the upgrade of its machine's operating system. It does nothing
// if the machine's upgrade, or its step, is another one by now, or if it was called before.
func (u *Unit) FinishUpgradeStep(ctx context.Context, number int64, completing bool) error {
	err := u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		machine, err := u.st.db.MachineOf(ctx, u.doc)
		if err != nil || machine == "" {
			return cmp.Or(err, mongo.ErrNothing)
		}
		m, err := u.st.Machine(ctx, machine)
		if err != nil {
			return err
		}
		up := m.doc.Upgrade
		if up == nil || up.Number != number || up.Completing != completing {
			return mongo.ErrNothing
		}
		return m.noLongerWaits(o, u.doc.Name)
	})
	if err != nil {
		return fmt.Errorf("cannot finish a step of the upgrade of unit %s: %w", u.doc.Name, err)
	}
	return nil
}

// noLongerWaits lets the machine's upgrade no longer wait for a unit.
func (m *Machine) noLongerWaits(o *ops, unit string) error {
	next := *m.doc.Upgrade
	next.Waiting = slices.DeleteFunc(slices.Clone(next.Waiting), func(name string) bool { return name == unit })
	if len(next.Waiting) == len(m.doc.Upgrade.Waiting) {
		return mongo.ErrNothing
	}
	m.upgradeOps(o, nil, next)
	return nil
}

// cleanupUpgrade lets the upgrade of a destroyed unit's machine no longer wait for the unit, whose agent runs no hook of it.
func (st *State) cleanupUpgrade(ctx context.Context, unit string) error {
	return st.change(ctx, func(o *ops) error {
		machines, err := st.machines(ctx, bson.D{{"upgrade.waiting", unit}})
		if err != nil || len(machines) == 0 {
			return cmp.Or(err, mongo.ErrNothing)
		}
		return machines[0].noLongerWaits(o, unit)
	})
}
