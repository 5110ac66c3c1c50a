package controller

import (
	"testing"

	"juju/state/entity"
	"juju/state/statetest"
)

func TestTheControllerKeepsUnits(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	s.deploy("mysql", statetest.MySQL, 1)
	svc, err := s.st.Service(s.ctx, "mysql")
	s.ok(err)
	s.ok(svc.SetMinUnits(s.ctx, 2))
	idle := func(want string) {
		t.Helper()
		s.until("units "+want, func(m *entity.ModelStatus) bool {
			got := ""
			for _, svc := range m.Services {
				for _, u := range svc.Units {
					if u.Agent.Status == entity.StatusIdle {
						got += " " + u.Name
					}
				}
			}
			return got == " "+want
		})
	}
	idle("mysql/0 mysql/1")
	u, err := s.st.Unit(s.ctx, "mysql/0")
	s.ok(err)
	s.ok(u.Destroy(s.ctx, entity.Destruction{}))
	idle("mysql/1 mysql/2")
	s.ok(svc.Destroy(s.ctx, entity.Destruction{}))
	s.until("the service to go", func(m *entity.ModelStatus) bool { return len(m.Services) == 0 })
	for _, id := range []string{"0", "1", "2"} {
		m, err := s.st.Machine(s.ctx, id)
		s.ok(err)
		s.ok(m.Destroy(s.ctx, entity.Destruction{}))
	}
	s.until("nothing to be left", s.empty)
}
