package dashboard

import (
	"maps"
	"slices"

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
	relations := map[string][]Edge{}
	for _, e := range m.edges(nil) {
		relations[e.From] = append(relations[e.From], e)
		if e.To != e.From {
			relations[e.To] = append(relations[e.To], e)
		}
	}
	l := List[ServiceRow]{}
	for _, s := range m.sorted("application") {
		l.Rows = append(l.Rows, m.serviceRow(s, relations[s.Name]))
	}
	return l
}

// serviceRow returns the row of a service that has these relations.
func (m *Mirror) serviceRow(s part, relations []Edge) ServiceRow {
	row := ServiceRow{Name: s.Name, Status: s.Status.Current, Message: s.Status.Message, Charm: s.Charm,
		Version: s.Version, Health: healthOf(s.Status), Units: len(m.units[s.Name]), Exposed: s.Exposed, Dying: s.isDying()}
	for _, e := range relations {
		if other := e.other(s.Name); !slices.Contains(row.Related, other) {
			row.Related = append(row.Related, other)
		}
	}
	return row
}

// service returns what the mirror has of a service for its page.
func (m *Mirror) service(name string) (*Service, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.find("application", name)
	if err != nil {
		return nil, err
	}
	s := &Service{MinUnits: p.MinUnits, Relations: m.edges(func(r part) bool {
		return slices.ContainsFunc(r.Endpoints, func(e relationEnd) bool { return e.Service == name })
	})}
	s.ServiceRow = m.serviceRow(p, s.Relations)
	for _, u := range m.chosen("unit", maps.Keys(m.units[name])) {
		s.Units = append(s.Units, u.row())
	}
	others := m.keysOf("application", func(other part) bool { return other.Name != name })
	s.Others = slices.SortedFunc(others, entity.CompareNatural)
	return s, nil
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
		l.Rows = append(l.Rows, p.machineRow(on[p.key("machine")]))
	}
	return l
}

// machineRow returns the row of a machine that has this many units.
func (p part) machineRow(units int) MachineRow {
	row := MachineRow{ID: p.key("machine"), Status: p.Agent.Current, Instance: p.InstanceID, Base: p.Base, Message: p.Agent.Message,
		Health: healthOf(p.Agent), Units: units, Dying: p.isDying()}
	if h := healthOf(p.Instance); h == Failing {
		row.Health, row.Message = h, p.Instance.Message
	}
	for _, a := range p.Addresses {
		row.Addresses = append(row.Addresses, a.Value)
	}
	return row
}

// machine returns what the mirror has of a machine for its page.
func (m *Mirror) machine(id string) (*Machine, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.find("machine", id)
	if err != nil {
		return nil, err
	}
	machine := &Machine{Container: p.Container, Hardware: p.Hardware}
	for _, u := range m.chosen("unit", m.keysOf("unit", func(u part) bool { return u.Machine == id })) {
		machine.Units = append(machine.Units, u.row())
	}
	machine.MachineRow = p.machineRow(len(machine.Units))
	return machine, nil
}
