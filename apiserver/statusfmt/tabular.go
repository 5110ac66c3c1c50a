package statusfmt

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"juju/state/entity"
)

// Tabular writes a table for each kind of entity in the model.
func Tabular(w io.Writer, m *entity.ModelStatus, o Options) error {
	tables := []*table{modelTable(m, o), remoteTable(m, o), serviceTable(m), unitTable(m), machineTable(m), offerTable(m)}
	if o.Relations {
		tables = append(tables, relationTable(m))
	}
	tables = append(tables, storageTable(o.Storage))
	first := true
	for _, t := range tables {
		if len(t.rows) < 2 { // only the header
			continue
		}
		if !first {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		first = false
		if o.Changes != nil {
			t.marks = true
			o.Changes.mark(t)
		}
		if err := t.write(w, o.Color, o.Width); err != nil {
			return err
		}
	}
	return nil
}

// History writes past statuses as a table.
func History(w io.Writer, past []entity.PastStatus, o Options) error {
	t := &table{}
	t.add(plain("Time", "Type", "Status", "Message")...)
	for _, p := range past {
		t.add(cell{text: p.Since.In(o.Location).Format(sinceFormat)}, cell{text: string(p.Kind)}, statusCell(p.Status),
			cell{text: p.Explained()})
	}
	return t.write(w, o.Color, o.Width)
}

// IsEmpty reports whether the model has nothing to show.
func IsEmpty(m *entity.ModelStatus) bool { return len(m.Services)+len(m.Machines)+len(m.Remotes) == 0 }

func modelTable(m *entity.ModelStatus, o Options) *table {
	t := &table{}
	head := plain("Model", "Controller", "Cloud/Region", "Version", "Timestamp")
	row := plain(m.Model.Name, o.Controller, m.Model.ShownCloud(), m.Model.JujuVersion,
		m.At.In(o.Location).Format(clockFormat))
	if note := message(m.Model.Life, m.Model.Status); note != "" {
		head, row = append(head, cell{text: "Notes"}), append(row, cell{text: note})
	}
	t.add(head...)
	t.add(row...)
	return t
}

// message returns the text of the last column: the entity's life, unless Alive, and its status message.
func message(life entity.Life, s entity.Status) string {
	if life == entity.Alive {
		return s.Message
	}
	return strings.TrimSpace("(" + life.String() + ") " + s.Message)
}

func remoteTable(m *entity.ModelStatus, o Options) *table {
	t := &table{}
	t.add(plain("SAAS", "Status", "Store", "URL")...)
	for _, r := range m.Remotes {
		store, url, other := strings.Cut(r.URL, ":")
		if !other {
			store, url = o.Controller, r.URL
		}
		t.add(cell{text: r.Name}, statusCell(r.Status), cell{text: store}, cell{text: url})
	}
	return t
}

func offerTable(m *entity.ModelStatus) *table {
	t := &table{right: map[int]bool{3: true}}
	t.add(plain("Offer", "Application", "Charm", "Rev", "Connected", "Endpoint", "Interface", "Role")...)
	for _, o := range m.Offers {
		name, revision := charmName(o.CharmURL)
		row := plain(o.Name, o.Service, name, revision, strconv.Itoa(o.Active)+"/"+strconv.Itoa(o.Total))
		for i, e := range o.Endpoints {
			if i > 0 {
				row = plain("", "", "", "", "")
			}
			t.add(append(row, plain(e.Name, e.Interface, e.Role)...)...)
		}
	}
	return t
}

func serviceTable(m *entity.ModelStatus) *table {
	scale, held := map[string]int{}, map[string]int{} // and those that have another charm than the service
	waits := map[string]string{}                      // the first unit that holds up an upgrade in batches
	for _, u := range allUnits(m) {
		if why := holdsUp(u); why != "" && waits[entity.UnitService(u.Name)] == "" {
			waits[entity.UnitService(u.Name)] = u.Name + ", which is " + why
		}
		scale[entity.UnitService(u.Name)]++
		if u.CharmURL != "" {
			held[entity.UnitService(u.Name)]++
		}
	}
	t := &table{right: map[int]bool{3: true, 6: true}}
	t.add(plain("App", "Version", "Status", "Scale", "Charm", "Channel", "Rev", "Exposed", "Message")...)
	for _, s := range m.Services {
		name, revision := charmName(s.CharmURL)
		exposed := "no"
		if s.Exposed {
			exposed = "yes"
		}
		said := s.Status
		if r := s.Rollout; r != nil && r.Stopped == "" {
			said.Message = fmt.Sprintf("upgrading %d at a time: %d of %d", r.Batch, scale[s.Name]-held[s.Name], scale[s.Name])
			if waits[s.Name] != "" {
				said.Message += "; waits for " + waits[s.Name]
			}
		}
		row := plain(s.Name, s.WorkloadVersion, "", strconv.Itoa(scale[s.Name]), name, s.Channel, revision, exposed,
			message(s.Life, said))
		row[2] = statusCell(s.Status)
		t.add(row...)
	}
	return t
}

// holdsUp says why a unit that has had its turn holds up an upgrade in batches; "" if it does not, or will not for long.
func holdsUp(u entity.UnitStatus) string {
	switch {
	case !u.Turned || u.Life != entity.Alive:
		return ""
	case u.Workload.Status == entity.StatusError:
		return "in error"
	case u.Agent.Status == entity.StatusLost:
		return "lost"
	}
	return ""
}

// upgradeOf says what becomes of the upgrade of a unit in error.
func upgradeOf(u entity.UnitStatus, s entity.ServiceStatus) string {
	switch {
	case u.CharmURL == "":
		return ""
	case s.Rollout != nil && !u.Turned && s.Rollout.Stopped != "":
		return "; keeps its charm: the upgrade has stopped"
	case s.Rollout != nil && !u.Turned:
		return "; keeps its charm until its turn"
	}
	return "; upgrade pending: see juju explain " + u.Name
}

func unitTable(m *entity.ModelStatus) *table {
	services := map[string]entity.ServiceStatus{}
	for _, s := range m.Services {
		services[s.Name] = s
	}
	t := &table{}
	t.add(plain("Unit", "Workload", "Agent", "Machine", "Public address", "Ports", "Message")...)
	for _, s := range m.Services {
		visit(s.Units, 0, func(u entity.UnitStatus, depth int) {
			name := strings.Repeat("  ", depth) + u.Name
			if u.Leader {
				name += "*"
			}
			machine := u.Machine
			if depth > 0 {
				machine = "" // that of its principal
			}
			said := u.Workload
			said.Message = strings.TrimSpace(doing(u.Agent) + " " + said.Explained())
			if said.Status == entity.StatusError {
				said.Message += upgradeOf(u, services[entity.UnitService(u.Name)])
			}
			t.add(cell{text: name}, statusCell(u.Workload), statusCell(u.Agent), cell{text: machine},
				cell{text: u.PublicAddress}, cell{text: portGroups(u.OpenedPorts)}, cell{text: message(u.Life, said)})
		})
	}
	return t
}

// hookRuns matches the message of an agent that is running a hook.
var hookRuns = regexp.MustCompile(`^running ([a-z0-9-]+) hook( for .*)?$`)

// doing returns what an agent is doing, or what stops one that is idle, as a prefix of the charm's message, such as
// "(install)" during that hook.
func doing(agent entity.Status) string {
	speaks := agent.Status == entity.StatusExecuting || agent.Status == entity.StatusFailed ||
		agent.Status == entity.StatusIdle
	if !speaks || agent.Message == "" {
		return ""
	}
	if m := hookRuns.FindStringSubmatch(agent.Message); m != nil {
		return "(" + m[1] + ")"
	}
	return "(" + agent.Message + ")"
}

func machineTable(m *entity.ModelStatus) *table {
	t := &table{}
	t.add(plain("Machine", "State", "Address", "Inst id", "Base", "AZ", "Message")...)
	for _, one := range m.AllMachines() {
		address := ""
		if len(one.Addresses) > 0 {
			address = one.Addresses[0]
		}
		said := one.Status
		switch {
		case said.Message != "":
		case one.Upgrade != nil:
			said.Message = one.Upgrade.String()
		default:
			said.Message = one.InstanceStatus.Message
		}
		row := plain(one.ID, "", address, one.InstanceID, baseText(one.Series), zone(one.Hardware), message(one.Life, said))
		row[1] = statusCell(one.Status)
		t.add(row...)
	}
	return t
}

func baseText(series string) string {
	b := entity.BaseOf(series)
	if r := release(b); r != "" {
		return b.Name + "@" + r
	}
	return b.Name
}

// zone returns the availability zone in a machine's hardware characteristics.
func zone(hardware string) string {
	for _, pair := range strings.Fields(hardware) {
		if zone, ok := strings.CutPrefix(pair, "availability-zone="); ok {
			return zone
		}
	}
	return ""
}

func relationTable(m *entity.ModelStatus) *table {
	t := &table{}
	t.add(plain("Provider", "Requirer", "Interface", "Type", "Message")...)
	for _, r := range m.Relations {
		var provider, requirer string
		for _, e := range r.Endpoints {
			end := e.Service + ":" + e.Name
			if e.Role != "requirer" {
				provider = end
			}
			if e.Role != "provider" {
				requirer = end
			}
		}
		said := r.Status
		if said.Status != "joined" && r.Life == entity.Alive {
			said.Message = strings.TrimSuffix(string(said.Status)+": "+said.Message, ": ")
		}
		t.add(plain(provider, requirer, r.Interface, relationType(r), message(r.Life, said))...)
	}
	return t
}
