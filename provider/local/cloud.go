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

// InstanceVariable is in the environment of every agent, and of what it starts:
// "<controller UUID>/<model UUID>/<instance ID>". The keeper and the controller
// have "<controller UUID>/keeper" and "<controller UUID>/controller".
const InstanceVariable = "JUJU_LOCAL_INSTANCE"

// AddressVariable is also in the environment, and holds the instance's address.
const AddressVariable = "JUJU_LOCAL_ADDRESS"

// AgentConfigName is the name of the file, in the directory of an instance's agent, that
// holds StartParams.AgentConfig.
const AgentConfigName = "agent.conf"

// Config is what a Cloud needs.
type Config struct {
	Dir          string        // the controller's directory; made if missing
	Controller   string        // UUID
	MachineAgent string        // the program; "" for a Cloud that starts nothing
	Args         []string      // its arguments; the agent's directory follows as the last
	Env          []string      // "KEY=value", laid over this process's environment
	Grace        time.Duration // between SIGTERM and SIGKILL; 0 for 10 s
	Series       string        // of the host; "" to find it out
}

// Cloud is what one controller has on this host. Its methods are safe for concurrent use.
type Cloud struct {
	config Config
	busy   provider.KeyedMutex // instances that are being started or stopped, and directories of pools
	poke   chan struct{}       // tells Supervise that there may be a new instance
}

// New returns the cloud of one controller. The error is Invalid when the directory belongs to
// another controller.
func New(config Config) (*Cloud, error) {
	var err error
	if config.Dir, err = filepath.Abs(config.Dir); err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", config.Dir, err)
	}
	if strings.ContainsRune(config.MachineAgent, filepath.Separator) {
		// The agents have another working directory than this process.
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
	return &Cloud{config: config, poke: make(chan struct{}, 1)}, nil
}

// claim makes the directory and records the controller in it, so that no other controller is
// ever destroyed by mistake.
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

// Open opens a model; it is a provider.Open. It ignores the attributes.
func (c *Cloud) Open(_ context.Context, config provider.Config) (provider.Environ, error) {
	if config.Controller != c.config.Controller {
		return nil,
			entity.Errorf(entity.Invalid, "cannot open a model of controller %q on the host of %q", config.Controller,
				c.config.Controller)
	}
	if !isName(config.Model) {
		return nil, entity.Errorf(entity.Invalid, "cannot open model %q: no such name", config.Model)
	}
	return &environ{cloud: c, config: config}, nil
}

// Supervise keeps the machine agents of all instances running, present and future ones, until
// ctx is done. The agents outlive it.
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
			if watched[dir] || !isFile(filepath.Join(dir, AgentConfigName)) {
				continue
			}
			if _, gone := process.Ended(dir); gone {
				continue
			}
			watched[dir] = true
			wg.Go(func() {
				// An instance whose directory is gone is no longer listed.
				if err := process.Supervise(ctx, c.agent(inst)); errors.Is(err, process.ErrRemoved) {
					logger.Infof("the agent of instance %s is no longer kept running: %v", inst.ID, err)
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
		case <-c.poke:
		case dir := <-ended:
			delete(watched, dir)
		}
	}
}

// supervised tells Supervise, if it runs, to look for new instances.
func (c *Cloud) supervised() {
	select {
	case c.poke <- struct{}{}:
	default: // it has been told
	}
}

// agent returns how to run the machine agent of an instance.
func (c *Cloud) agent(inst instance) process.Spec {
	dir := c.agentDir(inst.Model, inst.ID)
	env := append([]string(nil), c.config.Env...)
	return process.Spec{
		Dir:  dir,
		Path: c.config.MachineAgent,
		Args: append(append([]string(nil), c.config.Args...), dir),
		Env:  append(env, InstanceVariable+"="+c.mark(inst.Model, inst.ID), AddressVariable+"="+inst.Address),
	}
}

// mark returns the value of InstanceVariable for an instance.
func (c *Cloud) mark(model, id string) string { return c.config.Controller + "/" + model + "/" + id }

// MachineDir returns the directory of an instance of a model in a cloud's directory.
func MachineDir(dir, model, id string) string { return filepath.Join(dir, "machines", model, id) }

// dir returns the directory of an instance.
func (c *Cloud) dir(model, id string) string { return MachineDir(c.config.Dir, model, id) }

// agentDir returns the directory that the machine agent of an instance runs in. Its name is that
// of the machine's tag, which the ID has a part of.
func (c *Cloud) agentDir(model, id string) string {
	machine := strings.TrimPrefix(id, "local-")
	machine = machine[:max(0, strings.LastIndexByte(machine, '-'))] // less the hash
	return filepath.Join(c.dir(model, id), "agents", "machine-"+machine)
}

// machines returns the directory of a model's instances, or with "" the directory of all
// models.
func (c *Cloud) machines(model string) string {
	return MachineDir(c.config.Dir, model, "")
}

// isName reports whether s can be the name of a file and does not begin with a dot.
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
