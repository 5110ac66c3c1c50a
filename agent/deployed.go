package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"juju/agent/host/process"
	"juju/state/entity"
	"juju/worker/deployer"
)

// deployed is the deployer.Agents of an agent: the agents of its units. The directories of all agents of a
// machine, including those of subordinates, are siblings. Each agent manages only those that it has deployed.
type deployed struct {
	dir    string // agents/ of the machine
	config Config // of the deploying agent
	// addresses returns the current addresses of the controllers.
	addresses func() []string
	host      Host
	ended     chan struct{}

	ctx     context.Context // ends the goroutines that wait for agents
	waits   sync.WaitGroup
	mu      sync.Mutex
	waiting map[string]bool
}

func newDeployed(ctx context.Context, dir string, h Host, config Config, addresses func() []string) *deployed {
	return &deployed{dir: dir, config: config, addresses: addresses, host: h,
		ended: make(chan struct{}, 1), ctx: ctx, waiting: map[string]bool{}}
}

func (d *deployed) unitDir(unit string) string {
	return filepath.Join(d.dir, entity.UnitTag(unit).String())
}

// Deployed returns the units whose agents this agent has deployed.
func (d *deployed) Deployed() ([]string, error) { return d.deployedBy(d.config.Tag) }

// deployedBy returns the units whose agents were deployed by the agent of a machine or principal.
func (d *deployed) deployedBy(parent entity.Tag) ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list the deployed agents: %w", err)
	}
	var units []string
	for _, e := range entries {
		// Directories being created or removed have names that begin with a dot.
		tag, err := entity.ParseTag(e.Name())
		if err != nil || tag.Kind != entity.KindUnit {
			continue
		}
		config, err := ReadConfig(filepath.Join(d.dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since we read the names
		} else if err != nil {
			return nil, err
		}
		if config.parent() == parent {
			units = append(units, tag.ID)
		}
	}
	slices.SortFunc(units, entity.CompareNatural)
	return units, nil
}

// parent returns the machine or principal whose agent deploys this unit's agent.
func (c Config) parent() entity.Tag {
	if c.Principal != "" {
		return entity.UnitTag(c.Principal)
	}
	return entity.MachineTag(c.Machine)
}

// Deploy atomically creates the agent's directory with its configuration, and starts the agent.
func (d *deployed) Deploy(ctx context.Context, unit, password string) error {
	config := d.config
	config.Tag, config.Password, config.Nonce = entity.UnitTag(unit), password, ""
	config.Addresses = d.addresses()
	config.SSHUser, config.Manual = "", false
	if d.config.Tag.Kind == entity.KindUnit {
		config.Principal = d.config.Tag.ID
	} else {
		config.Machine = d.config.Tag.ID
	}
	dir := d.unitDir(unit)
	err := d.configure(dir, config)
	if err == nil {
		err = d.linkLog(unit)
	}
	if err != nil {
		return fmt.Errorf("cannot deploy unit %s: %w", unit, err)
	}
	if err := process.ClearEnded(dir); err != nil {
		return err
	}
	return d.Ensure(ctx, unit)
}

// configure writes the configuration in dir. If dir does not exist, it appears together with its configuration.
func (d *deployed) configure(dir string, config Config) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, config.write(dir))
	}
	draft := d.hidden(dir)
	if err := removeAll(draft); err != nil { // from an interrupted deployment
		return err
	}
	if err := os.Mkdir(draft, 0o700); err != nil {
		return err
	}
	if err := config.write(draft); err != nil {
		return err
	}
	return os.Rename(draft, dir)
}

// logLink returns the link to the log of a unit's agent; "" if it has none.
func (d *deployed) logLink(unit string) string {
	if d.config.LogDir == "" {
		return ""
	}
	return filepath.Join(d.config.LogDir, entity.UnitTag(unit).String()+".log")
}

// linkLog links the log of a unit's agent into LogDir, where users look for it.
func (d *deployed) linkLog(unit string) error {
	link := d.logLink(unit)
	if link == "" {
		return nil
	}
	if err := os.MkdirAll(d.config.LogDir, 0o755); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(process.LogPath(d.unitDir(unit)), link)
}

// hidden returns the path of an agent's directory while this agent creates or removes it.
func (d *deployed) hidden(dir string) string {
	return filepath.Join(d.dir, "."+d.config.Tag.String()+"."+filepath.Base(dir))
}

// Ensure starts the agent if it is not running. The error wraps deployer.ErrEnded if the agent has terminated.
func (d *deployed) Ensure(ctx context.Context, unit string) error {
	err := d.host.Start(ctx, d.unitDir(unit))
	if errors.Is(err, process.ErrEnded) {
		return fmt.Errorf("cannot start the agent of unit %s: %w", unit, deployer.ErrEnded)
	}
	if err != nil {
		return fmt.Errorf("cannot start the agent of unit %s: %w", unit, err)
	}
	d.wait(unit)
	return nil
}

// wait signals the deployer when the agent exits.
func (d *deployed) wait(unit string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting[unit] {
		return
	}
	d.waiting[unit] = true
	d.waits.Add(1)
	go func() {
		defer d.waits.Done()
		err := d.host.WaitEnd(d.ctx, d.unitDir(unit))
		d.mu.Lock()
		delete(d.waiting, unit)
		d.mu.Unlock()
		if err != nil && d.ctx.Err() != nil {
			return
		}
		// The deployer must check again even if waiting failed.
		select {
		case d.ended <- struct{}{}:
		default:
		}
	}()
}

// Ended is signalled when an agent exits.
func (d *deployed) Ended() <-chan struct{} { return d.ended }

// Recall stops the agent and atomically removes its directory. If the unit was removed by force, its agent
// may not have recalled its subordinates; Recall does that too.
func (d *deployed) Recall(ctx context.Context, unit string) error {
	subordinates, err := d.deployedBy(entity.UnitTag(unit))
	if err != nil {
		return err
	}
	dir := d.unitDir(unit)
	if err := d.host.End(ctx, dir, "recalled"); err != nil {
		return fmt.Errorf("cannot stop the agent of unit %s: %w", unit, err)
	}
	for _, subordinate := range subordinates {
		if err := d.Recall(ctx, subordinate); err != nil {
			return err
		}
	}
	if err := d.host.End(ctx, dir, "recalled"); err != nil {
		return fmt.Errorf("cannot stop the agent of unit %s: %w", unit, err)
	}
	if link := d.logLink(unit); link != "" {
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot recall unit %s: %w", unit, err)
		}
	}
	out := d.hidden(dir)
	if err := removeAll(out); err != nil { // from an interrupted recall
		return err
	}
	if err := os.Rename(dir, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot recall unit %s: %w", unit, err)
	}
	return removeAll(out)
}

// sweep removes the remains of interrupted recalls and deployments by this agent, and by agents that no longer
// exist.
func (d *deployed) sweep() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		hidden, ok := strings.CutPrefix(e.Name(), ".")
		whose, _, _ := strings.Cut(hidden, ".")
		_, err := os.Stat(filepath.Join(d.dir, whose))
		if ok && (whose == d.config.Tag.String() || errors.Is(err, fs.ErrNotExist)) {
			if err := removeAll(filepath.Join(d.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAll is os.RemoveAll for files created by charms: it also removes the content of read-only directories.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return fmt.Errorf("cannot remove %s: %w", dir, err)
	}
	return nil
}
