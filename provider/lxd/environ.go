package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"
	"golang.org/x/sync/errgroup"

	"juju/provider"
)

// environ is one model of a Cloud.
type environ struct {
	cloud  *Cloud
	config provider.Config
}

// Instances returns the containers that have the model's tags, including those that were made and
// not started.
func (e *environ) Instances(ctx context.Context) ([]provider.Instance, error) {
	found, err := e.cloud.find(ctx, e.config.Model)
	if err == nil {
		var all []provider.Instance
		if all, err = e.cloud.publics(ctx, found); err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("cannot list instances: %w", err)
}

// Series returns the series of images that LXD has, or that it can copy from the configured image
// server.
func (e *environ) Series(ctx context.Context) ([]string, error) { return e.cloud.series(ctx) }

// StopInstances kills the containers and deletes them with their root disks and rules. Hooks that still run
// are not waited for.
func (e *environ) StopInstances(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	// What has other names or tags was never an instance of this model.
	found, err := e.cloud.find(ctx, e.config.Model)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	var names []string
	for _, i := range found {
		if wanted[i.Name] {
			names = append(names, i.Name)
		}
	}
	if err := e.cloud.stop(ctx, names); err != nil {
		return err
	}
	return e.dropRules(ctx, ids)
}

// stop deletes containers, of any model.
func (c *Cloud) stop(ctx context.Context, names []string) error {
	unlock, err := c.busy.LockAll(ctx, names)
	if err != nil {
		return err
	}
	defer unlock()
	var g errgroup.Group
	g.SetLimit(4)
	for _, name := range names {
		g.Go(func() error { return c.remove(ctx, name) })
	}
	return g.Wait()
}

// remove deletes one container, for a caller that has its lock; nil if there is none.
func (c *Cloud) remove(ctx context.Context, name string) error {
	i, err := c.instance(ctx, name)
	if isGone(err) {
		return nil
	} else if err != nil {
		return err
	}
	if i.StatusCode != api.Stopped {
		_, err := c.client.do(ctx, http.MethodPut, instancePath(name, "state"), nil,
			api.InstanceStatePut{Action: "stop", Force: true, Timeout: -1})
		if isGone(err) {
			return nil
		} else if err != nil && !isStopped(err) {
			return err
		}
	}
	if _, err = c.client.do(ctx, http.MethodDelete, instancePath(name), nil, nil); isGone(err) {
		return nil
	}
	return err
}

// isStopped reports whether a stop failed because the container has stopped.
func isStopped(err error) bool {
	var r *refusal
	return errors.As(err, &r) && mentions(r.text, []string{"already stopped", "not running", "is not running"})
}

// isRunning reports whether a start failed because the container runs.
func isRunning(err error) bool {
	var r *refusal
	return errors.As(err, &r) && mentions(r.text, []string{"already running"})
}

// Destroy deletes all containers of the model and its ACL, and releases the storage that is left of it.
func (e *environ) Destroy(ctx context.Context) error {
	if err := e.cloud.destroy(ctx, e.config.Model, false); err != nil {
		return fmt.Errorf("cannot destroy what model %s has: %w", e.config.Model, err)
	}
	return nil
}

// DestroyController deletes all containers of the controller, and deletes or releases its storage.
func (e *environ) DestroyController(ctx context.Context, destroyStorage bool) error {
	if err := e.cloud.destroy(ctx, "", destroyStorage); err != nil {
		return fmt.Errorf("cannot destroy what controller %s has: %w", e.config.Controller, err)
	}
	return nil
}

// destroy deletes what a model has, or with "" what the controller has.
func (c *Cloud) destroy(ctx context.Context, model string, destroyStorage bool) error {
	// The controller goes first, because it would replace the others.
	isController := func(i api.Instance) bool { return i.Config[roleKey] != "" }
	if err := c.stopAll(ctx, model, isController); err != nil {
		return err
	}
	if err := c.settle(ctx, model); err != nil {
		return err
	}
	if err := c.stopAll(ctx, model, func(i api.Instance) bool { return !isController(i) }); err != nil {
		return err
	}
	if err := c.endACLs(ctx, model); err != nil {
		return err
	}
	return c.endVolumes(ctx, model, destroyStorage)
}

// stopAll deletes the containers of a model, or with "" of the controller, that which selects.
func (c *Cloud) stopAll(ctx context.Context, model string, which func(api.Instance) bool) error {
	found, err := c.find(ctx, model)
	if err != nil {
		return err
	}
	var names []string
	for _, i := range found {
		if which(i) {
			names = append(names, i.Name)
		}
	}
	return c.stop(ctx, names)
}

// settleTime is for how long what LXD is doing holds up a destruction.
const settleTime = 2 * time.Minute

// settle waits until LXD has done what it is doing with containers of a model, or with "" with those of any
// controller. It goes on with what a controller asked for just before its end: a container that it is making
// may not be listed yet, and can't be deleted meanwhile. Whose it is then, only its name says.
func (c *Cloud) settle(ctx context.Context, model string) error {
	var all map[string][]api.Operation // by their status
	if err := c.client.get(ctx, "/1.0/operations", recursion(1), &all); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	begin := namePrefix
	if model != "" {
		begin = prefix(model)
	}
	for _, ops := range all {
		for _, op := range ops {
			ours := slices.ContainsFunc(op.Resources["instances"], func(at string) bool {
				return strings.HasPrefix(path.Base(at), begin)
			})
			if op.Class == "task" && ours && ctx.Err() == nil { // its result is what is listed then
				if _, err := c.client.watch(ctx, "/1.0/operations/"+url.PathEscape(op.ID)); err != nil {
					logger.Debugf("operation %s (%s): %v", op.ID, op.Description, err)
				}
			}
		}
	}
	return nil
}
