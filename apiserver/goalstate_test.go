package apiserver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
)

// The goal state of a unit has all units of its service and of those it is related to; over a
// container relation only those beside it. What is going is dying, what is Dead is left out.
func TestGoalStateIsThatOfTheUnitsRelations(t *testing.T) {
	since := time.Date(2013, 6, 7, 8, 9, 10, 0, time.UTC)
	is := func(word entity.StatusWord) entity.Status { return entity.Status{Status: word, Since: since} }
	unit := func(name string, life entity.Life, subs ...entity.UnitStatus) entity.UnitStatus {
		return entity.UnitStatus{Name: name, Life: life, Workload: is("active"), Subordinates: subs}
	}
	status := &entity.ModelStatus{
		Services: []entity.ServiceStatus{
			{Name: "web", Units: []entity.UnitStatus{unit("web/0", entity.Alive, unit("log/0", entity.Alive)),
				unit("web/1", entity.Dying, unit("log/1", entity.Alive)), unit("web/2", entity.Dead)}},
			{Name: "db", Units: []entity.UnitStatus{unit("db/0", entity.Alive)}},
			{Name: "log", Subordinate: true},
			{Name: "other", Units: []entity.UnitStatus{unit("other/0", entity.Alive)}},
		},
		Relations: []entity.RelationStatus{
			{ID: 0, Scope: "global", Status: is("joined"),
				Endpoints: []entity.EndpointStatus{{Service: "web", Name: "ring"}}},
			{ID: 1, Scope: "global", Status: is("joining"), Life: entity.Dying,
				Endpoints: []entity.EndpointStatus{{Service: "web", Name: "store"}, {Service: "db", Name: "clients"}}},
			{ID: 2, Scope: "container", Status: is("joined"),
				Endpoints: []entity.EndpointStatus{{Service: "log", Name: "host"}, {Service: "web", Name: "juju-info"}}},
		},
	}
	goal := func(word string) entity.GoalStatus { return entity.GoalStatus{Status: word, Since: since} }
	type all = map[string]entity.GoalStatus
	for name, want := range map[string]entity.GoalState{
		"web/0": {
			Units: all{"web/0": goal("active"), "web/1": goal("dying")},
			Relations: map[string]all{
				"ring":      {"web": goal("joined"), "web/1": goal("dying")},
				"store":     {"db": goal("dying"), "db/0": goal("active")},
				"juju-info": {"log": goal("joined"), "log/0": goal("active")},
			},
		},
		"log/1": {
			Units:     all{"log/0": goal("active"), "log/1": goal("active")},
			Relations: map[string]all{"host": {"web": goal("joined"), "web/1": goal("dying")}},
		},
		"other/0": {Units: all{"other/0": goal("active")}, Relations: map[string]all{}},
	} {
		if diff := cmp.Diff(want, goalStateOf(status, entity.UnitService(name), name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
