package controllers

import (
	"context"
	"fmt"
	"strings"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/storage"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// checkReleases returns an InUse error while the cloud has yet to release storage that is to be kept:
// --destroy-storage would destroy it with the rest. If the controller does not respond, it only warns.
func (d *destroyEnvironment) checkReleases(ctx context.Context, name string, ctrl *store.Controller) error {
	if ctrl == nil { // its bootstrap did not finish
		return nil
	}
	var kept []string
	err := cli.EachModel(ctx, d.Session, name, ctrl, func(ctx context.Context, model string, api storage.ListAPI) error {
		all, err := api.Storage(ctx)
		for _, s := range all {
			if s.Release {
				kept = append(kept, fmt.Sprintf("%s of model %s", s.ID, model))
			}
		}
		return err
	})
	if len(kept) > 0 {
		return entity.WithHint(entity.Errorf(entity.InUse,
			"cannot destroy the storage of controller %q: storage that is to be kept is not released yet: %s", name,
			strings.Join(kept, ", ")),
			"Wait until juju storage no longer lists it. To see what it waits for: juju explain STORAGE; to keep all storage: "+
				"juju destroy-environment %s --release-storage", name)
	}
	if err != nil && ctx.Err() == nil {
		d.Note("Cannot determine whether controller %q has storage to keep (%v): all storage is destroyed.", name, err)
	}
	return context.Cause(ctx)
}
