package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
)

// An Environ is one model on one cloud. All of its methods may be called from
// many goroutines at once, each ends soon after its context does, and each can
// be repeated after it was interrupted.
type Environ interface {
	// StartInstance starts an instance with a machine agent on it and returns
	// once the cloud has accepted both; the agent may still be on its way up. A
	// repetition with the same machine and nonce returns the instance that is
	// there. One that fails leaves nothing, or an instance that Instances lists.
	// IsRetryable says of the error whether to try again; entity.Invalid means
	// that the series, constraints or placement can't be had. The error gives the reason
	// alone, like that of StopInstances: who called says what has failed.
	StartInstance(ctx context.Context, params StartParams) (Instance, error)
	// StopInstances ends the instances and all that ran on them, and returns when
	// they are gone. An instance that is not there is stopped already.
	StopInstances(ctx context.Context, ids ...string) error
	// Instances returns all that the cloud has with this model's tags, half made
	// ones too, sorted by ID.
	Instances(ctx context.Context) ([]Instance, error)
	// Series returns the series that instances can have, the preferred one first. None
	// means that any can be had.
	Series(ctx context.Context) ([]string, error)
	// ConstraintRules says which constraints conflict, are heeded, or can be had.
	ConstraintRules(ctx context.Context) (entity.ConstraintRules, error)
	// PrecheckInstance returns an Invalid error when the cloud can't have such an
	// instance. It starts nothing. It is asked before a machine is recorded, so that
	// the user hears at once what StartInstance would say later.
	PrecheckInstance(ctx context.Context, params PrecheckParams) error
	// Destroy stops all instances of the model and removes whatever else the
	// cloud has of it.
	Destroy(ctx context.Context) error
	// DestroyController does so for every model of the controller and for the
	// controller itself. It is called from outside of the controller.
	DestroyController(ctx context.Context) error
}

// StartParams is what a new instance is made of.
type StartParams struct {
	Controller  string // UUID; "" for the Environ's own
	Model       string // UUID; "" for the Environ's own
	MachineID   string // "0"
	Nonce       string // tells apart two attempts to provision one machine
	Series      string // "" for any
	Constraints entity.Constraints
	Placement   string // as the user wrote it, less the scope; "" for none
	AgentConfig []byte // what the machine agent reads at its start; holds secrets
}

// PrecheckParams is the part of StartParams that a cloud can refuse. "" for the
// series leaves it open.
type PrecheckParams struct {
	Series      string
	Constraints entity.Constraints
	Placement   string
}

// Instance is one machine of the cloud's.
type Instance struct {
	ID        string // unique in the cloud, never used again
	Addresses []string
	Hardware  Hardware

	// The tags that it was started with.
	Controller string // UUID
	Model      string // UUID
	MachineID  string
	Nonce      string
}

// Hardware is what an instance has; a zero field is not known.
type Hardware struct {
	Arch     string `json:"arch,omitempty"`
	Cores    uint64 `json:"cores,omitempty"`
	Mem      uint64 `json:"mem,omitempty"`       // MiB
	RootDisk uint64 `json:"root-disk,omitempty"` // MiB
}

// String writes what status shows: "arch=amd64 cores=2 mem=2048M root-disk=8192M".
func (h Hardware) String() string {
	var parts []string
	if h.Arch != "" {
		parts = append(parts, "arch="+h.Arch)
	}
	if h.Cores != 0 {
		parts = append(parts, fmt.Sprintf("cores=%d", h.Cores))
	}
	if h.Mem != 0 {
		parts = append(parts, fmt.Sprintf("mem=%dM", h.Mem))
	}
	if h.RootDisk != 0 {
		parts = append(parts, fmt.Sprintf("root-disk=%dM", h.RootDisk))
	}
	return strings.Join(parts, " ")
}

// Config is what a cloud is opened with, for one model.
type Config struct {
	Controller string            // UUID
	Model      string            // UUID
	Attrs      map[string]string // the model's settings; each cloud reads those it knows
}

// Open opens a model on a cloud. Attributes that make no sense are Invalid.
type Open func(ctx context.Context, config Config) (Environ, error)

// Clouds are the clouds that a binary can use, by the names users know.
type Clouds map[string]Open

// Open opens a model on the named cloud; NotFound when there is none of that name.
func (c Clouds) Open(ctx context.Context, name string, config Config) (Environ, error) {
	open, ok := c[name]
	if !ok {
		err := entity.Errorf(entity.NotFound, "cloud %q not found", name)
		return nil, entity.WithHint(err, "the clouds there are: %s", strings.Join(slices.Sorted(maps.Keys(c)), ", "))
	}
	return open(ctx, config)
}

// CheckSeries returns an Invalid error if the series is not one that a cloud has;
// place says what the cloud's machines are, as in "this host".
func CheckSeries(series string, have []string, place string) error {
	if series == "" || len(have) == 0 || slices.Contains(have, series) {
		return nil
	}
	return entity.Errorf(entity.Invalid, "series %q is not available: %s has %s", series, place, strings.Join(have, ", "))
}

// Retryable marks err as one that may not happen again: the provisioner tries
// such a start again by itself. All others wait for the user. Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return entity.Errorf(entity.Unavailable, "%w", err)
}

// IsRetryable reports whether err, of a method of Environ, may not happen again.
func IsRetryable(err error) bool { return errors.Is(err, entity.Unavailable) }

// CheckStart fills in the Environ's own controller and model where params names
// none, and returns an Invalid error if they are others, or if there is no
// machine or nonce. Every cloud calls it first.
func CheckStart(config Config, params *StartParams) error {
	if params.Controller == "" {
		params.Controller = config.Controller
	}
	if params.Model == "" {
		params.Model = config.Model
	}
	switch {
	case params.Controller != config.Controller:
		return entity.Errorf(entity.Invalid, "the cloud is that of controller %q, and not of %q", config.Controller, params.Controller)
	case params.Model != config.Model:
		return entity.Errorf(entity.Invalid, "the cloud is that of model %q, and not of %q", config.Model, params.Model)
	case !entity.IsValidMachine(params.MachineID):
		return entity.Errorf(entity.Invalid, "%q is no name of a machine", params.MachineID)
	case params.Nonce == "":
		return entity.Errorf(entity.Invalid, "machine %s has no nonce", params.MachineID)
	}
	return nil
}
