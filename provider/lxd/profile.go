package lxd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/entity"
)

func profilePath(name string) string { return "/1.0/profiles/" + url.PathEscape(name) }

// Profiler implements provider.Environ.
func (e *environ) Profiler() provider.Profiler { return e }

// SetProfiles replaces those of the container's profiles that belong to the model, and keeps the others, which are those of
// Config.Profiles and what users have added.
func (e *environ) SetProfiles(ctx context.Context, id string, profiles []provider.Profile) error {
	c := e.cloud
	i, err := c.instance(ctx, id)
	if isNotFound(err) || err == nil && !c.owns(i.Config, e.config.Model) {
		return entity.Errorf(entity.NotProvisioned, "instance %s does not exist", id)
	} else if err != nil {
		return err
	}
	defer c.hold(profiles)()
	if err := e.putProfiles(ctx, profiles); err != nil {
		return err
	}
	ours, err := c.profiles(ctx, e.config.Model)
	if err != nil {
		return err
	}
	err = c.change(ctx, id, func(put *api.InstancePut) bool {
		was := put.Profiles
		put.Profiles = slices.DeleteFunc(slices.Clone(was), func(name string) bool {
			return slices.ContainsFunc(ours, func(p api.Profile) bool { return p.Name == name })
		})
		put.Profiles = append(put.Profiles, namesOf(profiles)...)
		return !slices.Equal(put.Profiles, was)
	})
	if isNotFound(err) {
		return entity.Errorf(entity.NotProvisioned, "instance %s does not exist", id)
	}
	e.dropProfiles(ctx)
	return err
}

func namesOf(profiles []provider.Profile) (names []string) {
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	return names
}

// hold keeps profiles that no container has yet from being removed, until release is called.
func (c *Cloud) hold(profiles []provider.Profile) (release func()) {
	count := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range profiles {
			if c.held == nil {
				c.held = map[string]int{}
			}
			if c.held[p.Name] += n; c.held[p.Name] == 0 {
				delete(c.held, p.Name)
			}
		}
	}
	count(1)
	return func() { count(-1) }
}

func (c *Cloud) isHeld(profile string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[profile] > 0
}

// putProfiles makes LXD have these profiles, which the caller must hold.
func (e *environ) putProfiles(ctx context.Context, profiles []provider.Profile) error {
	for _, p := range profiles {
		if err := e.putProfile(ctx, p); err != nil {
			return fmt.Errorf("cannot set profile %s in LXD: %w", p.Name, err)
		}
	}
	return nil
}

func (e *environ) putProfile(ctx context.Context, p provider.Profile) error {
	c := e.cloud
	unlock, err := c.busy.Lock(ctx, p.Name)
	if err != nil {
		return err
	}
	defer unlock()
	put := api.ProfilePut{Description: p.Description, Config: map[string]string{}, Devices: p.Devices}
	maps.Copy(put.Config, p.Config)
	put.Config[controllerKey], put.Config[modelKey] = e.config.Controller, e.config.Model
	if put.Devices == nil {
		put.Devices = map[string]map[string]string{}
	}
	var has api.Profile
	etag, err := c.client.getTagged(ctx, profilePath(p.Name), nil, &has)
	switch {
	case isNotFound(err):
		_, err = c.client.do(ctx, http.MethodPost, "/1.0/profiles", nil, api.ProfilesPost{ProfilePut: put, Name: p.Name})
	case err == nil && !c.owns(has.Config, e.config.Model):
		err = entity.WithHint(entity.Errorf(entity.Invalid, "it belongs to another controller or model"),
			"Remove it, unless something needs it: lxc profile delete %s", p.Name)
	case err == nil && (has.Description != put.Description || !maps.Equal(has.Config, put.Config) ||
		!maps.EqualFunc(has.Devices, put.Devices, maps.Equal)):
		_, err = c.client.doIf(ctx, http.MethodPut, profilePath(p.Name), nil, etag, put)
	}
	return err
}

// profiles returns the profiles of a model, or of the whole controller if model is "".
func (c *Cloud) profiles(ctx context.Context, model string) (owned []api.Profile, err error) {
	var all []api.Profile
	err = c.client.get(ctx, "/1.0/profiles", recursion(1), &all)
	for _, p := range all {
		if c.owns(p.Config, model) {
			owned = append(owned, p)
		}
	}
	return owned, err
}

// dropProfiles deletes those of the model's profiles that no container has. What it can't delete is tried again when
// another container of the model is changed or stopped, and when the model is destroyed.
func (e *environ) dropProfiles(ctx context.Context) {
	if err := e.cloud.deleteProfiles(ctx, e.config.Model); err != nil && ctx.Err() == nil {
		logger.Warningf("cannot remove the unused profiles of model %s from LXD: %v", e.config.Model, err)
	}
}

// deleteProfiles deletes those profiles of a model, or of the whole controller if model is "", that no container has.
func (c *Cloud) deleteProfiles(ctx context.Context, model string) error {
	all, err := c.profiles(ctx, model)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range all {
		if len(p.UsedBy) == 0 {
			errs = append(errs, c.deleteProfile(ctx, p.Name))
		}
	}
	return errors.Join(errs...)
}

// deleteProfile deletes a profile, unless it is about to be used.
func (c *Cloud) deleteProfile(ctx context.Context, name string) error {
	unlock, err := c.busy.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if c.isHeld(name) {
		return nil
	}
	var has api.Profile
	if err = c.client.get(ctx, profilePath(name), nil, &has); err == nil && len(has.UsedBy) == 0 {
		_, err = c.client.do(ctx, http.MethodDelete, profilePath(name), nil, nil)
	}
	if isNotFound(err) {
		return nil
	}
	return err
}
