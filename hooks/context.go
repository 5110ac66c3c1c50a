package hooks

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/juju/loggo"

	"juju/charm"
	"juju/state/entity"
)

// Backend is the hook tools' interface to the controller. Every method acts for the unit in its first
// argument, whose hook is running. Methods must be safe for concurrent use and return when their context
// is done.
type Backend interface {
	// Unit is asked for the unit's addresses.
	Unit(ctx context.Context, unit entity.Tag) (entity.UnitInfo, error)
	// Config returns every option of the unit's charm: its value (string, bool,
	// int64 or float64), or nil for one that has neither a value nor a default.
	Config(ctx context.Context, unit entity.Tag) (map[string]any, error)
	// RelationSettings returns what remote (a unit of the relation, the unit
	// itself included, or a service) has set.
	RelationSettings(ctx context.Context, unit entity.Tag, relation int, remote string) (map[string]string, error)
	// OpenedPorts returns the ports that all units on the unit's machine have
	// open, by the name of the unit.
	OpenedPorts(ctx context.Context, unit entity.Tag) (map[string][]entity.EndpointPorts, error)
	// SetUnitStatus sets the workload's status, at once.
	SetUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error
	// GoalState returns the units and relations that there will be.
	GoalState(ctx context.Context, unit entity.Tag) (entity.GoalState, error)
	// CloudSpec returns how to use the cloud; the error is Unauthorized unless the unit's service is trusted.
	CloudSpec(ctx context.Context, unit entity.Tag) (entity.CloudSpec, error)
	// UnitStatus returns the workload's status.
	UnitStatus(ctx context.Context, unit entity.Tag) (entity.Status, error)
	// LogTask adds a message to a task of the unit, at once.
	LogTask(ctx context.Context, unit entity.Tag, id, message string) error
	// SetWorkloadVersion sets the version that status shows, at once.
	SetWorkloadVersion(ctx context.Context, unit entity.Tag, version string) error

	// Resource returns a resource that the unit's charm declares; the error is NotFound if it
	// declares none of this name.
	Resource(ctx context.Context, unit entity.Tag, name string) (entity.Resource, error)
	// OpenResource opens the file of a resource, which the unit then has.
	OpenResource(ctx context.Context, unit entity.Tag, name string) (io.ReadCloser, error)

	// CharmState returns what the charm keeps in the controller for the unit.
	CharmState(ctx context.Context, unit entity.Tag) (entity.CharmState, error)

	// Secret returns a secret that the unit may read, and others that it tracks.
	Secret(ctx context.Context, unit entity.Tag, query entity.SecretQuery) (entity.SecretRead, error)
	// OwnedSecrets returns the secrets of the unit and of its service.
	OwnedSecrets(ctx context.Context, unit entity.Tag) ([]entity.SecretInfo, error)

	// Payloads returns what the unit's charm says that it runs.
	Payloads(ctx context.Context, unit entity.Tag) ([]entity.Payload, error)

	// LeaderSettings returns what the leader of the unit's service has set.
	LeaderSettings(ctx context.Context, unit entity.Tag) (entity.LeaderSettings, error)
	// SetLeaderSettings changes that, at once; "" deletes a key. Like SetServiceStatus it is
	// refused unless the unit leads by the claim of this epoch.
	SetLeaderSettings(ctx context.Context, unit entity.Tag, epoch int64, settings entity.LeaderSettings) error
	// ServiceStatus returns the statuses of the unit's service and its units to the leader.
	ServiceStatus(ctx context.Context, unit entity.Tag) (entity.StatusesOfService, error)
	// SetServiceStatus sets the status of the unit's service, at once.
	SetServiceStatus(ctx context.Context, unit entity.Tag, epoch int64, status entity.Status) error
}

// A Relation is the part of a relation's state that hooks read without querying the controller.
type Relation struct {
	Name    string   // of the charm's own endpoint, "db"
	Key     string   // "wordpress:db mysql:server"
	Remote  string   // the other service; for a peer relation the unit's own
	Members []string // the units that have joined and not departed, as far as the unit's own hooks know
	Via     []string // the subnets that connections to it come from, if a user has said so for this relation
	Model   string   // the UUID of the model that the other service is in; "" if it is the unit's own
	Offered bool     // that model has the relation through an offer of the unit's service
}

// ContextParams describes a hook to run.
type ContextParams struct {
	Unit      string // "mysql/0"
	Info      Info
	Task      *Task                // runs instead of the hook, unless it is nil
	Relations map[int]Relation     // by relation id: the relations that the unit is in
	Storage   []entity.UnitStorage // that the unit has
	// DepartingUnit is set for relation-departed only: the unit itself when it (or its service)
	// is leaving, else Info.RemoteUnit.
	DepartingUnit string
	// TargetSeries is set for the hooks of a series upgrade only: the series that the machine gets.
	TargetSeries string

	ModelName    string
	ModelUUID    string
	APIAddresses func() []string // of the controllers, "host:port"; nil for none
	Machine      string          // id of the machine, "0"
	Zone         string          // the machine's availability zone; "" in a cloud without zones
	Principal    string          // the unit that a subordinate belongs to, or ""
	ResourcesDir string          // where the files of resources are kept, in a directory for each
	// Settings are those of the model, by key; the environment has its proxies.
	Settings   map[string]string
	Leadership Leadership

	// CanReboot reports whether the hook may reboot its machine.
	CanReboot bool
	// LockExempt is closed when the hook may run concurrently with the machine's others, even if it is
	// already waiting for them. Nil means never.
	LockExempt <-chan struct{}
	// HostLock means that the hook also waits for those hooks of other machines on this host that have it.
	HostLock bool
	// Waiting is called with the lock and the hook that holds it when this one must wait.
	Waiting func(ctx context.Context, why string)
	// Stopping is called when the hook continues although its agent is stopping.
	Stopping func()
}

// A Context is the sandbox of one execution of one hook. Repeated reads return the same value until
// the hook ends. Writes to relations and ports are buffered; the caller commits them (CommitHook in
// the API) if the hook succeeds, and discards them otherwise. A Context is for a single Run.
type Context struct {
	backend Backend
	params  ContextParams
	unit    entity.Tag
	id      string
	used    atomic.Bool // by a Run
	log     LogFunc

	charmDir string // set by Run, as is log
	abort    func() // kills the hook; set by Run

	info      fact[entity.UnitInfo]
	config    fact[map[string]any]
	status    fact[entity.Status]
	ports     fact[portBuffer]
	kept      fact[stateBuffer]
	changed   changed
	payloads  fact[payloadBuffer]
	secrets   secretBuffer
	goal      fact[entity.GoalState]
	meta      fact[*charm.Meta]
	shared    fact[map[string]string] // what the leader has set
	ofService fact[entity.StatusesOfService]

	mu       sync.Mutex // guards what follows
	settings map[settingsKey]*fact[map[string]string]
	writes   map[settingsKey]map[string]string // from relation-set
	written  map[settingsKey]int               // their size, as limits count it
	epoch    int64                             // of the claim by which settings of the service were first written
	failure  string                            // the message of juju-fail, or action-fail
	logged   string                            // the last telling line of the last error in juju-log
	reboot   Reboot

	results        map[string]any // from action-set
	stdout, stderr captured       // of a task
	missing        bool           // the charm does not have the action

	stores       map[string]uint64 // instances asked for, by the charm's store
	storageToken string            // names the request

	fetching sync.Mutex        // guards fetched; held while a resource is fetched
	fetched  map[string]string // paths of the files of resources
}

// A settingsKey names the settings of one unit, or service, in one relation.
type settingsKey struct {
	relation int
	of       string
}

// A LogFunc writes one line to the log of the named module.
type LogFunc func(module string, level loggo.Level, message string)

// logToLoggo is the default LogFunc.
func logToLoggo(module string, level loggo.Level, message string) {
	loggo.GetLogger(module).Logf(level, "%s", message)
}

// NewMachineContext prepares the execution of a user's command on a machine, outside of any unit.
// It has no hook tools.
func NewMachineContext(machine string, params ContextParams) *Context {
	params.Machine, params.Unit = machine, ""
	return &Context{params: params, log: logToLoggo}
}

// NewContext prepares the execution of a hook. The error is Invalid if there is no such hook, or if its
// relation is not in Relations.
func NewContext(backend Backend, params ContextParams) (*Context, error) {
	if !entity.IsValidUnit(params.Unit) {
		return nil, entity.Errorf(entity.Invalid, "cannot run a hook for unit %q: no such name", params.Unit)
	}
	if params.Task == nil {
		if err := params.Info.Check(); err != nil {
			return nil, err
		}
	}
	params.Relations = maps.Clone(params.Relations)
	for id, rel := range params.Relations {
		rel.Members = slices.SortedFunc(slices.Values(rel.Members), entity.CompareNatural)
		params.Relations[id] = rel
	}
	if _, ok := params.Relations[params.Info.RelationID]; params.Info.Kind.IsRelation() && !ok {
		return nil, entity.Errorf(entity.Invalid, "unit %s is in no relation %d", params.Unit, params.Info.RelationID)
	}
	if s := params.Info.Storage; s != "" && !slices.ContainsFunc(params.Storage,
		func(u entity.UnitStorage) bool { return u.ID == s }) {
		return nil, entity.Errorf(entity.Invalid, "unit %s has no storage %q", params.Unit, s)
	}
	c := &Context{
		backend:  backend,
		params:   params,
		unit:     entity.UnitTag(params.Unit),
		log:      logToLoggo,
		settings: map[settingsKey]*fact[map[string]string]{},
		writes:   map[settingsKey]map[string]string{},
		written:  map[settingsKey]int{},
	}
	// The id is also the secret that the hook shows when it uses a tool: only
	// the hook and what it starts can read its environment.
	c.id = fmt.Sprintf("%s-%s-%s", params.Unit, c.HookName(), strings.ToLower(rand.Text()))
	return c, nil
}

// entity names the unit for logs, or the machine.
func (c *Context) entity() string {
	if c.params.Unit == "" {
		return "machine " + c.params.Machine
	}
	return "unit " + c.params.Unit
}

// HookName returns the name of the hook's file, "db-relation-joined", or of a task.
func (c *Context) HookName() string {
	if c.params.Task != nil {
		return c.params.Task.Name
	}
	return c.params.Info.Name(c.params.Relations[c.params.Info.RelationID].Name)
}

// Changes returns a copy of the hook's buffered changes so far; all of them once the hook has exited.
func (c *Context) Changes() entity.HookChanges {
	var changes entity.HookChanges
	c.ports.peek(func(b *portBuffer) { b.addTo(&changes) })
	c.kept.peek(func(b *stateBuffer) { b.addTo(&changes) })
	c.payloads.peek(func(b *payloadBuffer) { b.addTo(&changes) })
	c.secrets.addTo(&changes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storageChanges(&changes)
	for key, settings := range c.writes {
		to := &changes.Relations
		if key.of != c.params.Unit {
			to, changes.Epoch = &changes.Applications, c.epoch
		}
		if *to == nil {
			*to = map[int]map[string]string{}
		}
		(*to)[key.relation] = maps.Clone(settings)
	}
	return changes
}

// failed returns the message of juju-fail or action-fail, or "".
func (c *Context) failed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// owns reports whether id is this context's, in constant time.
func (c *Context) owns(id string) bool {
	return subtle.ConstantTimeCompare([]byte(id), []byte(c.id)) == 1
}

// relationID returns a relation's id in the hooks' form: "db:3".
func (c *Context) relationID(id int) string {
	return fmt.Sprintf("%s:%d", c.params.Relations[id].Name, id)
}
