package state

import (
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

// Leadership is in two databases. The lease, in the controller's, says for how long no
// other unit may lead a service. The leaders document, in the model's, says which unit
// leads it, and is what a leader's writes assert. No transaction covers both, so a claim
// takes the lease, then writes its holder and epoch to the leaders document, and only
// then is granted. The epoch grows each time the lease is taken, and the document never
// takes a lower one. So a leader that was held up, and does not know that it was
// replaced, can't write once its successor leads.

// The minimum and maximum duration of a claim.
const (
	MinLease = 5 * time.Second
	MaxLease = 5 * time.Minute
)

func refusedLeadership() error {
	return entity.Errorf(entity.LeadershipRefused, "leadership claim denied")
}

// ClaimLeadership makes the unit the leader of its service, or extends its leadership,
// for at least d from the call. It returns the epoch to be named in writes that only a
// leader may make. The error is entity.LeadershipRefused while another unit leads, and if
// the unit is not Alive.
func (u *Unit) ClaimLeadership(ctx context.Context, d time.Duration) (epoch int64, err error) {
	if d < MinLease || d > MaxLease {
		return 0, entity.Errorf(entity.Invalid, "invalid duration %v: a leader leads for %v to %v before it asks again", d,
			MinLease, MaxLease)
	}
	d = wholeMillis(d)
	for tries := u.st.host.Leases.Tries(); tries.Next(); {
		began := u.st.host.Now()
		epoch, done, err := u.claim(ctx, d)
		// A caller that was held up until the time is over has not been told that it
		// leads: try again.
		if err != nil || done && u.st.host.Now().Sub(began) < d {
			return epoch, err
		}
		if err := tries.Pause(ctx); err != nil {
			return 0, err
		}
	}
	return 0, tooQuick()
}

// wholeMillis rounds d up to the store's precision.
func wholeMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// claim tries once. It is not done if another unit came in between.
func (u *Unit) claim(ctx context.Context, d time.Duration) (epoch int64, done bool, err error) {
	if err := u.refresh(ctx); entity.IsNotFound(err) || err == nil && u.doc.Life != entity.Alive {
		return 0, false, refusedLeadership()
	} else if err != nil {
		return 0, false, err
	}
	leases, service := u.st.host.Leases, u.doc.Service
	leader, there, err := u.st.db.Leader(service)
	if err != nil {
		return 0, false, err
	}
	if !there {
		return 0, false, u.st.makeLeaders(ctx, service)
	}
	l, err := leases.Read(lease.ID(u.st.db.UUID, service))
	if err != nil {
		return 0, false, err
	}
	mine := l.Holder == u.doc.Name
	if mine && leader.Epoch < l.Epoch { // the claim was cut short after taking the lease
		return 0, false, u.becomeLeader(ctx, l.Epoch)
	}
	if mine && leader.Epoch == l.Epoch && leader.Holder == u.doc.Name {
		next := l.Doc
		next.Beat++
		// An earlier promise is kept, even if this request was overtaken by a later
		// one.
		next.Duration = max(d, wholeMillis(l.Left))
		done, err = leases.Swap(ctx, l, next)
		return l.Epoch, done, err
	}
	if !mine {
		if free, err := u.st.isFree(ctx, l); err != nil || !free {
			return 0, false, orRefused(err)
		}
	}
	next := lease.Doc{ID: l.ID, Holder: u.doc.Name, Epoch: max(l.Epoch, leader.Epoch) + 1, Duration: d}
	if taken, err := leases.Swap(ctx, l, next); err != nil || !taken {
		return 0, false, err
	}
	return next.Epoch, true, u.becomeLeader(ctx, next.Epoch)
}

func orRefused(err error) error {
	if err == nil {
		err = refusedLeadership()
	}
	return err
}

// isFree reports whether any unit may take a lease: it has lapsed, was given back, or its
// holder is Dead or gone.
func (st *State) isFree(ctx context.Context, l lease.Lease) (bool, error) {
	if l.Holder == "" || l.Left <= 0 {
		return true, nil
	}
	holder, err := st.Unit(ctx, l.Holder)
	if entity.IsNotFound(err) {
		return true, nil
	}
	return err == nil && holder.doc.Life == entity.Dead, err
}

// makeLeaders inserts the leaders document of a service.
func (st *State) makeLeaders(ctx context.Context, service string) error {
	token := mongo.NewID()
	return st.change(ctx, func(o *ops) error {
		if _, there, err := st.db.Leader(service); err != nil {
			return err
		} else if there {
			return mongo.ErrNothing
		}
		if _, err := st.Service(ctx, service); entity.IsNotFound(err) {
			return refusedLeadership() // the service is gone, and the unit with it
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
func (u *Unit) becomeLeader(ctx context.Context, epoch int64) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); entity.IsNotFound(err) || err == nil && u.doc.Life != entity.Alive {
			return refusedLeadership()
		} else if err != nil {
			return err
		}
		leader, there, err := u.st.db.Leader(u.doc.Service)
		switch {
		case err != nil:
			return err
		case leader.Epoch == epoch && leader.Holder == u.doc.Name:
			return mongo.ErrNothing
		case !there || leader.Epoch >= epoch:
			return refusedLeadership() // another unit has led since the lease was taken
		}
		o.AssertLife(modeldb.UnitsC, u.doc.Name, entity.Alive)
		o.Update(modeldb.LeadersC, u.doc.Service, bson.D{{"epoch", bson.D{{"$lt", epoch}}}},
			bson.D{{"$set", bson.D{{"holder", u.doc.Name}, {"epoch", epoch}}}})
		return nil
	})
}

// leaderOps asserts that the unit leads its service by the claim that returned this
// epoch. The error is entity.LeadershipRefused if it does not, and entity.NotFound if it is gone.
func (u *Unit) leaderOps(ctx context.Context, o *modeltxn.Ops, epoch int64) error {
	leader, _, err := u.st.db.Leader(u.doc.Service)
	if err != nil {
		return err
	}
	if leader.Holder != u.doc.Name || leader.Epoch != epoch {
		return u.notLeader(ctx)
	}
	o.Assert(modeldb.LeadersC, u.doc.Service, bson.D{{"holder", u.doc.Name}, {"epoch", epoch}})
	return nil
}

// notLeader returns why the unit does not lead.
func (u *Unit) notLeader(ctx context.Context) error {
	if err := u.refresh(ctx); err != nil {
		return err // it was removed, and so it leads no more
	}
	return entity.Errorf(entity.LeadershipRefused, "unit %q is not the leader of service %q", u.doc.Name, u.doc.Service)
}

// ReleaseLeadership gives the unit's leadership back, so that another unit can lead at
// once. It does nothing if the unit does not lead.
func (u *Unit) ReleaseLeadership(ctx context.Context) error {
	leases, service := u.st.host.Leases, u.doc.Service
	for tries := leases.Tries(); tries.Next(); {
		l, err := leases.Read(lease.ID(u.st.db.UUID, service))
		if err != nil {
			return err
		}
		if l.Holder == u.doc.Name {
			given, err := leases.Swap(ctx, l, lease.Doc{ID: l.ID, Epoch: l.Epoch, Beat: l.Beat + 1})
			if err != nil {
				return err
			}
			if !given { // it was renewed meanwhile
				if err := tries.Pause(ctx); err != nil {
					return err
				}
				continue
			}
		} else if l.Holder != "" {
			return nil
		}
		return u.stepDown(ctx, l.Epoch)
	}
	return tooQuick()
}

// stepDown removes the unit from the leaders document, if it is there by the claim of
// this epoch.
func (u *Unit) stepDown(ctx context.Context, epoch int64) error {
	return u.st.change(ctx, func(o *ops) error {
		leader, _, err := u.st.db.Leader(u.doc.Service)
		if err != nil {
			return err
		}
		if leader.Holder != u.doc.Name || leader.Epoch != epoch {
			return mongo.ErrNothing
		}
		o.Update(modeldb.LeadersC, u.doc.Service, bson.D{{"holder", u.doc.Name}, {"epoch", epoch}},
			bson.D{{"$set", bson.D{{"holder", ""}}}})
		return nil
	})
}

// BlockUntilLeadershipReleased waits until the leadership of the unit's service is free:
// no unit leads it, or its lease has lapsed. Another unit may still claim it before the
// caller.
func (u *Unit) BlockUntilLeadershipReleased(ctx context.Context) error {
	st, service := u.st, u.doc.Service
	sub := st.hub.Subscribe(watcher.Doc(modeldb.LeadersC, service))
	defer sub.Close()
	holder := ""
	for {
		l, err := st.host.Leases.Read(lease.ID(st.db.UUID, service))
		if err != nil {
			return err
		}
		if l.Holder != holder {
			// Watch before reading: the holder's end is a release too.
			sub.Drop(watcher.Doc(modeldb.UnitsC, holder))
			holder = l.Holder
			sub.Add(watcher.Doc(modeldb.UnitsC, holder))
		}
		if free, err := st.isFree(ctx, l); err != nil || free {
			return err
		}
		lapse := time.NewTimer(l.Left)
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-sub.Done():
			err = entity.Errorf(entity.Unavailable, "the controller is closing")
		case <-sub.Wake():
			sub.Take()
		case <-lapse.C:
		}
		lapse.Stop()
		if err != nil {
			return err
		}
	}
}

// releaseLeaseOps leaves the lease of a service that is removed to a cleanup.
func (st *State) releaseLeaseOps(o *ops, service string) error {
	doc, there, err := st.db.Leader(service)
	if there {
		o.Cleanup(modeldb.CleanupLease, service+"#"+doc.Token)
	}
	return err
}

// cleanupLease removes the lease of a service that is gone, unless a new service of the
// name has taken it over.
func (st *State) cleanupLease(ctx context.Context, arg string) (done bool, err error) {
	service, _, _ := strings.Cut(arg, "#")
	l, err := st.host.Leases.Read(lease.ID(st.db.UUID, service))
	if err != nil || !l.There {
		return err == nil, err
	}
	if l.Holder != "" {
		if _, err := st.Unit(ctx, l.Holder); !entity.IsNotFound(err) {
			return err == nil, err
		}
	}
	return st.host.Leases.Drop(ctx, l)
}
