package provider

import (
	"context"
	"errors"
	"slices"
	"strings"

	"juju/state/constraints"
	"juju/state/entity"
)

// An Environ is one model on one cloud. Its methods are idempotent and safe for concurrent use, and
// return soon after their context is done.
type Environ interface {
	Filesystems
	Firewall
	// Profiler returns what gives instances the profiles of charms; nil if they can't have any. StartParams.Profiles are then
	// ignored.
	Profiler() Profiler
	// StartInstance starts an instance with a machine agent. It returns once the cloud has accepted
	// both; the agent may still be starting. Called again with the same machine and nonce, it returns
	// the existing instance. If it fails, it leaves nothing behind, or an instance that Instances lists.
	// IsRetryable(err) reports whether to retry; entity.Invalid means that the cloud can't provide the
	// series, constraints or placement. As with StopInstances, the error gives only the reason: the
	// caller adds what failed.
	StartInstance(ctx context.Context, params StartParams) (Instance, error)
	// StopInstances terminates the instances with all their processes, and returns once they no longer
	// exist. Instances that do not exist are ignored.
	StopInstances(ctx context.Context, ids ...string) error
	// Instances returns every instance with this model's tags, including incomplete ones, sorted by ID.
	Instances(ctx context.Context) ([]Instance, error)
	// Series returns the available series, in order of preference. None means any.
	Series(ctx context.Context) ([]string, error)
	// ConstraintRules returns which constraints conflict, which are ignored, and which values are valid.
	ConstraintRules(ctx context.Context) (constraints.Rules, error)
	// PrecheckInstance returns an Invalid error if the cloud can't provide such an instance. It starts
	// nothing. It is called before a machine is recorded, so that the user gets StartInstance's error
	// immediately.
	PrecheckInstance(ctx context.Context, params PrecheckParams) error
	// Subnets returns the subnets in which instances can have addresses, by CIDR. Each CIDR is in its canonical form, and
	// there once.
	Subnets(ctx context.Context) ([]entity.Subnet, error)
	// Zones returns the availability zones that can host such an instance, sorted; none if the cloud has
	// no zones. The error is Invalid when PrecheckInstance's would be.
	Zones(ctx context.Context, params PrecheckParams) ([]string, error)
	// Destroy stops all instances of the model and removes its other resources.
	Destroy(ctx context.Context) error
	// DestroyController does the same for every model of the controller, and for the controller itself.
	// It is called from outside the controller. Storage that is not yet released is destroyed if
	// destroyStorage is set, and released otherwise.
	DestroyController(ctx context.Context, destroyStorage bool) error
}

// StartParams describes a new instance.
type StartParams struct {
	Controller  string // UUID; "" for the Environ's own
	Model       string // UUID; "" for the Environ's own
	MachineID   string // "0"
	Nonce       string // differs between attempts to provision a machine
	Series      string // "" for any
	Constraints constraints.Value
	Spaces      entity.MachineSpaces // in which the instance has addresses or has none; those in Constraints are only names
	Placement   string               // as given by the user, without the scope; "" for none
	Zone        string               // one of Zones; "" lets the cloud choose
	// Parent is the ID of the instance that hosts the machine, if the machine is a container. The cloud
	// starts the container in the same zone. Clouds without containers return Invalid.
	Parent      string
	AgentConfig []byte // read by the machine agent at startup; contains secrets
	UserData    string // the model's setting cloudinit-userdata; clouds without cloud-init ignore it
	// Profiles are those of charms that the instance has from the start, if the Environ has a Profiler.
	Profiles []Profile
	// RunsController means that the instance runs a controller, which is its own agent, and that AgentConfig is its
	// configuration. Clouds on which only bootstrap starts controllers return NotSupported.
	RunsController bool
	// Tools are the agent binaries by architecture ("amd64"), for clouds whose instances don't share the
	// controller's files.
	Tools map[string]Tools
}

// Tools is an archive of the agent binaries: a flat tar.gz of jujud, machine-agent, unit-agent and
// hook-tool.
type Tools struct {
	URLs   []string // tried in turn
	SHA256 string   // of the archive, in hex
	// CACert is the PEM certificate of the CA that signed the certificates of the servers in URLs; ""
	// for the machine's trusted CAs.
	CACert string
}

// PrecheckParams is the part of StartParams that a cloud can reject. An empty series is not checked.
type PrecheckParams struct {
	Series      string
	Constraints constraints.Value
	Spaces      entity.MachineSpaces
	Placement   string
	Container   string // the type of a container; "" for a machine
}

// Instance is one machine in the cloud.
type Instance struct {
	ID        string // unique in the cloud, never reused
	Addresses []string
	Hardware  Hardware
	Zone      string // "" in a cloud without zones
	// Status is the cloud's status word for the instance, such as "running" or "stopped"; "" if unknown.
	Status string

	// The tags.
	Controller string // UUID
	Model      string // UUID
	MachineID  string
	Nonce      string
}

// Hardware describes an instance's hardware.
type Hardware = entity.Hardware

// Config identifies the model to open on a cloud.
type Config struct {
	Controller string // UUID
	Model      string // UUID
	Credential string // the name of the credential with which the cloud is used; "" for the controller's first
}

// Open opens a model on a cloud.
type Open func(ctx context.Context, config Config) (Environ, error)

// CheckSeries returns an Invalid error if series is not one of those in have. place describes the
// cloud's machines, as in "this host".
func CheckSeries(series string, have []string, place string) error {
	if series == "" || len(have) == 0 || slices.Contains(have, series) {
		return nil
	}
	return entity.Errorf(entity.Invalid, "series %q is not available: %s has %s", series, place, strings.Join(have, ", "))
}

// Machines says what a cloud's instances are, which decides what the controller gives their agents.
type Machines struct {
	// ShareHost means that they are processes of the controller's host, with its files, programs and users: hooks can share
	// a lock of the host, and nothing is installed outside the machines' directories.
	ShareHost bool
	// OwnHost means that each has an operating system of its own: it downloads the agent binaries, its agents run as root,
	// and Juju manages a user to log in as.
	OwnHost bool
}

// AgentNeeds is the least that a machine with an agent needs of what constraints name, in MiB. With 48 of memory the agent of
// a container was seen to start; with 10 the container exits immediately. The programs of the agents take nearly 100 of disk.
var AgentNeeds = map[string]uint64{constraints.Mem: 64, constraints.RootDisk: 128}

// CheckHardware returns an Invalid error if have does not meet the constraints. Unknown properties
// meet them. place describes the hardware, as in "this host".
func CheckHardware(cons constraints.Value, have Hardware, place string) error {
	for _, c := range []struct {
		key  string
		have uint64
	}{
		{constraints.Cores, have.Cores}, {constraints.Mem, have.Mem}, {constraints.RootDisk, have.RootDisk},
	} {
		if cons.Number(c.key) > c.have && c.have != 0 {
			return entity.Errorf(entity.Invalid, "constraint %s=%s cannot be met: %s has %s", c.key, cons.Shown(c.key), place,
				have)
		}
	}
	return nil
}

// CheckSpaces returns an Invalid error, which names the space, unless instances that are in all of the subnets in has meet the
// demand for spaces. place describes them, as in "this host".
func CheckSpaces(want entity.MachineSpaces, has []entity.Subnet, place string) error {
	within := func(s entity.Space) bool {
		return slices.ContainsFunc(has, func(x entity.Subnet) bool { return Within(x, s) })
	}
	for _, s := range want.In {
		if !within(s) {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"no machine can have an address in space %q: %s is in none of its subnets",
				s.Name, place), "To see the subnets of the spaces: juju spaces. To move some: juju move-to-space %s CIDR", s.Name)
		}
	}
	for _, s := range want.Out {
		if within(s) {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"every machine has an address in space %q: %s is in one of its subnets",
				s.Name, place), "Leave ^%s out of the constraints. To see the subnets of the spaces: juju spaces", s.Name)
		}
	}
	return nil
}

// Within reports whether a subnet of the cloud is in a space.
func Within(subnet entity.Subnet, space entity.Space) bool {
	return slices.ContainsFunc(space.Subnets, func(s entity.Subnet) bool { return s.CIDR == subnet.CIDR })
}

// Retryable marks err as transient: the provisioner retries such a start automatically, while all
// other errors wait for the user. Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return entity.Errorf(entity.Unavailable, "%w", err)
}

// IsRetryable reports whether err, returned by a method of Environ, is transient.
func IsRetryable(err error) bool { return errors.Is(err, entity.Unavailable) }

// CheckStart sets the controller and model of params to the Environ's if they are empty. It returns an
// Invalid error if they differ from the Environ's, or if the machine or nonce is missing. Every cloud
// calls it first.
func CheckStart(config Config, params *StartParams) error {
	if params.Controller == "" {
		params.Controller = config.Controller
	}
	if params.Model == "" {
		params.Model = config.Model
	}
	switch {
	case params.Controller != config.Controller:
		return entity.Errorf(entity.Invalid, "the cloud belongs to controller %q, not %q", config.Controller,
			params.Controller)
	case params.Model != config.Model:
		return entity.Errorf(entity.Invalid, "the cloud belongs to model %q, not %q", config.Model, params.Model)
	case !entity.IsValidMachine(params.MachineID):
		return entity.Errorf(entity.Invalid, "invalid machine id %q", params.MachineID)
	case params.Nonce == "":
		return entity.Errorf(entity.Invalid, "machine %s has no nonce", params.MachineID)
	}
	return nil
}
