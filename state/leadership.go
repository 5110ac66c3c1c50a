package state

import (
	"context"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// The minimum and maximum duration of a claim.
const (
	MinLease = leadership.MinLease
	MaxLease = leadership.MaxLease
)

func (st *State) leadership() leadership.Leadership {
	return leadership.Leadership{DB: st.db, Leases: st.host.Leases, Hub: st.hub}
}

// ClaimLeadership makes the unit the leader of its service, or extends its leadership,
// for at least d from the call: see leadership.Leadership.Claim.
func (u *Unit) ClaimLeadership(ctx context.Context, d time.Duration) (epoch int64, err error) {
	return u.st.leadership().Claim(ctx, u.doc, d)
}

// ReleaseLeadership releases the unit's leadership, so that another unit can lead at once. It does nothing if the unit
// is not the leader.
func (u *Unit) ReleaseLeadership(ctx context.Context) error {
	return u.st.leadership().Release(ctx, u.doc)
}

// BlockUntilLeadershipReleased waits until the unit's service has no leader or the lease has expired. Another unit may
// claim leadership before the caller.
func (u *Unit) BlockUntilLeadershipReleased(ctx context.Context) error {
	return u.st.leadership().BlockUntilReleased(ctx, u.doc.Service)
}

// Leader returns the unit that leads the service, "" while none does.
func (s *Service) Leader(ctx context.Context) (string, error) {
	var doc modeldb.Leader
	err := s.st.db.Get(ctx, modeldb.LeadersC, s.doc.Name, &doc, "leader of the service")
	if entity.IsNotFound(err) {
		return "", nil // none has led it yet
	}
	return doc.Holder, err
}

// Writes reserved for the leader: each transaction asserts the epoch of its claim.

// LeaderSettings returns the settings that leaders have set for all units of the unit's service.
func (u *Unit) LeaderSettings(ctx context.Context) (entity.LeaderSettings, error) {
	doc, err := u.st.db.Settings(ctx, modeldb.LeaderSettingsKey(u.doc.Service))
	if err != nil && !entity.IsNotFound(err) {
		return nil, err
	}
	return doc.Texts(), nil
}

// SetLeaderSettings changes those settings; an empty value deletes its key. epoch is the result of the unit's claim. The
// error is entity.LeadershipRefused if that claim is no longer valid.
func (u *Unit) SetLeaderSettings(ctx context.Context, epoch int64, settings entity.LeaderSettings) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := leadership.Assert(ctx, u.st.db, o.Ops, u.doc, epoch); err != nil {
			return err
		}
		key := modeldb.LeaderSettingsKey(u.doc.Service)
		changed, err := u.st.db.PutSettings(ctx, o.Ops, modeldb.Settings{ID: key}, modeltxn.EmptyDeletes(settings))
		if err == nil && !changed {
			return mongo.ErrNothing
		}
		return err
	})
}

// SetServiceStatus sets the status of the unit's service, which is then no longer derived from its units' statuses.
// epoch and the error are as for SetLeaderSettings.
func (u *Unit) SetServiceStatus(ctx context.Context, epoch int64, s entity.Status) error {
	return u.st.db.SetStatus(ctx, modeldb.ServiceKey(u.doc.Service), s, func(o *modeltxn.Ops) error {
		return leadership.Assert(ctx, u.st.db, o, u.doc, epoch)
	})
}

// ServiceStatus returns the status of the unit's service, and those of its units' workloads.
// The error is entity.LeadershipRefused unless the unit leads the service.
func (u *Unit) ServiceStatus(ctx context.Context) (entity.StatusesOfService, error) {
	all := entity.StatusesOfService{Units: map[string]entity.Status{}}
	leader, _, err := u.st.db.Leader(ctx, u.doc.Service)
	if err != nil {
		return all, err
	}
	if leader.Holder != u.doc.Name {
		return all, leadership.Refusal(ctx, u.st.db, u.doc)
	}
	units, err := u.st.db.Units(ctx, bson.D{{"service", u.doc.Service}})
	if err != nil {
		return all, err
	}
	if all.Units, err = modelstatus.Workloads(ctx, u.st.db, units); err != nil {
		return all, err
	}
	set, err := u.st.db.Status(ctx, modeldb.ServiceKey(u.doc.Service))
	all.Service = modelstatus.OfService(set, leader.Holder, modeldb.NamesOf(units), func(unit string) entity.Status {
		return all.Units[unit]
	})
	return all, err
}

// SetWorkloadVersion records the version of the unit's workload, which is its service's too until another unit says one.
func (u *Unit) SetWorkloadVersion(ctx context.Context, version string) error {
	return u.st.change(ctx, func(o *ops) error {
		o.Assert(modeldb.UnitsC, u.doc.Name, modeltxn.Exists)
		same := true
		// Not in the service's document: changes to that wake the agents of all its units.
		for _, key := range []string{modeldb.WorkloadKey(u.doc.Name), modeldb.ServiceKey(u.doc.Service)} {
			was, err := u.st.db.StatusDoc(ctx, key)
			if err != nil {
				return err
			}
			if was.Version == version {
				continue
			}
			same = false
			if said := was; was.Unset {
				said.Version = version
				o.ReplaceStatus(was, said, nil)
			} else {
				o.Update(modeldb.StatusesC, key, modeltxn.Exists, bson.D{{"$set", bson.D{{"version", version}}}})
			}
		}
		if same {
			return mongo.ErrNothing
		}
		return nil
	})
}
