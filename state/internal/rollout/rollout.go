// Package rollout upgrades the units of a service to its charm in batches.
//
// While a rollout goes on, the service has the new charm, and each unit keeps the one that it runs until it is its turn,
// which is recorded on the unit. When the units of a batch are healthy, the next ones follow, the leader last: what it
// does for all of them, such as a migration, it does when all others have the new charm, and leadership moves only once.
// If they are not healthy in time the rollout stops until a user resumes or reverts it.
package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/mongo"
)

// A member is an Alive unit of the service.
type member struct {
	modeldb.Unit
	agent, workload entity.Status
	leads, lost     bool
	why             string // what is wrong with it, if anything
}

// ails says why a unit whose turn it was is not healthy; "" if it is. A unit of an earlier batch has been healthy, and
// runs other hooks meanwhile: it only must not be in error or lost, so that not all of them break one after another.
func (u member) ails(s modeldb.Service, earlier bool) string {
	forced := s.ForceCharm && !s.Rollout.Reverts && u.Turn.Was == entity.StatusError // it stays in error
	said := u.workload.Status
	switch {
	case said == entity.StatusError && !forced:
		return "in error: " + u.workload.Explained()
	case u.lost:
		return "lost: its agent is not connected"
	case earlier:
		return ""
	case u.CharmURL != s.CharmURL:
		return "not upgraded yet"
	case u.agent.Status != entity.StatusIdle:
		return strings.TrimSuffix(fmt.Sprintf("%s: %s", u.agent.Status, u.agent.Message), ": ")
	case said == entity.StatusActive || said == entity.StatusUnknown || said == u.Turn.Was:
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", said, u.workload.Message), ": ")
}

// A step is what a rollout does next. The zero step ends it.
type step struct {
	release []member      // the next batch
	at      time.Time     // its time
	stop    string        // why it stops
	ailing  []member      // the units because of which it stops
	wait    time.Duration // how long until it stops, if nothing changes
}

// progress returns what is wrong with the units whose turn it was, those that wait for theirs, and when the last batch began.
func progress(s modeldb.Service, units []member) (ailing, held []member, last time.Time) {
	for _, u := range units {
		if u.InTurn(s.Rollout) && u.Turn.At.After(last) {
			last = u.Turn.At
		}
	}
	for _, u := range units {
		if u.InTurn(s.Rollout) {
			if u.why = u.ails(s, u.Turn.At.Before(last)); u.why != "" {
				ailing = append(ailing, u)
			}
		} else if u.CharmURL != "" && u.CharmURL != s.CharmURL {
			held = append(held, u)
		}
	}
	return ailing, held, last
}

// next decides what a running rollout does.
func next(s modeldb.Service, units []member, now time.Time) step {
	ailing, held, last := progress(s, units)
	began := last
	if s.Rollout.Since.After(began) {
		began = s.Rollout.Since
	}
	switch left := began.Add(s.Rollout.Timeout).Sub(now); {
	case len(ailing) > 0 && left > 0:
		return step{wait: left}
	case len(ailing) > 0:
		return step{stop: fmt.Sprintf("not healthy within %v: %s", s.Rollout.Timeout, some(ailing)), ailing: ailing}
	case len(held) == 0:
		return step{}
	}
	slices.SortStableFunc(held, func(a, b member) int { return cmp.Compare(place(a), place(b)) })
	at := now
	if !at.After(last) {
		at = last.Add(time.Millisecond)
	}
	batch := held[:min(len(held), s.Rollout.Batch)]
	if n := len(batch) - 1; n > 0 && batch[n].leads {
		batch = batch[:n]
	}
	return step{release: batch, at: at, wait: s.Rollout.Timeout}
}

func place(u member) int {
	if u.leads {
		return 1
	}
	return 0
}

// some says of the first few units what is wrong with them.
func some(ailing []member) string {
	const few = 3
	var all []string
	for _, u := range ailing[:min(few, len(ailing))] {
		all = append(all, fmt.Sprintf("unit %s is %s", u.Name, u.why))
	}
	if len(ailing) > few {
		all = append(all, fmt.Sprintf("and %d more", len(ailing)-few))
	}
	return strings.Join(all, "; ")
}

// Advance takes the next step of a service's rollout, if there is one to take. It returns how long to wait for a change
// before it is called again; 0 if the rollout has ended or stopped. lost reports whether a unit's agent is lost, which is
// not in the database.
func Advance(ctx context.Context, db *modeltxn.DB, service string,
	lost func(unit string) bool) (again time.Duration, err error) {
	now := db.Now()
	err = db.Change(ctx, func(o *modeltxn.Ops) error {
		again = 0
		s, err := db.Service(ctx, service)
		if entity.IsNotFound(err) || err == nil && (s.Rollout == nil || s.Rollout.Stopped != "" || s.Life != entity.Alive) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		// Read the leader before the units: if two controllers choose a batch at the same time, and the leader changes
		// in between, either one sees the turns that the other gave, or its leader is not the leader any more.
		leader, led, err := db.Leader(ctx, service)
		if err != nil {
			return err
		}
		units, err := members(ctx, db, service, leader.Holder)
		if err != nil {
			return err
		}
		for i := range units {
			units[i].lost = lost(units[i].Name)
		}
		does := next(s, units, now)
		again = does.wait
		same := slices.Concat(modeltxn.IsAlive, s.KeepsCharm(), s.KeepsPace())
		switch {
		case does.stop != "":
			for _, u := range does.ailing { // one that is destroyed stops nothing
				o.AssertLife(modeldb.UnitsC, u.Name, u.Life)
			}
			o.Update(modeldb.ServicesC, service, same,
				bson.D{{"$set", bson.D{{"rollout.stopped", does.stop}, {"rollout.since", now}}}})
		case len(does.release) > 0:
			o.Assert(modeldb.ServicesC, service, same)
			if led {
				o.Assert(modeldb.LeadersC, service, bson.D{{"holder", leader.Holder}})
			} else {
				o.Assert(modeldb.LeadersC, service, txn.DocMissing)
			}
			for _, u := range does.release {
				releaseOps(o, s, u, does.at)
			}
		case again > 0:
			return mongo.ErrNothing
		default:
			var update bson.D
			ch, err := db.Charm(ctx, s.CharmURL)
			if err != nil {
				return err
			}
			// Those of endpoints that only the former charm has were kept for a revert.
			end := bson.D{{"rollout", 1}}
			if kept, gone := networks.Usable(ch.Meta, s.Bindings); len(gone) > 0 && len(kept) == 0 {
				end = append(end, bson.DocElem{Name: "bindings", Value: 1})
			} else if len(gone) > 0 {
				update = bson.D{{"$set", bson.D{{"bindings", kept}}}}
			}
			o.Update(modeldb.ServicesC, service, append(same, s.KeepsBindings()), append(update, bson.DocElem{Name: "$unset", Value: end}))
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("cannot continue the upgrade of service %q: %w", service, err)
	}
	return again, nil
}

// releaseOps tells a unit to run the service's charm. If that is the former one, and a hook has failed, it runs the hook
// again: the new charm is what the user gives up.
func releaseOps(o *modeltxn.Ops, s modeldb.Service, u member, at time.Time) {
	assert := append(slices.Clone(modeltxn.IsAlive), bson.DocElem{Name: "charm", Value: u.CharmURL})
	set := bson.D{{"turn", modeldb.Turn{Rollout: s.Rollout.ID, At: at, Was: u.workload.Status}}}
	if s.Rollout.Reverts && u.workload.Status == entity.StatusError && u.Resolved == entity.ResolvedNone {
		o.Assert(modeldb.StatusesC, modeldb.WorkloadKey(u.Name), bson.D{{"status", entity.StatusError}})
		assert = append(assert, bson.DocElem{Name: "resolved", Value: bson.D{{"$exists", false}}})
		set = append(set, bson.DocElem{Name: "resolved", Value: entity.ResolvedRetry})
	}
	o.Update(modeldb.UnitsC, u.Name, assert, bson.D{{"$set", set}})
}

// Holds says what a unit of a service waits for that keeps its charm until its turn in a rollout, and whether a user must
// act; "" if it does not wait. ailing is Ailing for the service.
func Holds(s modeldb.Service, u modeldb.Unit, ailing func() (string, error)) (why string, user bool, err error) {
	r := s.Rollout
	if r == nil || u.CharmURL == "" || u.CharmURL == s.CharmURL || u.InTurn(r) || u.Life != entity.Alive {
		return "", false, nil
	}
	why = fmt.Sprintf("unit %q keeps charm %s until its turn: service %q is upgraded to %s, %s at a time",
		u.Name, u.CharmURL, s.Name,
		s.CharmURL, entity.Counted(r.Batch, "unit"))
	if r.Stopped != "" {
		return why + "; the upgrade has stopped: " + r.Stopped, true, nil
	}
	units, err := ailing()
	if units != "" {
		why += "; until then " + units
	}
	return why, false, err
}

// Ailing says what is wrong with the units of a service whose turn it was in its rollout; "" if nothing is. Whether agents
// are lost is not known here.
func Ailing(ctx context.Context, db *modeltxn.DB, s modeldb.Service) (string, error) {
	units, err := members(ctx, db, s.Name, "")
	if err != nil {
		return "", err
	}
	ailing, _, _ := progress(s, units)
	return some(ailing), nil
}

// members reads the Alive units of a service, in natural order.
func members(ctx context.Context, db *modeltxn.DB, service, leader string) ([]member, error) {
	units, err := db.Units(ctx, bson.D{{"service", service}, {"life", entity.Alive}})
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, 2*len(units))
	for _, u := range units {
		keys = append(keys, modeldb.UnitKey(u.Name), modeldb.WorkloadKey(u.Name))
	}
	var docs []modeldb.Status
	if err := db.All(ctx, modeldb.StatusesC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &docs); err != nil {
		return nil, err
	}
	said := make(map[string]entity.Status, len(docs))
	for _, d := range docs {
		said[d.ID] = d.Mended()
	}
	all := make([]member, len(units))
	for i, u := range units {
		all[i] = member{Unit: u, agent: said[modeldb.UnitKey(u.Name)], workload: said[modeldb.WorkloadKey(u.Name)],
			leads: leader == u.Name}
	}
	return all, nil
}

// Check checks the size of a batch and the time that its units have to become healthy.
func Check(batch int, timeout time.Duration) error {
	switch {
	case batch < 1 || batch > entity.MaxBatch:
		return entity.Errorf(entity.Invalid, "a batch has 1 to %d units, not %d", entity.MaxBatch, batch)
	case timeout < time.Second || timeout > entity.MaxTimeout:
		return entity.Errorf(entity.Invalid, "the health timeout must be 1s to %v, not %v", entity.MaxTimeout, timeout)
	}
	return nil
}

// Resume continues a rollout that has stopped: the units of its last batch have the timeout again. It can change the
// batch and the timeout, also of a rollout that goes on; 0 keeps them.
func Resume(ctx context.Context, db *modeltxn.DB, service string, batch int, timeout time.Duration) error {
	now := db.Now()
	err := db.Change(ctx, func(o *modeltxn.Ops) error {
		s, err := db.Service(ctx, service)
		switch {
		case err != nil:
			return err
		case s.Rollout == nil:
			return None(service)
		case s.Rollout.Stopped == "" && batch == 0 && timeout == 0:
			return entity.WithHint(entity.Errorf(entity.Invalid, "it has not stopped"),
				"To see how far it is: juju status %s. To change its pace: --batch and --health-timeout", service)
		}
		if err := Check(cmp.Or(batch, s.Rollout.Batch), cmp.Or(timeout, s.Rollout.Timeout)); err != nil {
			return err
		}
		set := bson.D{{"rollout.since", now}} // and no more than what was asked for: another user may change the rest
		if batch != 0 {
			set = append(set, bson.DocElem{Name: "rollout.batch", Value: batch})
		}
		if timeout != 0 {
			set = append(set, bson.DocElem{Name: "rollout.timeout", Value: timeout})
		}
		o.Update(modeldb.ServicesC, service, append(slices.Clone(modeltxn.IsAlive), s.KeepsCharm()...),
			bson.D{{"$set", set}, {"$unset", bson.D{{"rollout.stopped", 1}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot resume the upgrade of service %q: %w", service, err)
	}
	return nil
}

// None is the error of a service that is not being upgraded in batches.
func None(service string) error {
	return entity.WithHint(entity.Errorf(entity.Invalid, "it is not being upgraded in batches"),
		"To choose a revision that the model has: juju upgrade-charm %s --revision N", service)
}
