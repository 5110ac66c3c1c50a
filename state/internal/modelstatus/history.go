package modelstatus

import (
	"context"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo/cursor"
)

// maxHistory is the maximum number of statuses in one response.
const maxHistory = 10000

// History returns the status history of an entity, oldest first, including the current status. The history of a
// removed entity is kept for a while. The error is entity.NotFound if neither the entity nor a history of it exists.
//
// A model keeps a limited number of statuses, shared by all its entities.
func History(ctx context.Context, db *modeltxn.DB, kind entity.HistoryKind, id string,
	filter entity.HistoryFilter) ([]entity.PastStatus, error) {
	kinds, err := historyKeys(kind, id)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(kinds))
	for key := range kinds {
		keys = append(keys, key)
	}
	past, err := pastStatuses(ctx, db, keys, filter)
	if err != nil {
		return nil, err
	}
	// The current status may be missing from the history if it is an initial one, or if writing it failed.
	var present []modeldb.Status
	for _, key := range keys {
		if now, err := db.StatusDoc(ctx, key); err == nil {
			present = append(present, now)
		} else if !entity.IsNotFound(err) {
			return nil, err
		}
	}
	if len(past) == 0 && len(present) == 0 {
		return nil, checkExisted(ctx, db, kind, keys, id)
	}
	for _, now := range present {
		if now.Since.Before(filter.From) || slices.Contains(filter.Exclude, now.Message) {
			continue
		}
		its := modeldb.PastStatus{Key: now.ID, Status: now.Status, Message: now.Message, Cause: now.Mended().Cause(),
			Since: now.Since}
		// The history may have an earlier time, because setting the same status again adds no entry.
		last := modeldb.PastStatus{}
		for _, d := range past {
			if d.Key == now.ID {
				last = d
			}
		}
		if last.Status != its.Status || last.Message != its.Message {
			past = append(past, its)
		}
	}
	slices.SortStableFunc(past, func(a, b modeldb.PastStatus) int { return a.Since.Compare(b.Since) })
	if filter.Size > 0 && len(past) > filter.Size {
		past = past[len(past)-filter.Size:]
	}
	all := make([]entity.PastStatus, len(past))
	for i, d := range past {
		s := entity.Status{Status: d.Status, Message: d.Message, Since: d.Since.UTC()}
		if d.Cause != "" {
			s.Data = map[string]any{"reason": d.Cause}
		}
		all[i] = entity.PastStatus{Kind: kinds[d.Key], Status: limits.MendStatus(s)}
	}
	return all, nil
}

// historyKeys returns the keys of the statuses in a kind of history, with the kind of each.
func historyKeys(kind entity.HistoryKind, id string) (map[string]entity.HistoryKind, error) {
	valid, refuse, what := entity.IsValidUnit, entity.InvalidUnit, "unit name"
	keys := map[string]entity.HistoryKind{}
	switch kind {
	case entity.HistoryUnit:
		keys[modeldb.UnitKey(id)], keys[modeldb.WorkloadKey(id)] = entity.HistoryUnitAgent, entity.HistoryWorkload
	case entity.HistoryUnitAgent:
		keys[modeldb.UnitKey(id)] = kind
	case entity.HistoryWorkload:
		keys[modeldb.WorkloadKey(id)] = kind
	case entity.HistoryMachine:
		valid, refuse, what = entity.IsValidMachine, entity.InvalidMachine, "machine id"
		keys[modeldb.MachineKey(id)], keys[modeldb.InstanceKey(id)] = entity.HistoryMachineAgent, kind
	case entity.HistoryMachineAgent:
		valid, refuse, what = entity.IsValidMachine, entity.InvalidMachine, "machine id"
		keys[modeldb.MachineKey(id)] = kind
	case entity.HistoryService:
		valid, refuse, what = entity.IsValidService, entity.InvalidService, "service name"
		keys[modeldb.ServiceKey(id)] = kind
	case entity.HistoryRemote:
		valid, refuse, what = entity.IsValidService, entity.InvalidService, "service name"
		keys[modeldb.RemoteKey(id)] = kind
	case "model":
		return nil, entity.WithHint(entity.Errorf(entity.NotSupported,
			"a model has no status history: its status follows from its life "+
				"and is not recorded"), "To see the status: juju show-model")
	default:
		return nil, entity.Errorf(entity.Invalid, "unknown status history kind %q, expected one of %v", string(kind),
			entity.HistoryKinds)
	}
	if !valid(id) {
		return nil, entity.WithHint(entity.Errorf(entity.Invalid, "%q is not a valid %s", id, what), "%s",
			entity.Hint(refuse(id)))
	}
	return keys, nil
}

// pastStatuses reads the history of some keys, oldest first.
func pastStatuses(ctx context.Context, db *modeltxn.DB, keys []string,
	filter entity.HistoryFilter) ([]modeldb.PastStatus, error) {
	query := bson.D{{"key", bson.D{{"$in", keys}}}}
	if !filter.From.IsZero() {
		query = append(query, bson.DocElem{Name: "since", Value: bson.D{{"$gte", filter.From}}})
	}
	if len(filter.Exclude) > 0 {
		query = append(query, bson.DocElem{Name: "message", Value: bson.D{{"$nin", filter.Exclude}}})
	}
	most := maxHistory
	if filter.Size > 0 {
		most = min(most, filter.Size)
	}
	var past []modeldb.PastStatus
	err := db.Reading(ctx, modeldb.HistoryC, func(c *mgo.Collection) error {
		return cursor.Find(c, query).Sort("-$natural").Limit(most).All(&past)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", modeldb.HistoryC, err)
	}
	slices.Reverse(past)
	return past, nil
}

// checkExisted returns entity.NotFound if the entity never existed, and nil if it did but the filter matches none of
// its statuses.
func checkExisted(ctx context.Context, db *modeltxn.DB, kind entity.HistoryKind, keys []string, id string) error {
	n, err := db.Count(ctx, modeldb.HistoryC, bson.D{{"key", bson.D{{"$in", keys}}}})
	switch {
	case err != nil || n > 0:
		return err
	case kind == entity.HistoryMachine || kind == entity.HistoryMachineAgent:
		return entity.Errorf(entity.NotFound, "machine %s not found", id)
	case kind == entity.HistoryService:
		return entity.Errorf(entity.NotFound, "service %q not found", id)
	case kind == entity.HistoryRemote:
		return entity.Errorf(entity.NotFound, "remote service %q not found", id)
	}
	return entity.Errorf(entity.NotFound, "unit %q not found", id)
}
