package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A SetCharmArgs describes the new charm of a service.
type SetCharmArgs struct {
	Service     string
	CharmURL    string // of a charm in the model; see UploadCharm
	Config      map[string]string
	ForceUnits  bool              // upgrade units in error too
	Resources   map[string]string `json:",omitempty"` // ids of uploads, by name
	ForceSeries bool              // even if the charm is for other series
	// Storage replaces the storage of new units for some of the charm's stores.
	Storage map[string]entity.StorageConstraints `json:",omitempty"`
}

// SetCharm changes the charm of a service. It returns warnings for the user.
func (c *Conn) SetCharm(ctx context.Context, args SetCharmArgs) (warnings []string, err error) {
	var result params.SetCharmResult
	err = c.application(ctx, "SetCharm", params.ApplicationSetCharm{
		ApplicationName: args.Service, CharmURL: args.CharmURL, ConfigSettings: args.Config,
		ForceUnits: args.ForceUnits, ResourceIDs: args.Resources, ForceSeries: args.ForceSeries,
		StorageConstraints: args.Storage,
	}, &result)
	return result.Warnings, err
}
