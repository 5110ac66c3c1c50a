package lxd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/agent/install"
	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

// roleKey is the container configuration key that marks a controller's container.
const roleKey = "user.juju-is-controller"

// innerSocket is the path of LXD's socket inside the controller's container, if the controller uses it.
const innerSocket = install.Root + "/lxd.socket"

// ControllerParams describe a controller's container.
type ControllerParams struct {
	Series      string // "" for the preferred one
	Constraints constraints.Value
	Arch        string // of the agent binaries
	Archive     []byte // of the agent binaries; see pack.Names
	// Bootstrap returns the input of `jujud bootstrap` for a controller with these addresses.
	Bootstrap func(addresses []string) ([]byte, error)
}

// A BootstrapError is the error output of a failed `jujud bootstrap`.
type BootstrapError struct{ Said string }

func (e *BootstrapError) Error() string { return "cannot make the controller: " + e.Said }

// Inside returns the configuration for use by a controller in a container of this LXD. LXD's socket is
// passed into the container.
func (c *Cloud) Inside() Config {
	config := c.config
	if filepath.IsAbs(config.Endpoint) {
		config.Endpoint = innerSocket
	}
	return config
}

// Controller returns the name of the controller's container and its status, such as "running" or
// "stopped"; the status is "" if the container no longer exists.
func (c *Cloud) Controller(ctx context.Context) (name, status string, err error) {
	name = c.controllerName()
	i, err := c.instance(ctx, name)
	if isNotFound(err) {
		return name, "", nil
	}
	return name, strings.ToLower(i.Status), err
}

// controllerName returns the name of the controller's container.
func (c *Cloud) controllerName() string { return prefix(c.config.Controller) + "controller" }

// StartController creates the controller's container, and runs `jujud bootstrap` in it to create and
// start the controller. It returns the output of `jujud bootstrap`. If it fails, DestroyController
// cleans up. The error is a *BootstrapError if jujud failed.
func (c *Cloud) StartController(ctx context.Context, params ControllerParams) ([]byte, error) {
	name := c.controllerName()
	e := &environ{cloud: c, config: provider.Config{Controller: c.config.Controller}}
	request, member, architecture, err := e.container(ctx, name, params.Series, params.Constraints, "")
	if err != nil {
		return nil, err
	}
	if architecture != params.Arch {
		return nil, entity.Errorf(entity.Invalid, "LXD's image is for architecture %s, but juju's binaries are for %s",
			architecture, params.Arch)
	}
	request.Description = "juju controller " + c.config.Controller
	request.Config[controllerKey], request.Config[roleKey] = c.config.Controller, "true"
	if filepath.IsAbs(c.config.Endpoint) {
		request.Devices["juju-lxd"] = map[string]string{"type": "proxy", "bind": "instance", "mode": "0600",
			"listen": "unix:" + innerSocket, "connect": "unix:" + c.config.Endpoint}
	}
	script := path.Join(install.Root, "bootstrap.sh")
	inst, err := c.begin(ctx, name, request, member, []file{
		{install.Root, "directory", "0755", nil},
		{install.ControllerArchive, "file", "0600", params.Archive},
		{script, "file", "0700", []byte(install.ControllerScript())},
	})
	if err != nil {
		return nil, err
	}
	if len(inst.Addresses) == 0 {
		return nil, entity.WithHint(fmt.Errorf("container %s has no address after %v", name, c.config.AddressWait),
			"Look at LXD's network: lxc network list; lxc profile show %s", c.config.Profiles[0])
	}
	if err := c.pin(ctx, name, inst.Addresses[0]); err != nil {
		return nil, fmt.Errorf("cannot make the controller's address static: %w", err)
	}
	input, err := params.Bootstrap(inst.Addresses)
	if err != nil {
		return nil, err
	}
	if err := c.write(ctx, name, file{install.ControllerParams, "file", "0600", input}); err != nil {
		return nil, err
	}
	status, err := c.exec(ctx, name, "sh", script)
	if status != 0 {
		said, err2 := c.read(ctx, name, install.ControllerLog)
		if err2 == nil {
			err = &BootstrapError{string(said)}
		}
	}
	if err != nil {
		return nil, err
	}
	return c.read(ctx, name, install.Bootstrapped)
}

// pin makes a container's address static, if it is on a network that LXD manages: agents connect to the
// controller there.
func (c *Cloud) pin(ctx context.Context, name, address string) error {
	i, err := c.instance(ctx, name)
	if err != nil {
		return err
	}
	return c.change(ctx, name, func(put *api.InstancePut) bool {
		for card, device := range i.ExpandedDevices {
			if device["type"] != "nic" || device["network"] == "" || device["name"] != "eth0" {
				continue
			}
			pinned := maps.Clone(device)
			pinned["ipv4.address"] = address
			put.Devices[card] = pinned
			return true
		}
		return false
	})
}

const maxRead = 1 << 20

// read reads up to maxRead bytes of a file in a container.
func (c *Cloud) read(ctx context.Context, name, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, errSlow)
	defer cancel()
	resp, err := c.client.send(ctx, http.MethodGet, instancePath(name, "files"), url.Values{"path": {path}}, nil,
		http.NoBody)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(resp.Body, maxRead)); err != nil {
		return nil, c.client.unreachable(ctx, err)
	}
	return b.Bytes(), nil
}
