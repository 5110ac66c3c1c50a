package modelstatus

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// GoalState returns the units of a unit's service, and the related services with their units. For a container
// relation it returns only the units in the same container. Peer relations have no entry, as in Juju.
func GoalState(ctx context.Context, db *modeltxn.DB, u modeldb.Unit) (entity.GoalState, error) {
	goal, err := goalState(ctx, db, u)
	if err != nil {
		return goal, fmt.Errorf("cannot read the goal state: %w", err)
	}
	return goal, nil
}

func goalState(ctx context.Context, db *modeltxn.DB, u modeldb.Unit) (goal entity.GoalState, err error) {
	service := u.Service
	relations, err := db.RelationsOf(ctx, service)
	if err != nil {
		return goal, err
	}
	services := []string{service}
	for _, r := range relations {
		services = append(services, r.Counterpart(service).Service)
	}
	units, err := db.Units(ctx, bson.D{{"service", bson.D{{"$in", services}}}, {"life", bson.D{{"$ne", entity.Dead}}}})
	if err != nil {
		return goal, err
	}
	workloads, err := Workloads(ctx, db, units)
	if err != nil {
		return goal, err
	}
	goal.Units, goal.Relations = map[string]entity.GoalStatus{}, map[string]map[string]entity.GoalStatus{}
	for _, of := range units {
		if of.Service == service {
			goal.Units[of.Name] = goalStatus(of.Life, workloads[of.Name])
		}
	}
	for _, r := range relations {
		for i, own := range r.Endpoints {
			if own.Service != service || len(r.Endpoints) == 1 { // peers are in goal.Units
				continue
			}
			other := r.Endpoints[1-i].Service
			there := goal.Relations[own.Name]
			if there == nil {
				there = map[string]entity.GoalStatus{}
				goal.Relations[own.Name] = there
			}
			there[other] = goalStatus(r.Life, entity.Status{Status: "joined", Since: r.Since})
			for _, of := range units {
				together := of.Principal == u.Name || u.Principal == of.Name
				if of.Service == other && of.Name != u.Name && (!r.IsContainer() || together) {
					there[of.Name] = goalStatus(of.Life, workloads[of.Name])
				}
			}
		}
	}
	return goal, nil
}

func goalStatus(life entity.Life, s entity.Status) entity.GoalStatus {
	if life != entity.Alive {
		s.Status = "dying"
	}
	return entity.GoalStatus{Status: string(s.Status), Since: s.Since}
}
