package dummytest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"juju/provider"
	"juju/state/entity"
)

// StartFunc starts the agent of an instance in this process. Ctx bounds only the start. Stop stops the
// agent and waits for it; it is called once.
type StartFunc func(ctx context.Context, params provider.StartParams) (stop func(), err error)

// Cloud holds the instances of any number of controllers and models. Its methods are safe for
// concurrent use.
type Cloud struct {
	start StartFunc
	log   oplog

	mu        sync.Mutex
	faults    map[string]*fault     // by method
	instances map[string]*instance  // by ID
	attempts  map[attempt]*instance // the same instances
	jammed    map[string]bool       // by ID: instances that can't be stopped
	made      int                   // how many instances were ever made
	series    []string              // that instances can have; none for any
	zones     []string
	subnets   []entity.Subnet
	ingress   map[provider.Config]provider.Ingress
	open      bool // it has no firewall

	profileless bool // instances can't have profiles
	attached    map[attachment]bool

	filesystems map[filesystemKey]*filesystem
}

// New returns an empty cloud. If start is nil, its instances have no agents.
func New(start StartFunc) *Cloud {
	if start == nil {
		start = func(context.Context, provider.StartParams) (func(), error) { return func() {}, nil }
	}
	return &Cloud{start: start, faults: map[string]*fault{}, subnets: []entity.Subnet{{CIDR: "10.0.0.0/8",
		ProviderID: "dummy-subnet", Network: "dummy-net"}}, instances: map[string]*instance{},
		attempts: map[attempt]*instance{},
		jammed:   map[string]bool{}, ingress: map[provider.Config]provider.Ingress{},
		attached: map[attachment]bool{}, filesystems: map[filesystemKey]*filesystem{}}
}

// Open opens a model; it is a provider.Open.
func (c *Cloud) Open(_ context.Context, config provider.Config) (provider.Environ, error) {
	return &environ{cloud: c, config: config}, nil
}

// SetSeries limits the series that instances can have; without arguments it lifts the limit.
func (c *Cloud) SetSeries(series ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.series = slices.Clone(series)
}

// SetZones gives the cloud availability zones.
func (c *Cloud) SetZones(zones ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zones = slices.Sorted(slices.Values(zones))
}

// SetSubnets gives the cloud other subnets than 10.0.0.0/8.
func (c *Cloud) SetSubnets(subnets ...entity.Subnet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subnets = slices.Clone(subnets)
}

// checkSpaces returns an Invalid error unless instances can meet the demand for spaces. All of them are in the first of the
// subnets, and in others on demand.
func (c *Cloud) checkSpaces(want entity.MachineSpaces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := provider.CheckSpaces(entity.MachineSpaces{In: want.In}, c.subnets, "the cloud")
	if err == nil && len(c.subnets) > 0 {
		err = provider.CheckSpaces(entity.MachineSpaces{Out: want.Out}, c.subnets[:1], "the cloud")
	}
	return err
}

// addresses returns those of the instance n: one in 10.0.0.0/8, and one in each demanded space that the first subnet is not in.
func (c *Cloud) addresses(n int, want entity.MachineSpaces) []string {
	all := []string{fmt.Sprintf("10.%d.%d.%d", n>>16&0xff, n>>8&0xff, n&0xff)}
	for _, space := range want.In {
		i := slices.IndexFunc(c.subnets, func(s entity.Subnet) bool { return provider.Within(s, space) })
		if i < 1 {
			continue
		}
		address := netip.MustParsePrefix(c.subnets[i].CIDR).Addr()
		for range n {
			address = address.Next()
		}
		all = append(all, address.String())
	}
	return all
}

func (c *Cloud) hasZones() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.zones
}

// zoneOf returns the zone of a model's instance.
func (c *Cloud) zoneOf(config provider.Config, id string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.instances[id]; i != nil && i.Controller == config.Controller && i.Model == config.Model {
		return i.Zone, nil
	}
	return "", provider.Retryable(fmt.Errorf("its host instance %s does not exist", id))
}

func (c *Cloud) hasSeries() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.series
}

// Lose makes an instance vanish, as if its host had burnt down: its agent stops, and the cloud no longer
// lists it. It reports whether the instance existed.
func (c *Cloud) Lose(id string) bool {
	c.mu.Lock()
	inst, ok := c.instances[id]
	c.mu.Unlock()
	if !ok {
		return false
	}
	<-inst.started
	inst.end(c)
	c.log.add(Op{Method: "Lose", Model: inst.Model, MachineID: inst.MachineID, InstanceIDs: []string{id}})
	return true
}

// attachment is a model's attached filesystem.
type attachment struct {
	provider.Config
	provider.AttachmentParams
}

// attempt identifies one start.
type attempt struct{ controller, model, machine, nonce string }

// instance is an instance that is starting, running or stopping.
type instance struct {
	provider.Instance
	started chan struct{} // closed when the start is over
	err     error         // of the start; set before started is closed
	stop    func()
	once    sync.Once
	// profiles are those of charms; the cloud's mu protects them.
	profiles []provider.Profile
}

// end stops the agent and deletes the instance, and returns when both are done. The start must have
// completed.
func (i *instance) end(c *Cloud) {
	i.once.Do(func() {
		if i.stop != nil {
			i.stop()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.instances, i.ID)
		delete(c.attempts, attempt{i.Controller, i.Model, i.MachineID, i.Nonce})
	})
}

// find returns the instance for a machine and nonce. If there is none, it adds an unstarted one.
func (c *Cloud) find(params provider.StartParams) (inst *instance, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := attempt{params.Controller, params.Model, params.MachineID, params.Nonce}
	if inst, ok := c.attempts[key]; ok {
		return inst, true
	}
	c.made++
	inst = &instance{started: make(chan struct{}), Instance: provider.Instance{
		ID:         fmt.Sprintf("dummy-%d", c.made),
		Addresses:  c.addresses(c.made, params.Spaces),
		Hardware:   hardware(params.Constraints),
		Zone:       params.Zone,
		Controller: params.Controller, Model: params.Model, MachineID: params.MachineID, Nonce: params.Nonce,
	}, profiles: slices.Clone(params.Profiles)}
	c.instances[inst.ID], c.attempts[key] = inst, inst
	return inst, false
}

// all returns the instances that match, sorted by ID.
func (c *Cloud) all(match func(*instance) bool) []*instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	var result []*instance
	for _, inst := range c.instances {
		if match(inst) {
			result = append(result, inst)
		}
	}
	slices.SortFunc(result, func(a, b *instance) int { return strings.Compare(a.ID, b.ID) })
	return result
}
