// Package waittest makes models for tests of waits.
package waittest

import (
	"strings"

	"juju/state/entity"
)

// Model makes a model from words like "web/0=active", "web=blocked", "2=started",
// "web/1=waiting:executing" (of a unit, with its agent's status) and "web/2=active!" (Dying).
func Model(words string) *entity.ModelStatus {
	m := &entity.ModelStatus{Model: entity.ModelHeader{Name: "default"}}
	byName := map[string]int{}
	service := func(name string) *entity.ServiceStatus {
		i, ok := byName[name]
		if !ok {
			i = len(m.Services)
			byName[name] = i
			m.Services = append(m.Services, entity.ServiceStatus{Name: name, Status: entity.Status{Status: entity.StatusActive}})
		}
		return &m.Services[i]
	}
	for _, word := range strings.Fields(words) {
		name, status, _ := strings.Cut(word, "=")
		life := entity.Alive
		if s, ok := strings.CutSuffix(status, "!"); ok {
			status, life = s, entity.Dying
		}
		workload, agent, busy := strings.Cut(status, ":")
		said := entity.Status{Status: entity.StatusWord(workload)}
		switch {
		case entity.IsValidMachine(name):
			m.Machines = append(m.Machines, entity.MachineStatus{ID: name, Life: life, Status: said})
		case entity.IsValidUnit(name):
			u := entity.UnitStatus{Name: name, Life: life, Workload: said, Agent: entity.Status{Status: entity.StatusIdle}}
			if said.Status == entity.StatusError {
				u.Workload.Message = `hook failed: "start"`
			}
			if agent == "resolved" {
				u.Resolved = entity.ResolvedRetry
			} else if busy {
				u.Agent = entity.Status{Status: entity.StatusWord(agent), Message: "running start hook"}
			}
			s := service(entity.UnitService(name))
			s.Units = append(s.Units, u)
		default:
			s := service(name)
			s.Life, s.Status = life, said
		}
	}
	return m
}
