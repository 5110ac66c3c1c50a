package dashboard

import (
	"cmp"
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
	for _, s := range m.sorted(entity.PartService) {
		l.Rows = append(l.Rows, m.serviceRow(s.Service, relations[s.Service.Name]))
	}
	return l
}

// serviceRow returns the row of a service that has these relations.
func (m *Mirror) serviceRow(s *entity.ServicePart, relations []Edge) ServiceRow {
	row := ServiceRow{Name: s.Name, Status: string(s.Status.Status), Message: s.Status.Message, Charm: s.CharmURL,
		Version: s.WorkloadVersion, Health: healthOf(s.Status.Status), Units: len(m.units[s.Name]), Exposed: s.Exposed, Dying: s.Life != entity.Alive}
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
	p, err := m.find(entity.PartService, name)
	if err != nil {
		return nil, err
	}
	s := &Service{MinUnits: p.Service.MinUnits, Relations: m.edges(func(r *entity.RelationStatus) bool {
		return slices.ContainsFunc(r.Endpoints, func(e entity.EndpointStatus) bool { return e.Service == name })
	})}
	s.ServiceRow = m.serviceRow(p.Service, s.Relations)
	for _, u := range m.chosen(entity.PartUnit, maps.Keys(m.units[name])) {
		s.Units = append(s.Units, rowOf(u.Unit))
	}
	others := m.namesOf(entity.PartService, func(other part) bool { return other.Service.Name != name })
	s.Others = slices.SortedFunc(others, entity.CompareNatural)
	return s, nil
}

// Units returns the units that come after one, "" for the first, on one page.
func (m *Mirror) Units(after string) List[UnitRow] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	l := List[UnitRow]{}
	for _, u := range m.sorted(entity.PartUnit) {
		if after != "" && entity.CompareNatural(u.Unit.Name, after) <= 0 {
			continue
		}
		if len(l.Rows) == unitsOfAPage {
			l.More = "units?after=" + l.Rows[len(l.Rows)-1].Name
			break
		}
		l.Rows = append(l.Rows, rowOf(u.Unit))
	}
	return l
}

// rowOf returns a unit's row.
func rowOf(u *entity.UnitPart) UnitRow {
	row := UnitRow{Name: u.Name, Workload: string(u.Workload.Status), Agent: string(u.Agent.Status), Machine: u.Machine, Address: u.PublicAddress,
		Message: cmp.Or(u.Workload.Message, u.Agent.Message), Health: healthOfUnit(u), Leader: u.Leader, Dying: u.Life != entity.Alive}
	for _, one := range u.OpenedPorts {
		row.Ports = append(row.Ports, one.String())
	}
	return row
}

// Machines returns the model's machines.
func (m *Mirror) Machines() List[MachineRow] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	on := map[string]int{}
	for _, u := range m.parts[entity.PartUnit] {
		on[u.Unit.Machine]++
	}
	l := List[MachineRow]{}
	for _, p := range m.sorted(entity.PartMachine) {
		l.Rows = append(l.Rows, machineRow(p.Machine, on[p.Machine.ID]))
	}
	return l
}

// machineRow returns the row of a machine that has this many units.
func machineRow(m *entity.MachineStatus, units int) MachineRow {
	row := MachineRow{ID: m.ID, Status: string(m.Status.Status), Instance: m.InstanceID, Base: entity.BaseOf(m.Series).String(), Message: m.Status.Message,
		Health: healthOf(m.Status.Status), Units: units, Dying: m.Life != entity.Alive, Addresses: m.Addresses}
	if h := healthOf(m.InstanceStatus.Status); h == Failing {
		row.Health, row.Message = h, m.InstanceStatus.Message
	}
	return row
}

// machine returns what the mirror has of a machine for its page.
func (m *Mirror) machine(id string) (*Machine, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.find(entity.PartMachine, id)
	if err != nil {
		return nil, err
	}
	machine := &Machine{Hardware: entity.ParseHardware(p.Machine.Hardware)}
	machine.Container, _ = entity.ContainerOf(id)
	for _, u := range m.chosen(entity.PartUnit, m.namesOf(entity.PartUnit, func(u part) bool { return u.Unit.Machine == id })) {
		machine.Units = append(machine.Units, rowOf(u.Unit))
	}
	machine.MachineRow = machineRow(p.Machine, len(machine.Units))
	return machine, nil
}
