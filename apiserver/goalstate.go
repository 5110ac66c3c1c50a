package apiserver

import (
	"context"
	"fmt"

	"juju/state/entity"
)

// goalState returns the units of a unit's service and of those that it is related to. It reads
// the status of the whole model, as a client's status does.
func (c *caller) goalState(ctx context.Context, unit entity.Tag) (entity.GoalState, error) {
	status, err := c.model.Status(ctx)
	if err != nil {
		return entity.GoalState{}, fmt.Errorf("cannot read the goal state: %w", err)
	}
	return goalStateOf(status, entity.UnitService(unit.ID), unit.ID), nil
}

// goalStateOf selects from a model's status what concerns one unit of a service.
func goalStateOf(status *entity.ModelStatus, service, unit string) entity.GoalState {
	units := map[string]map[string]entity.GoalStatus{} // by service and name
	beside := map[string]string{}                      // the principal of each subordinate
	var add func(u entity.UnitStatus, principal string)
	add = func(u entity.UnitStatus, principal string) {
		if u.Life == entity.Dead {
			return
		}
		of := entity.UnitService(u.Name)
		if units[of] == nil {
			units[of] = map[string]entity.GoalStatus{}
		}
		units[of][u.Name] = goalStatus(u.Life, u.Workload)
		beside[u.Name] = principal
		for _, sub := range u.Subordinates {
			add(sub, u.Name)
		}
	}
	for _, s := range status.Services {
		for _, u := range s.Units {
			add(u, "")
		}
	}
	goal := entity.GoalState{Units: units[service], Relations: map[string]map[string]entity.GoalStatus{}}
	for _, r := range status.Relations {
		for i, own := range r.Endpoints {
			if own.Service != service {
				continue
			}
			other := r.Endpoints[(i+1)%len(r.Endpoints)] // its own, for peers
			if goal.Relations[own.Name] == nil {
				goal.Relations[own.Name] = map[string]entity.GoalStatus{}
			}
			goal.Relations[own.Name][other.Service] = goalStatus(r.Life, r.Status)
			for name, s := range units[other.Service] {
				together := beside[name] == unit || beside[unit] == name
				if name != unit && (r.Scope != "container" || together) {
					goal.Relations[own.Name][name] = s
				}
			}
		}
	}
	return goal
}

func goalStatus(life entity.Life, s entity.Status) entity.GoalStatus {
	if life != entity.Alive {
		s.Status = "dying"
	}
	return entity.GoalStatus{Status: string(s.Status), Since: s.Since}
}
