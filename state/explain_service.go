package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// unsettled are the statuses, of agents or workloads, that an explanation mentions.
var unsettled = []entity.StatusWord{entity.StatusError, entity.StatusFailed, entity.StatusExecuting, entity.StatusRebooting,
	entity.StatusBlocked, entity.StatusWaiting, entity.StatusMaintenance}

// serviceUnits says what the units of an Alive service wait for; the first few of those
// that wait.
func (x *explainer) serviceUnits(s *Service, depth int) error {
	name := s.doc.Name
	units, err := x.st.ids(modeldb.UnitsC, bson.D{{"service", name},
		{"$or", []bson.D{{{"life", bson.D{{"$ne", entity.Alive}}}}, {{"started", false}}}}})
	if err != nil {
		return err
	}
	keys, err := x.st.ids(modeldb.StatusesC, bson.D{
		{"_id", bson.D{{"$gt", modeldb.UnitKey(name + "/")}, {"$lt", modeldb.UnitKey(name + "0")}}}, // 0 follows / in ASCII
		{"status", bson.D{{"$in", unsettled}}}})
	if err != nil {
		return err
	}
	for _, key := range keys {
		units = append(units, tagOfStatus(key).ID)
	}
	slices.SortFunc(units, entity.CompareNatural)
	units = slices.Compact(units)
	shown := len(x.reasons)
	for i, unit := range units {
		tag := entity.UnitTag(unit)
		if i == explained {
			x.add(entity.Reason{Depth: depth, Of: entity.ServiceTag(name).String(),
				Text: fmt.Sprintf("and %d more units", len(units)-explained)})
			break
		}
		if x.seen[tag] {
			continue
		}
		if _, err := x.explain(tag, depth); err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	if len(x.reasons) > shown || s.doc.Subordinate {
		return nil
	}
	n, err := x.st.db.Count(modeldb.UnitsC, bson.D{{"service", name}})
	if err == nil && n == 0 {
		x.add(entity.Reason{Depth: depth, Of: entity.ServiceTag(name).String(), By: entity.ByUser,
			Text: fmt.Sprintf("service %q has no units", name), Hint: "juju add-unit " + name})
	}
	return err
}

// Started returns the tags of the agents that have come up and should still be running:
// of a unit or machine, of a service's units, or of all for the zero tag.
func (a Agents) Started(ctx context.Context, of entity.Tag) ([]entity.Tag, error) {
	var all []entity.Tag
	notDead := bson.DocElem{Name: "life", Value: bson.D{{"$ne", entity.Dead}}}
	units := bson.D{{"started", true}, notDead}
	switch of.Kind {
	case entity.KindUnit:
		units = append(units, bson.DocElem{Name: "_id", Value: of.ID})
	case entity.KindService:
		units = append(units, bson.DocElem{Name: "service", Value: of.ID})
	}
	if of.Kind != entity.KindMachine && of.Kind != entity.KindRelation {
		ids, err := a.st.ids(modeldb.UnitsC, units)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(ids, entity.CompareNatural)
		for _, id := range ids {
			all = append(all, entity.UnitTag(id))
		}
	}
	if of.Kind != "" && of.Kind != entity.KindMachine {
		return all, nil
	}
	machines := bson.D{notDead}
	if of.Kind == entity.KindMachine {
		machines = append(machines, bson.DocElem{Name: "_id", Value: of.ID})
	}
	ids, err := a.st.ids(modeldb.MachinesC, machines)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = modeldb.MachineKey(id)
	}
	started, err := a.st.ids(modeldb.StatusesC, bson.D{{"_id", bson.D{{"$in", keys}}}, {"status", entity.StatusStarted}})
	slices.SortFunc(started, entity.CompareNatural)
	for _, key := range started {
		all = append(all, entity.MachineTag(strings.TrimPrefix(key, modeldb.MachineKey(""))))
	}
	return all, err
}
