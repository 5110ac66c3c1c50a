package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"juju/cmd/juju/store"
	"juju/provider/local"
	"juju/state/entity"
)

// A home is a cloud on which this client creates and destroys controllers. What it needs to know of
// a controller is in a directory of the client's data.
type home interface {
	// prepare completes and checks the parameters of a controller. It creates nothing.
	prepare(ctx context.Context, params *bootstrapParams) error
	// create creates a controller; dir exists and is locked. If it fails or is killed, destroy
	// removes what it has left.
	create(ctx context.Context, dir string, params bootstrapParams, p *progress) (*bootstrapped, error)
	// start starts a controller that was created, and returns when it is starting.
	start(ctx context.Context, dir, controller string) error
	// destroy ends and removes all that a controller has, and dir. Storage is kept unless
	// destroyStorage says otherwise; kept says where, as in "volume v of LXD's storage pool p".
	// controller is "" if it is not known.
	destroy(ctx context.Context, dir, controller string, destroyStorage bool) (kept []string, err error)
}

// homes are the clouds on which controllers can be created.
var homes = map[string]home{localCloud: localHome{}, lxdCloud: lxdHome{}}

// knownClouds returns the names of the clouds, for messages.
func knownClouds() string { return strings.Join(slices.Sorted(maps.Keys(homes)), ", ") }

// homeDir returns the directory with what this client has of a controller on a cloud.
func homeDir(st *store.Store, cloud, name string) string { return filepath.Join(st.Dir(), cloud, name) }

// homeOf returns the cloud on which this client created a controller, or tried to. The error is
// NotFound if there is no such controller, and NotSupported if another client created it.
func homeOf(st *store.Store, contents *store.Contents, name string) (cloud string, err error) {
	ctrl, known := contents.Controllers[name]
	if known {
		if _, ok := homes[ctrl.Cloud]; ok {
			return ctrl.Cloud, nil
		}
	}
	if controllerName.MatchString(name) {
		for _, cloud := range slices.Sorted(maps.Keys(homes)) {
			if dir := homeDir(st, cloud, name); isDir(dir) && !local.IsFree(dir) {
				return cloud, nil
			}
		}
	}
	if _, _, err := contents.Controller(name); err != nil {
		return "", err
	}
	return "", entity.WithHint(entity.Errorf(entity.NotSupported, "controller %q was not bootstrapped by this client", name),
		"Destroy it where it was bootstrapped; to forget it: juju unregister %s", name)
}
