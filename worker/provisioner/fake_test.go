package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A fakeModel has the machines of a model. Tests change them with the methods of API and with
// set, which fires the watch.
type fakeModel struct {
	mu        sync.Mutex
	machines  map[string]entity.MachineInfo
	events    chan []string
	passwords map[string]int
	messages  map[string]string
	said      []string         // by machines, in turn
	faults    map[string]error // by method; each occurs once
	units     map[string]int   // on machines
	group     map[string][]string
	spaces    map[string]entity.MachineSpaces
	zones     map[string]string // of machines
	profiles  map[string][]entity.CharmProfile
	recorded  map[string][]entity.ProfileRef // of new instances, by machine
	leftovers []entity.Leftover
	config    modelconfig.Config
	configs   chan struct{} // the watch of config
	agents    chan struct{} // the watch of agents
	observed  []string
	keeps     error // why leftovers can't be dropped
	removals  int   // that were tried

	// These run when the call has changed the model, before it returns.
	onObserve     func(context.Context)
	onProvisioned func()
}

func newModel(machines ...entity.MachineInfo) *fakeModel {
	m := &fakeModel{
		machines: map[string]entity.MachineInfo{}, events: make(chan []string),
		passwords: map[string]int{}, messages: map[string]string{}, faults: map[string]error{}, units: map[string]int{},
		zones: map[string]string{}, recorded: map[string][]entity.ProfileRef{},
		config: modelconfig.New(nil, "jammy"), configs: make(chan struct{}), agents: make(chan struct{}),
	}
	for _, machine := range machines {
		m.machines[machine.ID] = machine
	}
	return m
}

// set changes or adds a machine and waits until the watcher has been told.
func (m *fakeModel) set(machine entity.MachineInfo) {
	m.mu.Lock()
	m.machines[machine.ID] = machine
	m.mu.Unlock()
	m.events <- []string{machine.ID}
}

// machine returns the current machine with that id.
func (m *fakeModel) machine(id string) entity.MachineInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.machines[id]
}

// first sends the watch's first event, which names all machines.
func (m *fakeModel) first() {
	m.mu.Lock()
	var ids []string
	for id := range m.machines {
		ids = append(ids, id)
	}
	m.mu.Unlock()
	m.events <- ids
}

// fault returns the error that the method is to fail with this time.
func (m *fakeModel) fault(method string) error {
	err := m.faults[method]
	delete(m.faults, method)
	return err
}

// String writes a line per machine: "1 alive pending", "2 dead i-2".
func (m *fakeModel) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for id, machine := range m.machines {
		line := id + " " + machine.Life.String()
		if machine.InstanceID != "" {
			line += " " + machine.InstanceID
		}
		if machine.Status != "" {
			line += " " + string(machine.Status)
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, entity.CompareNatural)
	return strings.Join(lines, "\n")
}

// harvest sets the harvest mode and waits until the watcher has been told.
func (m *fakeModel) harvest(mode string) {
	m.mu.Lock()
	m.config = modelconfig.New(map[string]string{modelconfig.HarvestMode: mode}, "jammy")
	m.mu.Unlock()
	m.configs <- struct{}{}
}

// Observe notes what the cloud reports, as "0: 10.0.0.1 cores=2 running".
func (m *fakeModel) Observe(ctx context.Context, machine entity.Tag, in entity.Instance, status string) error {
	if m.onObserve != nil {
		defer m.onObserve(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("Observe"); err != nil {
		return err
	}
	m.observed = append(m.observed, strings.Join(slices.DeleteFunc([]string{machine.ID + ":",
		strings.Join(in.Addresses, ","), in.Hardware.String(), status}, func(s string) bool { return s == "" }), " "))
	return nil
}

func (m *fakeModel) ModelConfig(context.Context) (modelconfig.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config, m.fault("ModelConfig")
}

func (m *fakeModel) WatchForModelConfigChanges(context.Context) (<-chan struct{}, error) {
	return m.configs, nil
}

func (m *fakeModel) WatchAgents(context.Context) (<-chan struct{}, error) { return m.agents, nil }

func (m *fakeModel) WatchMachines(context.Context) (<-chan []string, error) { return m.events, nil }

func (m *fakeModel) Machines(_ context.Context, ids ...string) ([]entity.MachineInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("Machines"); err != nil {
		return nil, err
	}
	var found []entity.MachineInfo
	for id, machine := range m.machines {
		if len(ids) == 0 || slices.Contains(ids, id) {
			found = append(found, machine)
		}
	}
	return found, nil
}

// DistributionGroup is that of a machine of which group names the others.
func (m *fakeModel) DistributionGroup(_ context.Context, tag entity.Tag) ([]string, error) {
	return m.group[tag.ID], nil
}

// MachineSpaces are those of a machine that spaces has.
func (m *fakeModel) MachineSpaces(_ context.Context, tag entity.Tag) (entity.MachineSpaces, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spaces[tag.ID], m.fault("MachineSpaces")
}

// CharmProfiles are those of a machine that profiles has.
func (m *fakeModel) CharmProfiles(_ context.Context, tag entity.Tag) ([]entity.CharmProfile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.profiles[tag.ID], m.fault("CharmProfiles")
}

func (m *fakeModel) NewPassword(_ context.Context, tag entity.Tag) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passwords[tag.ID]++
	return fmt.Sprintf("secret-%d", m.passwords[tag.ID]), m.fault("NewPassword")
}

// change applies f to a machine that exists.
func (m *fakeModel) change(method string, tag entity.Tag, f func(*entity.MachineInfo) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(method); err != nil {
		return err
	}
	machine, ok := m.machines[tag.ID]
	if !ok {
		return entity.Errorf(entity.NotFound, "machine %s not found", tag.ID)
	}
	if err := f(&machine); err != nil {
		return err
	}
	m.machines[tag.ID] = machine
	return nil
}

func (m *fakeModel) SetProvisioned(_ context.Context, tag entity.Tag, instance entity.Instance) error {
	if m.onProvisioned != nil {
		defer m.onProvisioned()
	}
	return m.change("SetProvisioned", tag, func(machine *entity.MachineInfo) error {
		if machine.Life != entity.Alive && (machine.Life != entity.Dying || m.units[tag.ID] == 0) {
			return entity.Errorf(entity.NotAlive, "machine %s is not alive", tag.ID)
		}
		if machine.InstanceID != "" {
			return entity.Errorf(entity.AlreadyExists, "already set")
		}
		machine.InstanceID, machine.Nonce = instance.ID, instance.Nonce
		m.zones[tag.ID] = instance.Hardware.Zone
		if instance.Profiles != nil {
			m.recorded[tag.ID] = instance.Profiles
		}
		return nil
	})
}

func (m *fakeModel) SetMachineStatus(_ context.Context, tag entity.Tag, status entity.Status) error {
	return m.change("SetMachineStatus", tag, func(machine *entity.MachineInfo) error {
		machine.Status = status.Status
		m.messages[tag.ID] = status.Message
		if status.Data != nil {
			m.messages[tag.ID] += fmt.Sprintf("; %v", status.Data["hint"])
		}
		m.said = append(m.said, status.Message)
		return nil
	})
}

func (m *fakeModel) EnsureDead(_ context.Context, tag entity.Tag) error {
	return m.change("EnsureDead", tag, func(machine *entity.MachineInfo) error {
		if machine.Life == entity.Alive {
			return entity.Errorf(entity.Invalid, "machine %s is alive", tag.ID)
		}
		if m.units[tag.ID] > 0 {
			return entity.Errorf(entity.InUse, "machine %s has units", tag.ID)
		}
		machine.Life = entity.Dead
		return nil
	})
}

func (m *fakeModel) RemoveMachine(_ context.Context, tag entity.Tag) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removals++
	if err := m.fault("RemoveMachine"); err != nil {
		return err
	}
	if machine, ok := m.machines[tag.ID]; ok && machine.Life != entity.Dead {
		return entity.Errorf(entity.Invalid, "machine is not dead")
	}
	delete(m.machines, tag.ID)
	return nil
}

func (m *fakeModel) SetInstanceStatus(_ context.Context, tag entity.Tag, status entity.Status) error {
	return m.change("SetInstanceStatus", tag, func(machine *entity.MachineInfo) error {
		hint, _ := status.Data["hint"].(string)
		m.messages["instance of "+tag.ID] = status.Message + "; " + hint
		return nil
	})
}

func (m *fakeModel) LoseInstance(_ context.Context, tag entity.Tag, missed entity.Instance) error {
	return m.change("LoseInstance", tag, func(machine *entity.MachineInfo) error {
		if machine.InstanceID == missed.ID && machine.Nonce == missed.Nonce && machine.Life != entity.Dead {
			machine.InstanceID, machine.Nonce, machine.Status = "", "", entity.StatusPending
		}
		return nil
	})
}

func (m *fakeModel) Leftovers(context.Context) ([]entity.Leftover, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.leftovers), m.fault("Leftovers")
}

func (m *fakeModel) DropLeftovers(_ context.Context, instance string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keeps == nil {
		m.leftovers = slices.DeleteFunc(m.leftovers, func(r entity.Leftover) bool { return r.Instance == instance })
	}
	return m.keeps
}

// A fakeCloud has instances, and behaves as its hooks say.
type fakeCloud struct {
	mu         sync.Mutex
	instances  []provider.Instance
	next       int
	addresses  []string // of instances that are started
	log        []string
	running    int                                                     // starts in progress
	maxRunning int                                                     // the most starts in progress at any time
	onStart    func(ctx context.Context, p provider.StartParams) error // runs before an instance is made
	onStop     func(id string) error
	onList     func()
	listed     int   // how often the instances were listed
	away       error // why they can't be
	profiler   provider.Profiler
}

// Profiler returns nil, unless the test has set one. The provisioner does not call it.
func (c *fakeCloud) Profiler() provider.Profiler { return c.profiler }

func (c *fakeCloud) StartInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error) {
	c.mu.Lock()
	c.running++
	c.maxRunning = max(c.maxRunning, c.running)
	c.log = append(c.log, "start "+params.MachineID)
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.running--; c.mu.Unlock() }()
	var err error
	if c.onStart != nil {
		err = c.onStart(ctx, params)
	}
	if err != nil && err != errHalfMade {
		return provider.Instance{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range c.instances {
		if in.MachineID == params.MachineID && in.Nonce == params.Nonce {
			return in, err
		}
	}
	c.next++
	in := provider.Instance{ID: fmt.Sprintf("i-%d", c.next), MachineID: params.MachineID, Nonce: params.Nonce,
		Addresses: c.addresses}
	c.instances = append(c.instances, in)
	return in, err
}

// errHalfMade makes StartInstance fail and leave an instance.
var errHalfMade = provider.Retryable(fmt.Errorf("out of patience"))

func (c *fakeCloud) StopInstances(_ context.Context, ids ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.log = append(c.log, "stop "+id)
		if c.onStop != nil {
			if err := c.onStop(id); err != nil {
				return err
			}
		}
		c.instances = slices.DeleteFunc(c.instances, func(in provider.Instance) bool { return in.ID == id })
	}
	return nil
}

func (c *fakeCloud) Zones(context.Context, provider.PrecheckParams) ([]string, error) {
	return nil, nil
}

func (c *fakeCloud) Instances(context.Context) ([]provider.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed++
	if c.onList != nil {
		c.onList()
	}
	return slices.Clone(c.instances), c.away
}

// lists returns how often the instances were listed.
func (c *fakeCloud) lists() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed
}

// refuse makes lists fail; nil ends that.
func (c *fakeCloud) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = err
}

// ids returns the instances there are, as "i-1 i-2".
func (c *fakeCloud) ids() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, in := range c.instances {
		ids = append(ids, in.ID)
	}
	return strings.Join(ids, " ")
}
