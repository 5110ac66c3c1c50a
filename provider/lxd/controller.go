package lxd

import (
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
	// Input returns the input of `jujud bootstrap`, or of `jujud restore` without the backup, for a controller with these
	// addresses.
	Input func(addresses []string) ([]byte, error)
	// Backup opens the backup that is restored; nil for a new controller.
	Backup func() (io.Reader, error)
	// Addresses are those of the controller that was backed up. The container gets the first IPv4 address that is free
	// and on a network that LXD manages.
	Addresses []string
}

// A JujudError is the error output of a command of jujud that failed in the controller's container.
type JujudError struct{ Said string }

func (e *JujudError) Error() string { return "jujud failed: " + e.Said }

// Inside returns the configuration for use by a controller in a container of this LXD. LXD's socket is
// passed into the container.
func (c *Cloud) Inside() Config {
	config := c.config
	if filepath.IsAbs(config.Endpoint) {
		config.Endpoint, config.HostSocket = innerSocket, config.Endpoint
	}
	return config
}

// passSocket passes LXD's socket into the container of a controller, unless the controller reaches LXD over HTTPS.
func (c *Cloud) passSocket(request *api.InstancesPost) {
	socket := c.config.Endpoint
	if c.config.HostSocket != "" {
		socket = c.config.HostSocket
	}
	if filepath.IsAbs(socket) {
		request.Devices["juju-lxd"] = map[string]string{"type": "proxy", "bind": "instance", "mode": "0600",
			"listen": "unix:" + innerSocket, "connect": "unix:" + socket}
	}
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

// StartController creates the controller's container, and runs jujud in it to create or restore and start the controller.
// It returns jujud's output. If a bootstrap fails, DestroyController cleans up; if a restore fails, the next one uses its
// container again. The error is a *JujudError if jujud failed, and InUse if a controller to restore still runs.
func (c *Cloud) StartController(ctx context.Context, params ControllerParams) ([]byte, error) {
	name := c.controllerName()
	exists := false
	if params.Backup != nil {
		var err error
		if exists, err = c.vacate(ctx, name); err != nil {
			return nil, err
		}
	}
	if !exists {
		if err := c.makeController(ctx, name, params); err != nil {
			return nil, err
		}
	}
	script := path.Join(install.Root, "bootstrap.sh")
	files := []file{
		{install.Root, "directory", "0755", nil, nil},
		{install.ControllerArchive, "file", "0600", params.Archive, nil},
		{script, "file", "0700", []byte(install.ControllerScript(params.Backup != nil)), nil},
	}
	if params.Backup != nil {
		files = append(files, file{install.ControllerBackup, "file", "0600", nil, params.Backup})
	}
	c.say("Copying the binaries into container %s", name)
	inst, err := c.begin(ctx, name, nil, "", files, entity.MachineSpaces{})
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
	input, err := params.Input(inst.Addresses)
	if err != nil {
		return nil, err
	}
	if err := c.write(ctx, name, file{install.ControllerParams, "file", "0600", input, nil}); err != nil {
		return nil, err
	}
	c.say("Creating the controller in container %s", name)
	if err := c.execLogged(ctx, name, script, install.ControllerLog); err != nil {
		return nil, err
	}
	return c.read(ctx, name, install.Bootstrapped)
}

// execLogged runs a script in the controller's container. If it fails, the error is a *JujudError with its log.
func (c *Cloud) execLogged(ctx context.Context, name, script, log string) error {
	status, err := c.exec(ctx, name, "sh", script)
	if status == 0 {
		return err
	}
	if said, err2 := c.read(ctx, name, log); err2 == nil {
		return &JujudError{string(said)}
	}
	return err
}

// MigrateStore stops the controller in its container, moves its store to the MongoDB at url or, if that is "", to the
// embedded store, and starts it again. If it is interrupted, the container completes it. The error is a *JujudError if
// jujud failed.
func (c *Cloud) MigrateStore(ctx context.Context, url string) error {
	name, status, err := c.Controller(ctx)
	switch {
	case err != nil:
		return err
	case status == "":
		return entity.WithHint(entity.Errorf(entity.NotFound,
			"container %s, of the controller that bootstrap started, does not exist", name),
			"To create that controller again, on the store of your choice: juju create-backup; juju restore-backup")
	case status != "running":
		return entity.WithHint(entity.Errorf(entity.Unavailable, "container %s is %s", name, status),
			"To start it, on the LXD host: lxc start %s", name)
	}
	script := path.Join(install.Root, "migrate.sh")
	for _, f := range []file{
		{install.MigrationURL, "file", "0600", []byte(url), nil},
		{script, "file", "0700", []byte(install.MigrationScript()), nil},
	} {
		if err := c.write(ctx, name, f); err != nil {
			return err
		}
	}
	return c.execLogged(ctx, name, script, install.MigrationLog)
}

// makeController creates the controller's container, without starting it.
func (c *Cloud) makeController(ctx context.Context, name string, params ControllerParams) error {
	e := &environ{cloud: c, config: provider.Config{Controller: c.config.Controller}}
	request, member, architecture, err := e.container(ctx, name, params.Series, params.Constraints, "")
	if err != nil {
		return err
	}
	if architecture != params.Arch {
		return entity.Errorf(entity.Invalid, "LXD's image is for architecture %s, but juju's binaries are for %s",
			architecture, params.Arch)
	}
	request.Description = "juju controller " + c.config.Controller
	request.Config[controllerKey], request.Config[roleKey] = c.config.Controller, "true"
	if params.Backup != nil {
		request.Config[restoringKey] = "true"
	}
	c.passSocket(request)
	c.say("Creating container %s", name)
	if err := c.create(ctx, request, member); err != nil {
		return err
	}
	return c.takeAddress(ctx, name, params.Addresses)
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
func (c *Cloud) read(ctx context.Context, name, path string) (text []byte, err error) {
	err = filing(ctx, requestTime, func(ctx context.Context) error {
		resp, err := c.client.send(ctx, http.MethodGet, instancePath(name, "files"), url.Values{"path": {path}}, nil, http.NoBody)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if text, err = io.ReadAll(io.LimitReader(resp.Body, maxRead)); err != nil {
			return c.client.unreachable(ctx, err)
		}
		return nil
	})
	return text, err
}
