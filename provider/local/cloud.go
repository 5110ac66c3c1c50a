package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/provider"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.provider.local")

// InstanceVariable is set in the environment of every agent and its child processes to
// "<controller UUID>/<model UUID>/<instance ID>". For the keeper and the controller it is
// "<controller UUID>/keeper" and "<controller UUID>/controller".
const InstanceVariable = "JUJU_LOCAL_INSTANCE"

// AddressVariable is set likewise to the instance's address.
const AddressVariable = "JUJU_LOCAL_ADDRESS"

// AgentConfigName and ControllerConfigName are the names of the file that holds StartParams.AgentConfig, in the directory
// of an agent and of a controller.
const (
	AgentConfigName      = "agent.conf"
	ControllerConfigName = "controller.conf"
)

// configPath returns the path of that file.
func (i instance) configPath(dir string) string {
	if i.Jujud {
		return filepath.Join(dir, ControllerConfigName)
	}
	return filepath.Join(dir, AgentConfigName)
}

// Machines is what the instances are.
var Machines = provider.Machines{ShareHost: true}

// Config configures a Cloud.
type Config struct {
	Dir          string        // the controller's directory; created if missing
	Controller   string        // UUID
	MachineAgent string        // the binary; "" for a Cloud that starts nothing
	Jujud        string        // the binary, for machines that run a controller
	Args         []string      // its arguments, to which the agent's directory is appended
	Env          []string      // "KEY=value", added to this process's environment
	Grace        time.Duration // between SIGTERM and SIGKILL; 0 for 10 s
	Series       string        // of the host; "" to detect it
}

// Cloud manages one controller's resources on this host. Its methods are safe for concurrent use.
type Cloud struct {
	config Config
	busy   provider.KeyedMutex // instances being started or stopped, and directories of pools
	wake   chan struct{}       // tells Supervise that there may be a new instance
}

// New returns the cloud of one controller. The error is Invalid if the directory belongs to another
// controller.
func New(config Config) (*Cloud, error) {
	var err error
	if config.Dir, err = filepath.Abs(config.Dir); err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", config.Dir, err)
	}
	if strings.ContainsRune(config.MachineAgent, filepath.Separator) {
		// Agents run in other working directories.
		if config.MachineAgent, err = filepath.Abs(config.MachineAgent); err != nil {
			return nil, fmt.Errorf("cannot use %s: %w", config.MachineAgent, err)
		}
	}
	if config.Grace == 0 {
		config.Grace = 10 * time.Second
	}
	if config.Series == "" {
		config.Series = HostSeries()
	}
	if !isName(config.Controller) {
		return nil, entity.Errorf(entity.Invalid, "cannot use %q as the name of a controller", config.Controller)
	}
	if err := claim(config); err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", config.Dir, err)
	}
	return &Cloud{config: config, wake: make(chan struct{}, 1)}, nil
}

// claim creates the directory and records the controller in it, so that no other controller is
// destroyed by mistake.
func claim(config Config) error {
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return err
	}
	var owner struct {
		Controller string `json:"controller"`
	}
	path := filepath.Join(config.Dir, "controller.json")
	err := readJSON(path, &owner)
	if errors.Is(err, fs.ErrNotExist) {
		owner.Controller = config.Controller
		return writeJSON(path, owner)
	}
	if err == nil && owner.Controller != config.Controller {
		return entity.Errorf(entity.Invalid, "it belongs to controller %s, not to %s", owner.Controller, config.Controller)
	}
	return err
}

// Open opens a model; it is a provider.Open.
func (c *Cloud) Open(_ context.Context, config provider.Config) (provider.Environ, error) {
	if config.Controller != c.config.Controller {
		return nil, entity.Errorf(entity.Invalid, "cannot open a model of controller %q in the cloud of %q",
			config.Controller, c.config.Controller)
	}
	if !isName(config.Model) {
		return nil, entity.Errorf(entity.Invalid, "cannot open model %q: invalid name", config.Model)
	}
	return &environ{cloud: c, config: config}, nil
}

// Supervise keeps the machine agents of all current and future instances running until ctx is done.
// The agents outlive it.
func (c *Cloud) Supervise(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	ended := make(chan string)
	watched := map[string]bool{} // by directory
	for {
		found, err := c.list("")
		if err != nil {
			return fmt.Errorf("cannot supervise machine agents: %w", err)
		}
		for _, inst := range found {
			dir := c.agentDir(inst.Model, inst.ID)
			if watched[dir] || !isFile(inst.configPath(dir)) {
				continue
			}
			if _, gone := process.Ended(dir); gone {
				continue
			}
			watched[dir] = true
			wg.Go(func() {
				if err := process.Supervise(ctx, c.agent(inst)); errors.Is(err, process.ErrRemoved) {
					logger.Infof("no longer supervising the agent of instance %s: %v", inst.ID, err)
				}
				select {
				case ended <- dir:
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		case dir := <-ended:
			delete(watched, dir)
		}
	}
}

// wakeSupervise makes a running Supervise check for new instances.
func (c *Cloud) wakeSupervise() {
	select {
	case c.wake <- struct{}{}:
	default: // already pending
	}
}

// agent returns the process.Spec of an instance's machine agent.
func (c *Cloud) agent(inst instance) process.Spec {
	dir := c.agentDir(inst.Model, inst.ID)
	env := append([]string(nil), c.config.Env...)
	if inst.Jujud {
		return process.Spec{Dir: dir, Path: c.config.Jujud, Args: []string{"controller", "--dir", c.config.Dir, "--node", dir},
			Env:  append(env, InstanceVariable+"="+c.mark(inst.Model, inst.ID), AddressVariable+"="+inst.Address),
			Room: ControllerRoom, Bound: restartBound}
	}
	return process.Spec{
		Dir:  dir,
		Path: c.config.MachineAgent,
		Args: append(append([]string(nil), c.config.Args...), dir),
		Env:  append(env, InstanceVariable+"="+c.mark(inst.Model, inst.ID), AddressVariable+"="+inst.Address),
	}
}

// mark returns the value of InstanceVariable for an instance.
func (c *Cloud) mark(model, id string) string { return c.config.Controller + "/" + model + "/" + id }

// MachineDir returns the directory of an instance below a cloud's directory.
func MachineDir(dir, model, id string) string { return filepath.Join(dir, "machines", model, id) }

// dir returns the directory of an instance.
func (c *Cloud) dir(model, id string) string { return MachineDir(c.config.Dir, model, id) }

// agentDir returns the working directory of an instance's machine agent. It is named after the
// machine's tag, which is derived from the ID.
func (c *Cloud) agentDir(model, id string) string {
	machine := strings.TrimPrefix(id, "local-")
	machine = machine[:max(0, strings.LastIndexByte(machine, '-'))] // without the hash
	return filepath.Join(c.dir(model, id), "agents", "machine-"+machine)
}

// machines returns the directory of a model's instances, or that of all models if model is "".
func (c *Cloud) machines(model string) string {
	return MachineDir(c.config.Dir, model, "")
}

// isName reports whether s is a valid file name that does not begin with a dot.
func isName(s string) bool {
	return s != "" && s[0] != '.' && !strings.ContainsAny(s, "/\x00")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, append(text, '\n'), 0o600)
}
