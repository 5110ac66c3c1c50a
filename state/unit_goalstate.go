package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// GoalState returns the units of the unit's service, and the services that it is related to with
// their units; over a container relation only the units beside this one. Peer relations have no
// entry, as in Juju.
func (u *Unit) GoalState(ctx context.Context) (entity.GoalState, error) {
	goal, err := u.goalState()
	if err != nil {
		return goal, fmt.Errorf("cannot read the goal state: %w", err)
	}
	return goal, nil
}

func (u *Unit) goalState() (goal entity.GoalState, err error) {
	service := u.doc.Service
	relations, err := u.st.relationsOf(service)
	if err != nil {
		return goal, err
	}
	services := []string{service}
	for _, r := range relations {
		services = append(services, r.doc.Counterpart(service).Service)
	}
	units, err := u.st.units(bson.D{{"service", bson.D{{"$in", services}}}, {"life", bson.D{{"$ne", entity.Dead}}}})
	if err != nil {
		return goal, err
	}
	workloads, err := u.st.workloads(units)
	if err != nil {
		return goal, err
	}
	goal.Units, goal.Relations = map[string]entity.GoalStatus{}, map[string]map[string]entity.GoalStatus{}
	for _, of := range units {
		if of.doc.Service == service {
			goal.Units[of.doc.Name] = goalStatus(of.doc.Life, workloads[of.doc.Name])
		}
	}
	for _, r := range relations {
		for i, own := range r.doc.Endpoints {
			if own.Service != service || len(r.doc.Endpoints) == 1 { // peers are among goal.Units
				continue
			}
			other := r.doc.Endpoints[1-i].Service
			there := goal.Relations[own.Name]
			if there == nil {
				there = map[string]entity.GoalStatus{}
				goal.Relations[own.Name] = there
			}
			there[other] = goalStatus(r.doc.Life, entity.Status{Status: "joined", Since: r.doc.Since})
			for _, of := range units {
				together := of.doc.Principal == u.doc.Name || u.doc.Principal == of.doc.Name
				if of.doc.Service == other && of.doc.Name != u.doc.Name && (!r.doc.IsContainer() || together) {
					there[of.doc.Name] = goalStatus(of.doc.Life, workloads[of.doc.Name])
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
