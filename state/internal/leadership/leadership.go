// Package leadership decides which unit leads a service.
//
// Leadership is split across two databases. The lease, in the controller's, determines for how long no other
// unit may lead a service. The leaders document, in the model's, names the unit that leads it, and is what a
// leader's writes assert. No transaction covers both, so a claim takes the lease, then writes its holder and
// epoch to the leaders document, and only then is granted. The epoch grows each time the lease is taken, and
// the document never accepts a lower one. So a delayed leader that does not know it was replaced can't write
// once its successor leads.
package leadership

import (
	"cmp"
	"context"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The minimum and maximum duration of a claim.
const (
	MinLease = 5 * time.Second
	MaxLease = 5 * time.Minute
)

// A Leadership is the leadership of a model's services.
type Leadership struct {
	DB     *modeltxn.DB
	Leases *lease.Leases
	Hub    *watcher.Hub
}

func refusedLeadership() error {
	return entity.Errorf(entity.LeadershipRefused, "leadership claim denied")
}

// Claim makes the unit the leader of its service, or extends its leadership, for at least d from the call. It
// returns the epoch to pass to writes that only a leader may make. The error is entity.LeadershipRefused
// while another unit leads, and if the unit is not Alive, unless its service is Dying: then all are, and have things to end.
func (l Leadership) Claim(ctx context.Context, u modeldb.Unit, d time.Duration) (epoch int64, err error) {
	if d < MinLease || d > MaxLease {
		return 0, entity.Errorf(entity.Invalid, "invalid duration %v: a leader leads for %v to %v before it asks again", d,
			MinLease, MaxLease)
	}
	d = lease.WholeMillis(d)
	for tries := l.Leases.Tries(); tries.Next(); {
		began := l.DB.Clock()
		epoch, done, err := l.claim(ctx, u, d)
		// If the caller was delayed until the lease expired, it does not lead yet: try
		// again.
		if err != nil || done && l.DB.Clock().Sub(began) < d {
			return epoch, err
		}
		if err := tries.Pause(ctx); err != nil {
			return 0, err
		}
	}
	return 0, mongo.Contention("")
}

// claim makes one attempt. If it returns false without an error, the caller must retry.
func (l Leadership) claim(ctx context.Context, u modeldb.Unit, d time.Duration) (epoch int64, done bool, err error) {
	service := u.Service
	held, err := l.Leases.Read(ctx, lease.ID(l.DB.UUID, service))
	if err != nil {
		return 0, false, err
	}
	holds := held.Holder == u.Name
	if !holds {
		if free, err := l.isFree(ctx, held); err != nil || !free {
			return 0, false, orRefused(err)
		}
	}
	if u, err = l.eligible(ctx, u.Name); err != nil {
		return 0, false, err
	}
	leader, there, err := l.DB.Leader(ctx, service)
	if err != nil {
		return 0, false, err
	}
	if !there {
		return 0, false, l.makeLeaders(ctx, service)
	}
	if holds && leader.Epoch < held.Epoch { // the claim was interrupted after taking the lease
		return 0, false, l.becomeLeader(ctx, u, held.Epoch)
	}
	if holds && leader.Epoch == held.Epoch && leader.Holder == u.Name {
		done, err = l.Leases.Swap(ctx, held, held.Renewed(d))
		return held.Epoch, done, err
	}
	next := held.Taken(u.Name, max(held.Epoch, leader.Epoch)+1, d)
	if taken, err := l.Leases.Swap(ctx, held, next); err != nil || !taken {
		return 0, false, err
	}
	if err = l.becomeLeader(ctx, u, next.Epoch); err != nil {
		if _, gone := l.DB.Unit(ctx, u.Name); entity.IsNotFound(gone) { // perhaps with its service and the cleanup of its lease
			_, dropped := l.Leases.Drop(ctx, lease.Lease{Doc: next, There: true})
			err = cmp.Or(dropped, err)
		}
	}
	return next.Epoch, true, err
}

func orRefused(err error) error {
	if err == nil {
		err = refusedLeadership()
	}
	return err
}

// eligible returns a unit that may lead its service; the error is entity.LeadershipRefused if it may not.
func (l Leadership) eligible(ctx context.Context, name string) (modeldb.Unit, error) {
	u, err := l.DB.Unit(ctx, name)
	if err == nil && u.Life == entity.Dying {
		var s modeldb.Service
		if s, err = l.DB.Service(ctx, u.Service); err == nil && s.Life == entity.Dying {
			return u, nil
		}
	}
	if entity.IsNotFound(err) || err == nil && u.Life != entity.Alive {
		err = refusedLeadership()
	}
	return u, err
}

// isFree reports whether any unit may take a lease: it has expired or was released, or its holder is Dead or removed.
func (l Leadership) isFree(ctx context.Context, held lease.Lease) (bool, error) {
	if held.Holder == "" || held.Left <= 0 {
		return true, nil
	}
	if holder, err := l.DB.AsWatched().Unit(ctx, held.Holder); err == nil && holder.Life != entity.Dead {
		return false, nil // once that has changed, an event wakes who waits for it
	}
	holder, err := l.DB.Unit(ctx, held.Holder)
	if entity.IsNotFound(err) {
		return true, nil
	}
	return err == nil && holder.Life == entity.Dead, err
}

// makeLeaders inserts the leaders document of a service.
func (l Leadership) makeLeaders(ctx context.Context, service string) error {
	token := mongo.NewID()
	return l.DB.Change(ctx, func(o *modeltxn.Ops) error {
		if _, there, err := l.DB.Leader(ctx, service); err != nil {
			return err
		} else if there {
			return mongo.ErrNothing
		}
		if _, err := l.DB.Service(ctx, service); entity.IsNotFound(err) {
			return refusedLeadership() // the service was removed, and the unit with it
		} else if err != nil {
			return err
		}
		// The counts are inserted and removed with the service.
		o.Expect(modeldb.ServiceKey(service), modeldb.LeadersC, bson.D{{"$exists", false}})
		o.Inc(modeldb.ServiceKey(service), modeldb.LeadersC, 1)
		o.Insert(modeldb.LeadersC, service, modeldb.Leader{Service: service, Token: token})
		return nil
	})
}

// becomeLeader is the second step of a claim, by the holder of the lease.
func (l Leadership) becomeLeader(ctx context.Context, u modeldb.Unit, epoch int64) error {
	return l.DB.Change(ctx, func(o *modeltxn.Ops) error {
		u, err := l.eligible(ctx, u.Name)
		if err != nil {
			return err
		}
		leader, there, err := l.DB.Leader(ctx, u.Service)
		switch {
		case err != nil:
			return err
		case leader.Epoch == epoch && leader.Holder == u.Name:
			return mongo.ErrNothing
		case !there || leader.Epoch >= epoch:
			return refusedLeadership() // another unit has led since the lease was taken
		}
		o.AssertLife(modeldb.UnitsC, u.Name, u.Life)
		o.Update(modeldb.LeadersC, u.Service, bson.D{{"epoch", bson.D{{"$lt", epoch}}}},
			bson.D{{"$set", bson.D{{"holder", u.Name}, {"epoch", epoch}}}})
		return nil
	})
}

// Assert asserts that a unit leads its service by the claim that returned this epoch. The error is
// entity.LeadershipRefused if it does not, and entity.NotFound if the unit was removed.
func Assert(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, u modeldb.Unit, epoch int64) error {
	leader, _, err := db.Leader(ctx, u.Service)
	if err != nil {
		return err
	}
	if leader.Holder != u.Name || leader.Epoch != epoch {
		return Refusal(ctx, db, u)
	}
	o.Assert(modeldb.LeadersC, u.Service, bson.D{{"holder", u.Name}, {"epoch", epoch}})
	return nil
}

// Refusal returns why a unit does not lead.
func Refusal(ctx context.Context, db *modeltxn.DB, u modeldb.Unit) error {
	if _, err := db.Unit(ctx, u.Name); err != nil {
		return err // it was removed, so it no longer leads
	}
	return entity.Errorf(entity.LeadershipRefused, "unit %q is not the leader of service %q", u.Name, u.Service)
}

// Release releases a unit's leadership, so that another unit can lead immediately. It does nothing if the unit does not
// lead.
func (l Leadership) Release(ctx context.Context, u modeldb.Unit) error {
	for tries := l.Leases.Tries(); tries.Next(); {
		held, err := l.Leases.Read(ctx, lease.ID(l.DB.UUID, u.Service))
		if err != nil {
			return err
		}
		if held.Holder == u.Name {
			given, err := l.Leases.Swap(ctx, held, held.Released())
			if err != nil {
				return err
			}
			if !given { // it was renewed concurrently
				if err := tries.Pause(ctx); err != nil {
					return err
				}
				continue
			}
		} else if held.Holder != "" {
			return nil
		}
		return l.stepDown(ctx, u, held.Epoch)
	}
	return mongo.Contention("")
}

// stepDown removes the unit from the leaders document if it leads by the claim of this epoch.
func (l Leadership) stepDown(ctx context.Context, u modeldb.Unit, epoch int64) error {
	return l.DB.Change(ctx, func(o *modeltxn.Ops) error {
		leader, _, err := l.DB.Leader(ctx, u.Service)
		if err != nil {
			return err
		}
		if leader.Holder != u.Name || leader.Epoch != epoch {
			return mongo.ErrNothing
		}
		o.Update(modeldb.LeadersC, u.Service, bson.D{{"holder", u.Name}, {"epoch", epoch}},
			bson.D{{"$set", bson.D{{"holder", ""}}}})
		return nil
	})
}

// BlockUntilReleased waits until the leadership of a service is free: no unit leads it, or its lease has
// expired. Another unit may still claim it before the caller does.
func (l Leadership) BlockUntilReleased(ctx context.Context, service string) error {
	sub := l.Hub.Subscribe(watcher.Doc(modeldb.LeadersC, service))
	defer sub.Close()
	holder := ""
	for {
		held, err := l.Leases.Read(ctx, lease.ID(l.DB.UUID, service))
		if err != nil {
			return err
		}
		if held.Holder != holder {
			// Watch before reading: the removal of the holder counts as a release too.
			sub.Drop(watcher.Doc(modeldb.UnitsC, holder))
			holder = held.Holder
			sub.Add(watcher.Doc(modeldb.UnitsC, holder))
		}
		if free, err := l.isFree(ctx, held); err != nil || free {
			return err
		}
		if err := sub.Await(ctx, held.Left); err != nil {
			return err
		}
	}
}

// LeaveLease adds a cleanup that removes the lease of a service being removed.
func LeaveLease(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, service string) error {
	doc, there, err := db.Leader(ctx, service)
	if there {
		o.Cleanup(modeldb.CleanupLease, service+"#"+doc.Token)
	}
	return err
}

// EndLease removes the lease of a removed service, unless a new service of the same name has taken it over.
func (l Leadership) EndLease(ctx context.Context, arg string) (done bool, err error) {
	service, _, _ := strings.Cut(arg, "#")
	held, err := l.Leases.Read(ctx, lease.ID(l.DB.UUID, service))
	if err != nil || !held.There {
		return err == nil, err
	}
	if held.Holder != "" {
		if _, err := l.DB.Unit(ctx, held.Holder); !entity.IsNotFound(err) {
			return err == nil, err
		}
	}
	return l.Leases.Drop(ctx, held)
}
