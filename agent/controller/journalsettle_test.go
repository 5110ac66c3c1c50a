package controller

import (
	"fmt"
	"slices"
	"strings"

	"juju/charm/journaltest"
	"juju/state/entity"
)

// settle waits until nothing is left to do, and checks that nothing is missing.
func (p *player) settle() {
	p.Helper()
	var missing []journaltest.Violation
	if p.await(patience, func() bool {
		m := p.resolve()
		all, err := p.st.StorageStatus(p.ctx)
		p.ok(err)
		if busy := busy(m) + p.coming(all); busy != "" {
			missing = []journaltest.Violation{{Text: busy}}
			return false
		}
		p.members(m)
		p.stores(all, "")
		missing = p.checker.Missing(p.lines)
		return len(missing) == 0
	}) {
		p.note("settled")
		p.look()
		return
	}
	p.Fatalf("the units do not settle: %v\n%s\n%s", missing, p.tail(missing[0], p.lines), p.circumstances())
}

// busy says what still happens, or "".
func busy(m *entity.ModelStatus) string {
	for _, r := range m.Relations {
		if r.Life != entity.Alive {
			return r.Key + " is " + r.Life.String()
		}
	}
	for _, u := range everyUnit(m) {
		if u.Life != entity.Alive || u.Agent.Status != entity.StatusIdle || u.Workload.Status == entity.StatusError {
			return fmt.Sprintf("%s: %s, %v, %v", u.Name, u.Life, u.Agent, u.Workload)
		}
	}
	return ""
}

// members notes which counterparts the units have in their relations.
func (p *player) members(m *entity.ModelStatus) {
	p.Helper()
	of := map[string][]string{}
	for _, u := range everyUnit(m) {
		of[entity.UnitService(u.Name)] = append(of[entity.UnitService(u.Name)], u.Name)
	}
	for _, r := range m.Relations {
		for i, e := range r.Endpoints {
			other := r.Endpoints[(i+1)%len(r.Endpoints)].Service
			for _, unit := range of[e.Service] {
				members := slices.DeleteFunc(slices.Clone(of[other]), func(s string) bool { return s == unit })
				if r.Scope == "container" {
					if !e.Subordinate {
						continue // it knows nothing of this relation, which is implicit
					}
					members = []string{principalOf(m, unit)}
				}
				p.say("members %s %s:%d %s", unit, e.Name, r.ID, strings.Join(members, " "))
			}
		}
	}
	for _, units := range of {
		for _, unit := range units {
			p.say("members %s none:0", unit) // it may be in no relation
		}
	}
}

func principalOf(m *entity.ModelStatus, subordinate string) string {
	for _, u := range everyUnit(m) {
		if slices.ContainsFunc(u.Subordinates, func(s entity.UnitStatus) bool { return s.Name == subordinate }) {
			return u.Name
		}
	}
	return ""
}
