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
// relation it returns only the units in the same container. As in Juju, peer relations have no entry, nor have consumers of
// an offer, and a remote service has the URL of its offer for a name.
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
			goal.Units[of.Name] = unitGoal(of, workloads[of.Name])
		}
	}
	for _, r := range relations {
		for i, own := range r.Endpoints {
			if own.Service != service || len(r.Endpoints) == 1 || r.Consumer != nil { // peers are in goal.Units
				continue
			}
			other := r.Endpoints[1-i].Service
			name := other
			if r.Consumes() {
				remote, err := db.Remote(ctx, other)
				if entity.IsNotFound(err) { // it has just been removed with its relations
					continue
				} else if err != nil {
					return goal, err
				}
				name = remote.URL
			}
			there := goal.Relations[own.Name]
			if there == nil {
				there = map[string]entity.GoalStatus{}
				goal.Relations[own.Name] = there
			}
			status := relationStatus(r)
			there[name] = entity.GoalStatus{Status: string(status.Status), Since: status.Since}
			for _, of := range units {
				together := of.Principal == u.Name || u.Principal == of.Name
				if of.Service == other && of.Name != u.Name && (!r.IsContainer() || together) {
					there[of.Name] = unitGoal(of, workloads[of.Name])
				}
			}
		}
	}
	return goal, nil
}

func unitGoal(u modeldb.Unit, workload entity.Status) entity.GoalStatus {
	if u.Life != entity.Alive {
		workload.Status = "dying"
	}
	return entity.GoalStatus{Status: string(workload.Status), Since: workload.Since}
}
