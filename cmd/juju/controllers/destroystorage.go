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

// checkReleases returns an InUse error while storage of a controller is to be kept that the cloud has not
// released yet: --destroy-storage would destroy it with the rest. Of a controller that does not answer,
// it says that this is not known.
func (d *destroyEnvironment) checkReleases(ctx context.Context, name string, ctrl *store.Controller) error {
	if ctrl == nil { // its bootstrap has not ended
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
			"cannot destroy the storage of controller %q: this is to be kept, and is not released yet: %s", name,
			strings.Join(kept, ", ")),
			"Wait until juju storage does not list it any more. What it waits for: juju explain STORAGE. To keep all storage: "+
				"juju destroy-environment %s --release-storage", name)
	}
	if err != nil && ctx.Err() == nil {
		d.Note("Controller %q does not say whether storage of it is to be kept (%v): all is destroyed.", name, err)
	}
	return context.Cause(ctx)
}
