package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A SetCharmArgs describes the new charm of a service.
type SetCharmArgs struct {
	Service     string
	CharmURL    string       // of a charm in the model; see UploadCharm and AddCharm
	Origin      *CharmOrigin `json:",omitempty"` // of a charm from a store
	Config      map[string]string
	ForceUnits  bool              // upgrade units in error too
	Resources   map[string]string `json:",omitempty"` // ids of uploads, by name
	ForceSeries bool              // even if the charm is for other series
	// Bindings are merged into the service's, as for Bind. Force also forces units and series.
	Bindings map[string]string `json:",omitempty"`
	Force    bool              `json:",omitempty"`
	// Storage replaces the storage of new units for some of the charm's stores.
	Storage map[string]entity.StorageConstraints `json:",omitempty"`
	Rollout
}

// A Rollout says how units are upgraded in batches.
type Rollout struct {
	Batch         int           `json:",omitempty"` // the maximum number of units at a time; 0 for all
	HealthTimeout time.Duration `json:",omitempty"` // within which they must be healthy
}

// SetCharm changes the charm of a service. It returns warnings for the user.
func (c *Conn) SetCharm(ctx context.Context, args SetCharmArgs) (warnings []string, err error) {
	var result params.SetCharmResult
	err = c.application(ctx, "SetCharm", params.ApplicationSetCharm{
		ApplicationName: args.Service, CharmURL: args.CharmURL, CharmOrigin: args.Origin, ConfigSettings: args.Config,
		ForceUnits: args.ForceUnits, ResourceIDs: args.Resources, ForceSeries: args.ForceSeries,
		EndpointBindings: args.Bindings, Force: args.Force, StorageConstraints: args.Storage, BatchSize: args.Batch, HealthTimeout: args.HealthTimeout,
	}, &result)
	return result.Warnings, err
}

// ResumeRollout continues an upgrade in batches that has stopped. What is 0 in how stays as it is.
func (c *Conn) ResumeRollout(ctx context.Context, service string, how Rollout) error {
	return c.application(ctx, "ResumeRollout", params.Rollout{service, how.Batch, how.HealthTimeout}, nil)
}

// RevertRollout reverts an upgrade in batches, in batches. It returns the settings that are restored, and warnings for the
// user.
func (c *Conn) RevertRollout(ctx context.Context, service string,
	how Rollout) (restored, warnings []string, err error) {
	var result params.SetCharmResult
	err = c.application(ctx, "RevertRollout", params.Rollout{service, how.Batch, how.HealthTimeout}, &result)
	return result.Restored, result.Warnings, err
}
