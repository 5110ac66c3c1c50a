package modelstatus

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// Workloads returns the statuses of units' workloads, by the units' names.
func Workloads(ctx context.Context, db *modeltxn.DB, units []modeldb.Unit) (map[string]entity.Status, error) {
	keys := make([]string, len(units))
	for i, u := range units {
		keys[i] = modeldb.WorkloadKey(u.Name)
	}
	var docs []modeldb.Status
	if err := db.All(ctx, modeldb.StatusesC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &docs); err != nil {
		return nil, err
	}
	said := make(map[string]modeldb.Status, len(docs))
	for _, doc := range docs {
		said[doc.ID] = doc
	}
	all := make(map[string]entity.Status, len(units))
	for i, u := range units {
		doc, ok := said[keys[i]]
		if !ok {
			doc = modeldb.FirstStatus(keys[i], modeldb.Birth{u.Born})
		}
		all[u.Name] = doc.Mended()
	}
	return all, nil
}

// withRollout returns the status of a service whose upgrade in batches has stopped.
func withRollout(shown entity.Status, r *modeldb.Rollout) entity.Status {
	if r == nil || r.Stopped == "" {
		return shown
	}
	if shown.Status != entity.StatusError {
		shown.Status = entity.StatusBlocked
	}
	shown.Message, shown.Since, shown.Data = "upgrade stopped: "+r.Stopped, r.Since, nil
	return shown
}

// OfService returns the status of a service: the one set by its leader, or else the worst of its units'. Of equally bad ones
// it is that of the unit that leads, which speaks for the service, or else the first. workload returns the status of one of
// its units.
func OfService(set entity.Status, leader string, units []string,
	workload func(unit string) entity.Status) entity.Status {
	if set.Status != entity.StatusUnknown {
		return set
	}
	var workloads []entity.Status
	for _, unit := range units {
		if unit == leader {
			workloads = slices.Insert(workloads, 0, workload(unit))
		} else {
			workloads = append(workloads, workload(unit))
		}
	}
	shown := entity.Worst(workloads)
	if shown.Since.IsZero() {
		shown.Since = set.Since
	}
	return shown
}
