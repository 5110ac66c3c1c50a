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

// Instances returns the containers with the model's tags, including those that were never started.
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

// Series returns the series for which LXD has an image or can copy one from the configured server.
func (e *environ) Series(ctx context.Context) ([]string, error) { return e.cloud.series(ctx) }

// StopInstances kills the containers and deletes them with their root disks and rules. It does not wait for
// running hooks.
func (e *environ) StopInstances(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	// Ignore IDs that are not instances of this model.
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
	e.dropProfiles(ctx)
	return e.dropRules(ctx, ids)
}

// stop deletes containers of any model.
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

// stopAttempts is how often LXD is told to stop a container. It gives up after 30 seconds, which may not be enough for a
// busy host.
const stopAttempts = 4

// remove deletes one container, whose lock the caller must hold; nil if it does not exist.
func (c *Cloud) remove(ctx context.Context, name string) (err error) {
	for range stopAttempts {
		if err = c.removeOnce(ctx, name); !stopTimedOut(err) {
			break
		}
	}
	return err
}

func (c *Cloud) removeOnce(ctx context.Context, name string) error {
	i, err := c.instance(ctx, name)
	if isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if i.StatusCode != api.Stopped {
		_, err := c.client.do(ctx, http.MethodPut, instancePath(name, "state"), nil,
			api.InstanceStatePut{Action: "stop", Force: true, Timeout: -1})
		if isNotFound(err) {
			return nil
		} else if err != nil && !isStopped(err) {
			return err
		}
	}
	if _, err = c.client.do(ctx, http.MethodDelete, instancePath(name), nil, nil); isNotFound(err) {
		return nil
	}
	return err
}

// stopTimedOut reports whether LXD gave up stopping a container.
func stopTimedOut(err error) bool {
	var r *apiError
	return errors.As(err, &r) && mentions(r.text, []string{`"stop" operation timed out`})
}

// isStopped reports whether a stop failed because the container is already stopped.
func isStopped(err error) bool {
	var r *apiError
	return errors.As(err, &r) && mentions(r.text, []string{"already stopped", "not running", "is not running"})
}

// isRunning reports whether a start failed because the container is already running.
func isRunning(err error) bool {
	var r *apiError
	return errors.As(err, &r) && mentions(r.text, []string{"already running"})
}

// Destroy deletes the model's containers, ACL and profiles, and releases its remaining storage.
func (e *environ) Destroy(ctx context.Context) error {
	if err := e.cloud.destroy(ctx, e.config.Model, false); err != nil {
		return fmt.Errorf("cannot destroy the resources of model %s: %w", e.config.Model, err)
	}
	return nil
}

// DestroyController deletes the controller's containers, ACLs and profiles, and deletes or releases its storage.
func (e *environ) DestroyController(ctx context.Context, destroyStorage bool) error {
	if err := e.cloud.destroy(ctx, "", destroyStorage); err != nil {
		return fmt.Errorf("cannot destroy the resources of controller %s: %w", e.config.Controller, err)
	}
	return nil
}

// destroy deletes the resources of a model, or of the whole controller if model is "".
func (c *Cloud) destroy(ctx context.Context, model string, destroyStorage bool) error {
	// Stop the controller first: it would replace the others.
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
	if err := c.deleteACLs(ctx, model); err != nil {
		return err
	}
	if err := c.deleteProfiles(ctx, model); err != nil {
		return err
	}
	return c.removeVolumes(ctx, model, destroyStorage)
}

// stopAll deletes the containers selected by which, of a model or, if model is "", of the whole
// controller.
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

// settleTime is how long a destruction waits for pending LXD operations.
const settleTime = 2 * time.Minute

// settle waits for pending operations on containers of a model or, if model is "", of any controller. LXD still
// completes requests that a controller sent just before it stopped: a container being created may not be listed
// yet, and can't be deleted meanwhile. Until then only its name shows its owner.
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
			matches := slices.ContainsFunc(op.Resources["instances"], func(at string) bool {
				return strings.HasPrefix(path.Base(at), begin)
			})
			if op.Class == "task" && matches && ctx.Err() == nil { // the result shows in the next listing
				if _, err := c.client.watch(ctx, "/1.0/operations/"+url.PathEscape(op.ID)); err != nil {
					logger.Debugf("operation %s (%s): %v", op.ID, op.Description, err)
				}
			}
		}
	}
	return nil
}
