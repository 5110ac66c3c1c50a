package lxd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/agent/install"
	"juju/state/entity"
)

// restoringKey is the container configuration key that marks the container of a controller that is being restored.
const restoringKey = "user.juju-is-restoring"

// lostSuffix is added to the name of a lost controller's container.
const lostSuffix = "-lost"

// vacate makes the name of the controller's container free for a restore: a stopped container with it is renamed, and not
// started again. exists reports that the name is that of a restore's which did not complete. The error is InUse if the
// container is not stopped.
func (c *Cloud) vacate(ctx context.Context, name string) (exists bool, err error) {
	i, err := c.instance(ctx, name)
	switch {
	case isNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case i.Config[restoringKey] != "":
		return true, nil
	case i.StatusCode != api.Stopped:
		return false, entity.WithHint(entity.Errorf(entity.InUse, "its container %s is there, and %s", name,
			strings.ToLower(i.Status)),
			"If the controller works, don't restore it. If it is damaged, stop it, on the LXD host: lxc stop %s", name)
	}
	if err := c.end(ctx, i); err != nil {
		return false, err
	}
	err = c.change(ctx, name, func(put *api.InstancePut) bool {
		put.Config["boot.autostart"] = "false"
		for _, device := range put.Devices {
			delete(device, "ipv4.address") // the restored one gets it
		}
		return true
	})
	if err != nil {
		return false, err
	}
	if _, err = c.client.do(ctx, http.MethodPost, instancePath(name), nil, api.InstancePost{Name: name + lostSuffix}); err != nil {
		return false, entity.WithHint(fmt.Errorf("cannot rename its container %s to %s%s: %w", name, name, lostSuffix, err),
			"If there is one of an earlier restore, delete it, on the LXD host: lxc delete %s%s", name, lostSuffix)
	}
	return false, nil
}

// end keeps the controller in a container from being started again, and stops it. It does nothing if none was installed
// there.
func (c *Cloud) end(ctx context.Context, i api.Instance) error {
	mark := file{install.ControllerEnded, "file", "0600", []byte("the controller was restored from a backup, alone\n"), nil}
	_, err := c.list(ctx, i.Name, path.Dir(mark.path))
	if isNotFound(err) {
		return nil
	}
	if err == nil {
		err = c.write(ctx, i.Name, mark)
	}
	if err == nil && i.StatusCode == api.Running {
		_, err = c.exec(ctx, i.Name, "systemctl", "stop", "jujud-controller")
	}
	if err != nil {
		return fmt.Errorf("cannot end the controller in container %s: %w", i.Name, err)
	}
	return nil
}

// list returns the names of what is in a directory of a container. isNotFound(err) reports that there is no such directory.
func (c *Cloud) list(ctx context.Context, name, dir string) (names []string, err error) {
	err = filing(ctx, requestTime, func(ctx context.Context) error {
		return c.client.get(ctx, instancePath(name, "files"), url.Values{"path": {dir}}, &names)
	})
	return names, err
}

// EndOthers ends the controllers in the containers of a model.
func (c *Cloud) EndOthers(ctx context.Context, model string) error {
	found, err := c.find(ctx, model)
	if err != nil {
		return err
	}
	for _, i := range found {
		if err := c.end(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Restored records that the restore of the controller is complete.
func (c *Cloud) Restored(ctx context.Context) error {
	return c.change(ctx, c.controllerName(), func(put *api.InstancePut) bool {
		delete(put.Config, restoringKey)
		return true
	})
}

// takeAddress gives a container that was not started yet one of these addresses, if it can.
func (c *Cloud) takeAddress(ctx context.Context, name string, addresses []string) error {
	for _, address := range addresses {
		ip := net.ParseIP(address).To4()
		if ip == nil {
			continue
		}
		free, err := c.isFree(ctx, name, ip)
		if err != nil {
			return err
		}
		if free {
			err := c.pin(ctx, name, address)
			var refused *apiError
			if !errors.As(err, &refused) {
				return err
			}
			logger.Warningf("LXD doesn't give the controller the address %s: %v", address, err)
		}
	}
	return nil
}

// isFree reports whether an address is on the container's network and used by no other container.
func (c *Cloud) isFree(ctx context.Context, name string, ip net.IP) (bool, error) {
	i, err := c.instance(ctx, name)
	if err != nil {
		return false, err
	}
	network := ""
	for _, device := range i.ExpandedDevices {
		if device["type"] == "nic" && device["name"] == "eth0" {
			network = device["network"]
		}
	}
	if network == "" {
		return false, nil
	}
	var n api.Network
	at := "/1.0/networks/" + url.PathEscape(network)
	if err := c.client.get(ctx, at, nil, &n); err != nil {
		return false, err
	}
	_, subnet, err := net.ParseCIDR(n.Config["ipv4.address"])
	if err != nil || !subnet.Contains(ip) {
		return false, nil
	}
	var leases []api.NetworkLease
	if err := c.client.get(ctx, at+"/leases", nil, &leases); err != nil {
		return false, err
	}
	for _, lease := range leases {
		if ip.Equal(net.ParseIP(lease.Address)) && lease.Hostname != name {
			return false, nil
		}
	}
	return true, nil
}

// Tell writes the addresses of the API into the directories of the agents in all containers of the controller, running or
// not. Agents that are not connected read them.
func (c *Cloud) Tell(ctx context.Context, addresses []string) error {
	found, err := c.find(ctx, "")
	if err != nil {
		return err
	}
	text := []byte(strings.Join(addresses, "\n") + "\n")
	agents := path.Join(install.Root, "agents")
	for _, i := range found {
		if i.Config[machineKey] == "" { // it is or was the controller's
			continue
		}
		names, err := c.list(ctx, i.Name, agents)
		if isNotFound(err) { // it runs a controller, or was removed meanwhile
			continue
		}
		for _, name := range names {
			if err == nil {
				err = c.write(ctx, i.Name, file{path.Join(agents, name, install.Addresses), "file", "0600", text, nil})
			}
		}
		if err != nil {
			return fmt.Errorf("cannot tell the agents in container %s the controller's addresses: %w", i.Name, err)
		}
	}
	return nil
}
