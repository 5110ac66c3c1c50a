package dummytest

import (
	"context"
	"maps"
	"slices"

	"juju/provider"
	"juju/state/entity"
)

// Profiler returns nil after SetProfiler(false).
func (e *environ) Profiler() provider.Profiler {
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	if e.cloud.profileless {
		return nil
	}
	return e
}

// SetProfiler sets whether instances can have profiles. Initially they can.
func (c *Cloud) SetProfiler(has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.profileless = !has
}

// SetProfiles records the instance's profiles. A device without a type is invalid, as in LXD.
func (e *environ) SetProfiles(ctx context.Context, id string, profiles []provider.Profile) (err error) {
	op := Op{Method: "SetProfiles", InstanceIDs: []string{id}}
	for _, p := range profiles {
		op.Profiles = append(op.Profiles, p.Name)
	}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	if err := checkProfiles(profiles); err != nil {
		return err
	}
	c := e.cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	inst, ok := c.instances[id]
	if !ok || inst.Controller != e.config.Controller || inst.Model != e.config.Model {
		return entity.Errorf(entity.NotProvisioned, "instance %s does not exist", id)
	}
	inst.profiles = slices.Clone(profiles)
	return nil
}

func checkProfiles(profiles []provider.Profile) error {
	for _, p := range profiles {
		for _, device := range p.Devices {
			if device["type"] == "" {
				return entity.Errorf(entity.Invalid, "a device of profile %s has no type", p.Name)
			}
		}
	}
	return nil
}

// Expanded returns the configuration and devices that an instance has by its profiles.
func (c *Cloud) Expanded(id string) provider.Profile {
	all := provider.Profile{LXDProfile: entity.LXDProfile{Config: map[string]string{}, Devices: map[string]map[string]string{}}}
	for _, p := range c.Profiles(id) {
		maps.Copy(all.Config, p.Config)
		maps.Copy(all.Devices, p.Devices)
	}
	return all
}

// Kept returns the names of the profiles that any instance of a controller has, sorted.
func (c *Cloud) Kept(controller string) []string {
	names := map[string]bool{}
	for _, inst := range c.all(func(i *instance) bool { return i.Controller == controller }) {
		for _, p := range c.Profiles(inst.ID) {
			names[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Profiles returns the profiles that an instance has.
func (c *Cloud) Profiles(id string) []provider.Profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	inst, ok := c.instances[id]
	if !ok {
		return nil
	}
	return slices.Clone(inst.profiles)
}
