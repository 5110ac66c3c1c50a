package provider

import (
	"context"
	"errors"
	"slices"
	"strings"

	"juju/state/constraints"
	"juju/state/entity"
)

// An Environ is one model on one cloud. Its methods are safe for concurrent use; each returns
// soon after its context is done, and can be repeated after an interruption.
type Environ interface {
	Filesystems
	Firewall
	// StartInstance starts an instance with a machine agent on it and returns once the cloud
	// has accepted both; the agent may still be starting. Repeated with the same machine and
	// nonce, it returns the instance that exists. If it fails, it leaves nothing, or an
	// instance that Instances lists. IsRetryable(err) says whether to try again; entity.Invalid
	// means that the cloud can't provide the series, constraints or placement. The error gives
	// only the reason, as does that of StopInstances: the caller adds what has failed.
	StartInstance(ctx context.Context, params StartParams) (Instance, error)
	// StopInstances ends the instances and everything that ran on them, and returns when they
	// are gone. An instance that does not exist counts as stopped.
	StopInstances(ctx context.Context, ids ...string) error
	// Instances returns every instance that the cloud has with this model's tags, including
	// incomplete ones, sorted by ID.
	Instances(ctx context.Context) ([]Instance, error)
	// Series returns the series that instances can have, the preferred one first. None means
	// any.
	Series(ctx context.Context) ([]string, error)
	// ConstraintRules says which constraints conflict, which are ignored, and which values are
	// available.
	ConstraintRules(ctx context.Context) (constraints.Rules, error)
	// PrecheckInstance returns an Invalid error when the cloud can't provide such an instance.
	// It starts nothing. It is called before a machine is recorded, so that the user learns at
	// once what StartInstance would report later.
	PrecheckInstance(ctx context.Context, params PrecheckParams) error
	// Zones returns the availability zones in which such an instance can be, sorted. There are none
	// if the cloud has no zones. The error is Invalid when PrecheckInstance's would be.
	Zones(ctx context.Context, params PrecheckParams) ([]string, error)
	// Destroy stops all instances of the model and removes everything else that the cloud has
	// of it.
	Destroy(ctx context.Context) error
	// DestroyController does the same for every model of the controller, and for the controller
	// itself. It is called from outside the controller. Storage that no model has released is
	// destroyed if destroyStorage says so, otherwise released.
	DestroyController(ctx context.Context, destroyStorage bool) error
}

// StartParams is what a new instance is made of.
type StartParams struct {
	Controller  string // UUID; "" for the Environ's own
	Model       string // UUID; "" for the Environ's own
	MachineID   string // "0"
	Nonce       string // differs between two attempts to provision a machine
	Series      string // "" for any
	Constraints constraints.Value
	Placement   string // as the user wrote it, less the scope; "" for none
	Zone        string // one of Zones; "" leaves it to the cloud
	// Parent is the ID of the instance that hosts the machine, if the machine is a container. The
	// cloud starts the container in the same zone, or refuses it with Invalid if it has none.
	Parent      string
	AgentConfig []byte // what the machine agent reads when it starts; holds secrets
	// Tools are the programs of agents by architecture ("amd64"), for clouds whose instances don't
	// share the controller's files.
	Tools map[string]Tools
}

// Tools is an archive of the programs of controllers and agents: jujud, machine-agent, unit-agent and
// hook-tool, in a tar file without folders that is compressed with gzip.
type Tools struct {
	URLs   []string // tried in turn
	SHA256 string   // of the archive, in hex
	// CACert is the certificate, in PEM, of the authority that has signed those of the servers of
	// URLs; "" means the authorities that the machine trusts.
	CACert string
}

// PrecheckParams is the part of StartParams that a cloud can refuse. An empty series is not
// checked.
type PrecheckParams struct {
	Series      string
	Constraints constraints.Value
	Placement   string
	Container   string // the type of a container; "" for a machine
}

// Instance is one machine in the cloud.
type Instance struct {
	ID        string // unique in the cloud, never used again
	Addresses []string
	Hardware  Hardware
	Zone      string // "" in a cloud without zones
	// Status is what the cloud says of the instance in a word: "running", "stopped"; "" if it does not say.
	Status string

	// The tags that it was started with.
	Controller string // UUID
	Model      string // UUID
	MachineID  string
	Nonce      string
}

// Hardware is what an instance has.
type Hardware = entity.Hardware

// Config is what a cloud needs to open one model.
type Config struct {
	Controller string // UUID
	Model      string // UUID
}

// Open opens a model on a cloud.
type Open func(ctx context.Context, config Config) (Environ, error)

// CheckSeries returns an Invalid error if the cloud does not have the series. place names the
// cloud's machines, as in "this host".
func CheckSeries(series string, have []string, place string) error {
	if series == "" || len(have) == 0 || slices.Contains(have, series) {
		return nil
	}
	return entity.Errorf(entity.Invalid, "series %q is not available: %s has %s", series, place, strings.Join(have, ", "))
}

// CheckHardware returns an Invalid error if have does not meet the constraints. A property that is
// not known meets them. place names what has it, as in "this host".
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

// Retryable marks err as one that may not occur again: the provisioner repeats such a start by
// itself, while all other errors wait for the user. Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return entity.Errorf(entity.Unavailable, "%w", err)
}

// IsRetryable reports whether err, returned by a method of Environ, may not occur again.
func IsRetryable(err error) bool { return errors.Is(err, entity.Unavailable) }

// CheckStart fills in the Environ's own controller and model where params names none. It
// returns an Invalid error if params names others, or if the machine or nonce is missing. Every
// cloud calls it first.
func CheckStart(config Config, params *StartParams) error {
	if params.Controller == "" {
		params.Controller = config.Controller
	}
	if params.Model == "" {
		params.Model = config.Model
	}
	switch {
	case params.Controller != config.Controller:
		return entity.Errorf(entity.Invalid, "the cloud is that of controller %q, and not of %q", config.Controller,
			params.Controller)
	case params.Model != config.Model:
		return entity.Errorf(entity.Invalid, "the cloud is that of model %q, and not of %q", config.Model, params.Model)
	case !entity.IsValidMachine(params.MachineID):
		return entity.Errorf(entity.Invalid, "%q is no name of a machine", params.MachineID)
	case params.Nonce == "":
		return entity.Errorf(entity.Invalid, "machine %s has no nonce", params.MachineID)
	}
	return nil
}
