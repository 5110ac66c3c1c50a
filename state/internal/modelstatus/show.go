package modelstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/limits"
)

// status builds the status that users see. All derived values are computed here, so that all clients show the
// same.
func (a *everything) status(now time.Time) *entity.ModelStatus {
	s := &entity.ModelStatus{At: now, Model: a.header()}
	containers := map[string][]string{} // host → ids
	for id := range a.machines {
		if host, _, in := cutLast(id, "/", 2); in {
			containers[host] = append(containers[host], id)
		}
	}
	for _, id := range names(a.machines) {
		if !strings.Contains(id, "/") {
			s.Machines = append(s.Machines, a.machine(id, containers))
		}
	}
	subordinates := map[string][]string{} // principal → units
	byService := map[string][]string{}
	for _, name := range names(a.units) {
		u := a.units[name]
		byService[u.Service] = append(byService[u.Service], name)
		if u.Principal != "" {
			subordinates[u.Principal] = append(subordinates[u.Principal], name)
		}
	}
	for _, name := range names(a.services) {
		s.Services = append(s.Services, a.service(name, byService[name], subordinates))
	}
	for _, r := range a.relations {
		s.Relations = append(s.Relations, a.relation(r))
	}
	for _, name := range names(a.remotes) {
		s.Remotes = append(s.Remotes, a.remote(a.remotes[name]))
	}
	for _, name := range names(a.offers) {
		s.Offers = append(s.Offers, a.offer(a.offers[name]))
	}
	return s
}

// header returns the status of the model itself.
func (a *everything) header() entity.ModelHeader {
	return entity.ModelHeader{
		Version: a.model.AgentBinaries().Version,
		Name:    a.model.Name, UUID: a.model.UUID, Controller: a.model.Name == modeldb.ControllerModel,
		Life: a.model.Life, Cloud: a.model.Cloud, Status: a.modelStatus(),
	}
}

func names[D any](m map[string]D) []string {
	all := slices.Collect(maps.Keys(m))
	slices.SortFunc(all, entity.CompareNatural)
	return all
}

// cutLast cuts s before its n-th last separator.
func cutLast(s, sep string, n int) (before, after string, found bool) {
	i := len(s)
	for range n {
		if i = strings.LastIndex(s[:i], sep); i < 0 {
			return s, "", false
		}
	}
	return s[:i], s[i+len(sep):], true
}

// statusOf returns the status of a unit or machine, or its initial one if none was set.
func (a *everything) statusOf(key string, its modeldb.Birth) entity.Status {
	if doc, ok := a.statuses[key]; ok {
		return doc.Mended()
	}
	return modeldb.FirstStatus(key, its).Mended()
}

func (a *everything) machine(id string, containers map[string][]string) entity.MachineStatus {
	doc := a.machines[id]
	m := entity.MachineStatus{
		ID: id, Life: doc.Life, Series: doc.Series, Status: a.statusOf(modeldb.MachineKey(id), doc.Birth),
		InstanceID: doc.InstanceID, Addresses: doc.Addresses, Constraints: a.constraints[modeldb.MachineKey(id)].Value,
		Manager: slices.Contains(doc.Jobs, modeldb.JobManageModel), Hardware: doc.Hardware,
	}
	if u := doc.Upgrade; u != nil {
		m.Upgrade = &entity.SeriesUpgrade{To: u.To, Completing: u.Completing, Since: u.Since, Waiting: u.Waiting}
	}
	if p := doc.Profiles; p != nil && p.Failed != "" {
		m.Modification = entity.Status{Status: entity.StatusError, Message: "cannot upgrade machine's lxd profile: " + p.Failed}
	} else if p != nil && len(p.Has) > 0 {
		m.Modification = entity.Status{Status: entity.StatusApplied}
	}
	if entity.IsManualInstance(doc.InstanceID) {
		m.SSH = strings.TrimPrefix(doc.Placement, entity.ManualPlacement)
	}
	m.InstanceStatus = entity.Status{Status: entity.StatusPending, Since: m.Status.Since}
	if doc.InstanceID != "" {
		m.InstanceStatus.Status = modeldb.InstanceRuns
	}
	if said, ok := a.statuses[modeldb.InstanceKey(id)]; ok {
		m.InstanceStatus = said.Mended()
	}
	inside := containers[id]
	slices.SortFunc(inside, entity.CompareNatural)
	for _, c := range inside {
		m.Containers = append(m.Containers, a.machine(c, containers))
	}
	return m
}

func (a *everything) service(name string, units []string, subordinates map[string][]string) entity.ServiceStatus {
	doc := a.services[name]
	s := entity.ServiceStatus{
		Name: name, Life: doc.Life, CharmURL: doc.CharmURL, Channel: doc.Channel(), CanUpgradeTo: a.newerCharm(doc), CharmVersion: a.charms[doc.CharmURL].Version,
		Series: doc.Series, Exposed: doc.ExposedEndpoints() != nil, Endpoints: doc.ExposedEndpoints(), Subordinate: doc.Subordinate, MinUnits: doc.MinUnits,
		Relations: map[string][]string{},
	}
	for _, r := range a.relations {
		end, err := r.Endpoint(name)
		if err != nil {
			continue
		}
		other := r.Counterpart(name).Service
		s.Relations[end.Name] = append(s.Relations[end.Name], other)
		if doc.Subordinate && r.IsContainer() && !a.services[other].Subordinate {
			s.SubordinateTo = append(s.SubordinateTo, other)
		}
	}
	for _, others := range s.Relations {
		slices.Sort(others)
	}
	slices.Sort(s.SubordinateTo)
	if !doc.Subordinate {
		for _, unit := range units {
			s.Units = append(s.Units, a.unit(unit, subordinates))
		}
	}
	s.Status = withRollout(a.statusOfService(name, units), doc.Rollout)
	s.WorkloadVersion = a.statuses[modeldb.ServiceKey(name)].Version
	if why := a.damaged[name]; why != nil {
		s.Status.Message = strings.TrimSpace(fmt.Sprintf("%s (damaged: %v)", s.Status.Message, why))
	}
	s.Rollout = doc.Rollout.Public()
	for _, b := range doc.Bindings {
		if s.Bindings == nil {
			s.Bindings = map[string]string{"": a.networks.NameOf(doc.SpaceFor(""))}
		}
		s.Bindings[b.Endpoint] = a.networks.NameOf(b.Space)
	}
	return s
}

// statusOfService returns the status of a service with these units, in order.
func (a *everything) statusOfService(name string, units []string) entity.Status {
	said := a.statuses[modeldb.ServiceKey(name)]
	return OfService(said.Mended(), a.leaders[name].Holder, units, a.workload)
}

// newerCharm returns the newest revision of a service's charm: in the store that it is from, or else in the model. It returns "" if
// that is in use.
func (a *everything) newerCharm(of modeldb.Service) string {
	if modeldb.IsStored(of.CharmURL) {
		return of.Newer
	}
	used := a.charms[of.CharmURL]
	newest := used
	for _, c := range a.charms {
		if c.Base == used.Base && c.Revision > newest.Revision {
			newest = c
		}
	}
	if newest.URL == of.CharmURL {
		return ""
	}
	return newest.URL
}

func (a *everything) unit(name string, subordinates map[string][]string) entity.UnitStatus {
	doc := a.units[name]
	u := entity.UnitStatus{
		Name: name, Life: doc.Life, Machine: doc.Machine, Resolved: doc.Resolved,
		Workload: a.workload(name), Agent: a.statusOf(modeldb.UnitKey(name), doc.Birth),
		Leader: a.leaders[doc.Service].Holder == name, Strength: max(doc.Strength, a.services[doc.Service].Strength),
		WorkloadVersion: a.statuses[modeldb.WorkloadKey(name)].Version,
	}
	u.Machine = a.machineOf(doc)
	if doc.CharmURL != "" && doc.CharmURL != a.services[doc.Service].CharmURL {
		u.CharmURL = doc.CharmURL
	}
	if r := a.services[doc.Service].Rollout; r != nil {
		u.Turned = doc.InTurn(r)
	}
	if addresses := a.machines[u.Machine].Addresses; len(addresses) > 0 {
		u.PublicAddress = addresses[0]
	}
	if _, why := a.awaitedStorage(name); why != "" && u.Agent.Message == "" {
		u.Agent.Message = why
	}
	var damaged []entity.PortRange
	if u.OpenedPorts, damaged = a.openPorts(u.Machine, name); len(damaged) > 0 {
		u.Agent.Message = strings.TrimSpace(fmt.Sprintf("%s (damaged: %d invalid open ports: run juju check)",
			u.Agent.Message, len(damaged)))
	}
	for _, s := range subordinates[name] {
		u.Subordinates = append(u.Subordinates, a.unit(s, subordinates))
	}
	return u
}

// machineOf returns the machine of a unit: a subordinate has its principal's.
func (a *everything) machineOf(u modeldb.Unit) string {
	if u.Principal != "" {
		return a.units[u.Principal].Machine
	}
	return u.Machine
}

// workload returns the status of a unit's workload: until it has said one, what it is waiting for.
func (a *everything) workload(name string) entity.Status {
	doc := a.units[name]
	status := a.statusOf(modeldb.WorkloadKey(name), doc.Birth)
	if _, said := a.statuses[modeldb.WorkloadKey(name)]; !said {
		storage, _ := a.awaitedStorage(name)
		status.Message = a.awaited(doc, a.machineOf(doc), storage)
	}
	return status
}

// awaited returns what a unit is waiting for before its first hook. The texts are Juju's where it has any.
func (a *everything) awaited(unit modeldb.Unit, machine, storage string) string {
	m := a.machines[machine]
	switch said := a.statusOf(modeldb.MachineKey(machine), m.Birth); {
	case m.InstanceID == "" && said.Status == entity.StatusError:
		return fmt.Sprintf("waiting for machine %s, which cannot start", machine)
	case m.InstanceID == "" || said.Status == entity.StatusPending:
		return modeldb.WaitsForMachine
	case len(m.Addresses) == 0:
		return fmt.Sprintf("waiting for the address of machine %s", machine)
	case !unit.Started:
		return "installing agent"
	case storage != "":
		return "waiting for storage " + storage
	}
	return "agent initializing"
}

// awaitedStorage returns a storage instance of a unit that is not attached yet, and its error if it has one;
// "" if all are attached. It prefers an instance in error.
func (a *everything) awaitedStorage(unit string) (id, why string) {
	if a.awaiting == nil {
		a.awaiting = map[string][]string{}
		for _, attachment := range names(a.attachments) {
			if d := a.attachments[attachment]; d.Life == entity.Alive && d.Location == "" {
				a.awaiting[d.Unit] = append(a.awaiting[d.Unit], d.Storage)
			}
		}
	}
	for _, s := range a.awaiting[unit] {
		if id == "" {
			id = s
		}
		if said, ok := a.statuses[modeldb.StorageKey(s)]; ok && said.Status == entity.StatusError {
			return s, fmt.Sprintf("storage %s: %s", s, said.Mended().Message)
		}
	}
	return id, ""
}

// openPorts returns the open ports of a unit on its machine, sorted, and any invalid ones stored with them.
// It groups a machine's ports by unit once, for all of its units.
func (a *everything) openPorts(machine, unit string) (open, damaged []entity.PortRange) {
	units, known := a.opened[machine]
	if !known {
		units = map[string][]entity.PortRange{}
		for _, p := range a.ports[machine].Ports {
			units[p.Unit] = append(units[p.Unit], p.Range())
		}
		for _, ranges := range units {
			slices.SortFunc(ranges, entity.ComparePorts)
		}
		if a.opened == nil {
			a.opened = map[string]map[string][]entity.PortRange{}
		}
		a.opened[machine] = units
	}
	for _, r := range units[unit] {
		if r.Check() != nil {
			damaged = append(damaged, r)
		} else {
			open = append(open, r)
		}
	}
	return open, damaged
}

func (a *everything) relation(doc modeldb.Relation) entity.RelationStatus {
	r := entity.RelationStatus{ID: doc.ID, Key: doc.Key, Life: doc.Life,
		Interface: doc.Endpoints[0].Interface, Scope: doc.Endpoints[0].Scope,
		Status: relationStatus(doc)}
	for _, e := range doc.Endpoints {
		r.Endpoints = append(r.Endpoints, entity.EndpointStatus{Service: e.Service, Name: e.Name, Role: e.Role,
			Subordinate: a.services[e.Service].Subordinate})
	}
	return r
}

// relationStatus returns the status of a relation in Juju's words.
func relationStatus(doc modeldb.Relation) entity.Status {
	s := entity.Status{Status: "joined", Since: doc.StatusSince()}
	if doc.Life != entity.Alive {
		s.Status = "broken"
	} else if doc.Suspended {
		s.Status, s.Message = "suspended", doc.Message
	}
	return s
}

// modelStatus returns the status of the model itself.
func (a *everything) modelStatus() entity.Status {
	if a.model.Life == entity.Alive {
		return entity.Status{Status: entity.StatusAvailable, Since: a.model.Since}
	}
	return limits.MendStatus(entity.Status{Status: entity.StatusDestroying, Since: a.model.Since,
		Message: fmt.Sprintf("%d machine(s), %d service(s) are left in it", len(a.machines), len(a.services))})
}
