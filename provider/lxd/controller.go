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

// roleKey is the key, in the configuration of a container, that says that it runs a controller.
const roleKey = "user.juju-is-controller"

// innerSocket is where LXD's socket is in the controller's container, if the controller uses one.
const innerSocket = install.Root + "/lxd.socket"

// ControllerParams describe the container in which a controller runs.
type ControllerParams struct {
	Series      string // "" for the preferred one
	Constraints constraints.Value
	Arch        string // that of the programs
	Archive     []byte // of the programs; see pack.Names
	// Bootstrap returns the input of `jujud bootstrap` for a controller that has these addresses.
	Bootstrap func(addresses []string) ([]byte, error)
}

// A BootstrapError is what jujud has said when it could not make a controller.
type BootstrapError struct{ Said string }

func (e *BootstrapError) Error() string { return "cannot make the controller: " + e.Said }

// Inside returns the configuration with which a controller in a container of this LXD uses it. The
// socket of LXD is passed into the container.
func (c *Cloud) Inside() Config {
	config := c.config
	if filepath.IsAbs(config.Endpoint) {
		config.Endpoint = innerSocket
	}
	return config
}

// Controller returns the name of the container in which the controller runs, and its status in a word:
// "running", "stopped"; "" if LXD has no such container any more.
func (c *Cloud) Controller(ctx context.Context) (name, status string, err error) {
	name = c.controllerName()
	i, err := c.instance(ctx, name)
	if isGone(err) {
		return name, "", nil
	}
	return name, strings.ToLower(i.Status), err
}

// controllerName returns the name of the container in which the controller runs.
func (c *Cloud) controllerName() string { return prefix(c.config.Controller) + "controller" }

// StartController makes the controller's container, and has jujud make a controller in it and run
// it. It returns what `jujud bootstrap` has printed. If it fails, DestroyController removes what is
// left. The error is a *BootstrapError if jujud has failed.
func (c *Cloud) StartController(ctx context.Context, params ControllerParams) ([]byte, error) {
	name := c.controllerName()
	e := &environ{cloud: c, config: provider.Config{Controller: c.config.Controller}}
	request, member, architecture, err := e.container(ctx, name, params.Series, params.Constraints, "")
	if err != nil {
		return nil, err
	}
	if architecture != params.Arch {
		return nil, entity.Errorf(entity.Invalid, "LXD's image is of architecture %s, and juju's programs are of %s",
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
		return nil, fmt.Errorf("cannot fix the controller's address: %w", err)
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

// pin makes a container keep an address, if it is on a network of LXD's: agents look for the
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

// maxRead is the size to which a file is read.
const maxRead = 1 << 20

// read reads a file of a container.
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
