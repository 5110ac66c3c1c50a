package dashboard

import (
	"slices"
	"strings"

	"juju/state/entity"
)

// A List is a table, or a page of it.
type List[T any] struct {
	Rows []T
	More string // where the next rows are; "" if there are none
}

// A ServiceRow is a service in a list.
type ServiceRow struct {
	Name, Status, Message, Charm, Version string
	Health                                Health
	Units                                 int
	Exposed, Dying                        bool
	Related                               []string // services
}

// A UnitRow is a unit in a list.
type UnitRow struct {
	Name, Workload, Agent, Machine, Address, Message string
	Health                                           Health
	Leader, Dying                                    bool
	Ports                                            []string
}

// A MachineRow is a machine in a list.
type MachineRow struct {
	ID, Status, Instance, Base, Message string
	Health                              Health
	Units                               int
	Dying                               bool
	Addresses                           []string
}

// unitsOfAPage is how many units a page lists.
const unitsOfAPage = 200

func (p part) isDying() bool { return p.Life != "" && p.Life != entity.Alive.String() }

// Services returns the model's services.
func (m *Mirror) Services() List[ServiceRow] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	related := map[string][]string{}
	for _, r := range m.sorted("relation") {
		for i, e := range r.Endpoints {
			if len(r.Endpoints) == 2 && !slices.Contains(related[e.Service], r.Endpoints[1-i].Service) {
				related[e.Service] = append(related[e.Service], r.Endpoints[1-i].Service)
			}
		}
	}
	l := List[ServiceRow]{}
	for _, s := range m.sorted("application") {
		l.Rows = append(l.Rows, ServiceRow{Name: s.Name, Status: s.Status.Current, Message: s.Status.Message, Charm: s.Charm,
			Version: s.Version, Health: healthOf(s.Status), Units: len(m.units[s.Name]), Exposed: s.Exposed, Dying: s.isDying(),
			Related: related[s.Name]})
	}
	return l
}

// Units returns the units that come after one, "" for the first, on one page.
func (m *Mirror) Units(after string) List[UnitRow] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	l := List[UnitRow]{}
	for _, u := range m.sorted("unit") {
		if after != "" && entity.CompareNatural(u.Name, after) <= 0 {
			continue
		}
		if len(l.Rows) == unitsOfAPage {
			l.More = "units?after=" + l.Rows[len(l.Rows)-1].Name
			break
		}
		l.Rows = append(l.Rows, u.row())
	}
	return l
}

// row returns a unit's row.
func (p part) row() UnitRow {
	row := UnitRow{Name: p.Name, Workload: p.Workload.Current, Agent: p.Agent.Current, Machine: p.Machine, Address: p.Address,
		Message: p.Workload.Message, Health: p.health(), Leader: p.Leader, Dying: p.isDying()}
	if row.Message == "" {
		row.Message = p.Agent.Message
	}
	for _, one := range p.Ports {
		row.Ports = append(row.Ports, one.String())
	}
	return row
}

// Machines returns the model's machines.
func (m *Mirror) Machines() List[MachineRow] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	on := map[string]int{}
	for _, u := range m.parts["unit"] {
		on[u.Machine]++
	}
	l := List[MachineRow]{}
	for _, p := range m.sorted("machine") {
		id := strings.Trim(string(p.ID), `"`)
		row := MachineRow{ID: id, Status: p.Agent.Current, Instance: p.InstanceID, Base: p.Base, Message: p.Agent.Message,
			Health: healthOf(p.Agent), Units: on[id], Dying: p.isDying()}
		if h := healthOf(p.Instance); h == Failing {
			row.Health, row.Message = h, p.Instance.Message
		}
		for _, a := range p.Addresses {
			row.Addresses = append(row.Addresses, a.Value)
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}
