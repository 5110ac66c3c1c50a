package uniter

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"juju/hooks"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A controller is an in-memory controller with the unit "web/0". It keeps the rules of state
// that the unit's agent relies on.
type controller struct {
	mu   sync.Mutex
	unit entity.UnitInfo
	gone bool // the unit was removed

	retryHooks   bool   // the model's setting
	updateStatus string // its setting for the interval of update-status; "" for the default
	exempt       string // the setting machine-lock-exempt
	hostLock     string // the setting host-lock
	proxy        string // and for juju-http-proxy
	reboots      []string

	relations    map[int]*relation
	config       map[string]any
	charms       map[string]archive
	workload     entity.Status
	agent        entity.Status
	statuses     []string                          // both, in order: "agent idle", "workload active: serving"
	settings     map[int]map[string]string         // the unit's own, by relation
	ports        map[string][]entity.EndpointPorts // by unit
	leads        int64                             // the epoch by which the unit leads; 0 if it does not
	granted      int64                             // the epoch of the unit's last claim
	ran          []time.Duration                   // how long hooks ran
	released     int                               // how often it has released the leadership
	tasks        []entity.Task
	kept         entity.CharmState
	applications map[int]map[string]string                  // the settings of the service, by relation
	shared       entity.LeaderSettings                      // what the leader has set
	version      string                                     // of the workload
	ofService    entity.Status                              // the status of the service
	refuse       map[string]error                           // by method: its next call fails so
	onCall       func(method string, do func() error) error // around every call that changes something
	watchers     []chan struct{}
	stores       map[string]uint64 // storage that hooks have asked for
	told         []string          // about secrets: "secret-changed ID 3"
	made         []entity.NewSecret
}

// A relation is one of the unit's, with its counterparts.
type relation struct {
	info        entity.RelationInfo
	members     map[string]int64
	application int64 // the version of the other service's settings
	settings    map[string]map[string]string
	gone        bool
	chatty      bool // its units set something whenever the unit has heard of them
}

// newRelation returns an Alive relation with these counterparts.
func newRelation(id int, endpoint, remote string, members map[string]int64) *relation {
	return &relation{
		info: entity.RelationInfo{ID: id, Key: fmt.Sprintf("web:%s %s:server", endpoint, remote),
			Endpoint: endpoint, Role: "requirer", Interface: "any", Scope: "global", Remote: remote},
		members: members, settings: map[string]map[string]string{},
	}
}

type archive struct {
	content []byte
	sha256  string
}

func newController() *controller {
	return &controller{
		unit: entity.UnitInfo{
			Name: "web/0", Service: "web", Machine: "1", ServiceCharmURL: "local:web-1", ConfigVersion: 1,
			PrivateAddress: "127.0.1.1",
		},
		relations: map[int]*relation{}, config: map[string]any{"title": "one"}, proxy: "http://proxy", charms: map[string]archive{},
		workload: entity.Status{Status: entity.StatusWaiting, Message: "waiting for machine"},
		settings: map[int]map[string]string{}, ports: map[string][]entity.EndpointPorts{}, refuse: map[string]error{},
	}
}

// change lets f change what the controller knows, and wakes all watches.
func (c *controller) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.wake()
}

func (c *controller) wake() {
	for _, w := range c.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// call wraps every method that changes something.
func (c *controller) call(method string, f func() error) error {
	do := func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.refuse[method]; err != nil {
			delete(c.refuse, method)
			return err
		}
		if c.gone {
			return entity.Errorf(entity.NotFound, `unit "web/0" not found`)
		}
		err := f()
		c.wake()
		return err
	}
	if c.onCall != nil {
		return c.onCall(method, do)
	}
	return do()
}

func (c *controller) Unit(_ context.Context, unit entity.Tag) (entity.UnitInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || unit.ID != c.unit.Name {
		return entity.UnitInfo{}, entity.Errorf(entity.NotFound, "unit %q not found", unit.ID)
	}
	u := c.unit
	u.Subordinates, u.Tasks = slices.Clone(u.Subordinates), c.refs()
	return u, nil
}

func (c *controller) WatchUnit(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	read := func() string {
		return fmt.Sprint(c.unit, c.gone, c.refs(), c.retryHooks, c.updateStatus, c.proxy, c.exempt)
	}
	return watch(ctx, c, read, func(string, string) struct{} { return struct{}{} }), nil
}

func (c *controller) Relations(context.Context, entity.Tag) ([]entity.RelationInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.infos(), nil
}

func (c *controller) infos() []entity.RelationInfo {
	var infos []entity.RelationInfo
	for _, id := range slices.Sorted(maps.Keys(c.relations)) {
		r := c.relations[id]
		if !r.gone && (r.info.Life == entity.Alive || r.info.InScope) {
			infos = append(infos, r.info)
		}
	}
	return infos
}

func (c *controller) WatchRelations(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	return watch(ctx, c, func() string { return fmt.Sprint(c.infos()) }, func(string, string) struct{} {
		return struct{}{}
	}), nil
}

func (c *controller) WatchRelationUnits(
	ctx context.Context, _ entity.Tag, id int,
) (<-chan entity.RelationUnitsChange, error) {
	c.mu.Lock()
	r := c.relations[id]
	c.mu.Unlock()
	if r == nil || r.gone {
		return nil, entity.Errorf(entity.NotFound, "relation %d not found", id)
	}
	return watch(ctx, c, func() map[string]int64 {
		all := maps.Clone(r.members)
		if r.application != 0 {
			all[r.info.Remote] = r.application
		}
		return all
	},
		func(was, is map[string]int64) entity.RelationUnitsChange {
			change := entity.RelationUnitsChange{Changed: map[string]int64{}}
			for unit, version := range is {
				if old, ok := was[unit]; ok && old == version {
					continue
				}
				if unit == r.info.Remote {
					change.Application = version
				} else {
					change.Changed[unit] = version
				}
			}
			for unit := range was {
				if _, ok := is[unit]; !ok {
					change.Departed = append(change.Departed, unit)
				}
			}
			slices.Sort(change.Departed)
			return change
		}), nil
}

// watch watches a fact as package state/watcher documents it: an event at once, then one for
// each change, merged while no one reads.
func watch[V, E any](ctx context.Context, c *controller, read func() V, event func(was, is V) E) <-chan E {
	out, wake := make(chan E), make(chan struct{}, 1)
	c.mu.Lock()
	c.watchers = append(c.watchers, wake)
	c.mu.Unlock()
	go func() {
		defer close(out)
		defer func() {
			c.mu.Lock()
			c.watchers = slices.DeleteFunc(c.watchers, func(w chan struct{}) bool { return w == wake })
			c.mu.Unlock()
		}()
		var sent V
		first := true
		for {
			c.mu.Lock()
			now := read()
			c.mu.Unlock()
			var send chan E
			if first || fmt.Sprint(now) != fmt.Sprint(sent) {
				send = out
			}
			select {
			case <-ctx.Done():
				return
			case <-wake:
			case send <- event(sent, now):
				sent, first = now, false
			}
		}
	}()
	return out
}

func (c *controller) EnterScope(_ context.Context, _ entity.Tag, id int) error {
	return c.call("EnterScope", func() error {
		r := c.relations[id]
		switch {
		case r == nil || r.gone:
			return entity.Errorf(entity.NotFound, "relation %d not found", id)
		case r.info.InScope:
			return nil
		case r.info.Life != entity.Alive || c.unit.Life != entity.Alive:
			return entity.Errorf(entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
		}
		r.info.InScope = true
		c.settings[id] = map[string]string{"private-address": c.unit.PrivateAddress}
		return nil
	})
}

func (c *controller) LeaveScope(_ context.Context, _ entity.Tag, id int) error {
	return c.call("LeaveScope", func() error {
		r := c.relations[id]
		if r == nil || r.gone {
			return entity.Errorf(entity.NotFound, "relation %d not found", id)
		}
		r.info.InScope = false
		return nil
	})
}

func (c *controller) Config(context.Context, entity.Tag) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.config), nil
}

func (c *controller) RelationSettings(
	_ context.Context, _ entity.Tag, id int, remote string,
) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if remote == c.unit.Name {
		return maps.Clone(c.settings[id]), nil
	}
	return maps.Clone(c.relations[id].settings[remote]), nil
}

func (c *controller) OpenedPorts(context.Context, entity.Tag) (map[string][]entity.EndpointPorts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.ports), nil
}

// HookRan changes nothing, so it is no call that can be cut.
func (c *controller) HookRan(_ context.Context, _ entity.Tag, took time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = append(c.ran, took)
	return nil
}

func (c *controller) CommitHook(_ context.Context, unit entity.Tag, changes entity.HookChanges) error {
	return c.call("CommitHook", func() error {
		if len(changes.Applications) > 0 {
			err := c.asLeader(changes.Epoch, func() { c.applications = changes.Applications })
			if err != nil {
				return err
			}
		}
		if secrets := changes.Secrets; secrets != nil && secrets.Told != nil {
			if secrets.Told.OfService {
				if err := c.asLeader(secrets.Epoch, func() {}); err != nil {
					return err
				}
			}
			c.told = append(c.told, hooks.SecretHook(*secrets.Told).String())
			c.unit.Secrets = slices.DeleteFunc(slices.Clone(c.unit.Secrets), func(e entity.SecretEvent) bool {
				return e == *secrets.Told
			})
		}
		if changes.Secrets != nil {
			c.made = append(c.made, changes.Secrets.Create...)
		}
		for id, settings := range changes.Relations {
			if r := c.relations[id]; r == nil || r.gone {
				continue
			}
			for key, value := range settings {
				if value == "" {
					delete(c.settings[id], key)
				} else {
					c.settings[id][key] = value
				}
			}
		}
		for _, key := range changes.DropState {
			delete(c.kept, key)
		}
		maps.Copy(c.kept, changes.CharmState)
		c.stores = changes.Storage
		open := slices.DeleteFunc(c.ports[unit.ID], func(p entity.EndpointPorts) bool {
			return slices.Contains(changes.ClosePorts, p.PortRange)
		})
		for _, p := range changes.OpenPorts {
			if !slices.ContainsFunc(open, func(q entity.EndpointPorts) bool { return q.PortRange == p }) {
				open = append(open, entity.EndpointPorts{PortRange: p})
			}
		}
		c.ports[unit.ID] = open
		return nil
	})
}

func (c *controller) CloudSpec(context.Context, entity.Tag) (entity.CloudSpec, error) {
	return entity.CloudSpec{}, entity.Errorf(entity.Unauthorized, "permission denied")
}

func (c *controller) GoalState(context.Context, entity.Tag) (entity.GoalState, error) {
	return entity.GoalState{}, nil
}

func (c *controller) SetUnitStatus(_ context.Context, _ entity.Tag, status entity.Status) error {
	return c.call("SetUnitStatus", func() error { c.workload = status; c.note("workload", status); return nil })
}

func (c *controller) SetAgentStatus(_ context.Context, _ entity.Tag, status entity.Status) error {
	return c.call("SetAgentStatus", func() error { c.agent = status; c.note("agent", status); return nil })
}

func (c *controller) RequestReboot(_ context.Context, _ entity.Tag, boot string) error {
	return c.call("RequestReboot", func() error { c.reboots = append(c.reboots, boot); return nil })
}

func (c *controller) note(whose string, status entity.Status) {
	line := whose + " " + string(status.Status)
	if status.Message != "" {
		line += ": " + status.Message
	}
	c.statuses = append(c.statuses, line)
}

func (c *controller) UnitStatus(context.Context, entity.Tag) (entity.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workload, nil
}

func (c *controller) ModelConfig(context.Context, entity.Tag) (modelconfig.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := map[string]string{modelconfig.RetryHooks: fmt.Sprint(c.retryHooks), "juju-http-proxy": c.proxy}
	if c.exempt != "" {
		set[modelconfig.LockExempt] = c.exempt
	}
	if c.hostLock != "" {
		set[modelconfig.HostLock] = c.hostLock
	}
	if c.updateStatus != "" {
		set[modelconfig.UpdateStatus] = c.updateStatus
	}
	return modelconfig.New(set, "jammy"), nil
}

func (c *controller) ClearResolved(context.Context, entity.Tag) error {
	return c.call("ClearResolved", func() error { c.unit.Resolved = entity.ResolvedNone; return nil })
}

func (c *controller) SetCharm(_ context.Context, _ entity.Tag, url string) error {
	return c.call("SetCharm", func() error { c.unit.CharmURL = url; return nil })
}

func (c *controller) CharmArchive(_ context.Context, url string) (io.ReadCloser, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.charms[url]
	if !ok {
		return nil, "", entity.Errorf(entity.NotFound, "charm %q not found", url)
	}
	return a.open(), a.sha256, nil
}

func (c *controller) DestroyUnit(context.Context, entity.Tag) error {
	return c.call("DestroyUnit", func() error { c.unit.Life = max(c.unit.Life, entity.Dying); return nil })
}

func (c *controller) DestroySubordinates(context.Context, entity.Tag) error {
	return c.call("DestroySubordinates", func() error { return nil })
}

func (c *controller) FinishUpgradeStep(context.Context, entity.Tag, int64, bool) error {
	return c.call("FinishUpgradeStep", func() error {
		if c.unit.Upgrade != nil {
			up := *c.unit.Upgrade
			up.Done = true
			c.unit.Upgrade = &up
		}
		return nil
	})
}

func (c *controller) DetachStorage(_ context.Context, _ entity.Tag, id string) error {
	return c.call("DetachStorage", func() error {
		c.unit.Storage = slices.DeleteFunc(slices.Clone(c.unit.Storage),
			func(s entity.UnitStorage) bool { return s.ID == id })
		return nil
	})
}

func (c *controller) EnsureDead(context.Context, entity.Tag) error {
	return c.call("EnsureDead", func() error {
		for _, r := range c.relations {
			if r.info.InScope && !r.gone {
				return entity.Errorf(entity.InUse, "unit is in the scope of relation %d", r.info.ID)
			}
		}
		if len(c.unit.Subordinates) > 0 {
			return entity.Errorf(entity.HasSubordinates, "unit has subordinates")
		}
		if len(c.unit.Storage) > 0 {
			return entity.Errorf(entity.InUse, "unit has storage attachments")
		}
		if c.unit.Life == entity.Alive {
			return entity.Errorf(entity.Invalid, "unit is alive")
		}
		c.unit.Life = entity.Dead
		return nil
	})
}

func (c *controller) CharmState(context.Context, entity.Tag) (entity.CharmState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.kept), nil
}

func (c *controller) Secret(context.Context, entity.Tag, entity.SecretQuery) (entity.SecretRead, error) {
	return entity.SecretRead{}, entity.Errorf(entity.Unauthorized, "permission denied")
}

func (c *controller) OwnedSecrets(context.Context, entity.Tag) ([]entity.SecretInfo, error) {
	return nil, nil
}

func (c *controller) Payloads(context.Context, entity.Tag) ([]entity.Payload, error) { return nil, nil }

func (c *controller) Resource(context.Context, entity.Tag, string) (entity.Resource, error) {
	return entity.Resource{}, entity.Errorf(entity.NotFound, "charm \"web\" has no resources")
}

func (c *controller) OpenResource(context.Context, entity.Tag, string) (io.ReadCloser, error) {
	return nil, entity.Errorf(entity.NotFound, "charm \"web\" has no resources")
}

func (c *controller) SetWorkloadVersion(_ context.Context, _ entity.Tag, version string) error {
	return c.call("SetWorkloadVersion", func() error { c.version = version; return nil })
}
