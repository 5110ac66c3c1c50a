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

	"juju/provider/process"
	"juju/state/entity"
	"juju/worker/deployer"
)

// deployed is the deployer.Agents of an agent: the agents of units in one directory.
type deployed struct {
	dir    string // agents/ below the directory of the machine or principal
	config Config // that of the deploying agent
	host   Host
	ended  chan struct{}

	ctx     context.Context // ends the goroutines that wait for agents
	waits   sync.WaitGroup
	mu      sync.Mutex
	waiting map[string]bool
}

func newDeployed(ctx context.Context, dir string, h Host, config Config) *deployed {
	return &deployed{dir: filepath.Join(dir, "agents"), config: config, host: h,
		ended: make(chan struct{}, 1), ctx: ctx, waiting: map[string]bool{}}
}

func (d *deployed) unitDir(unit string) string {
	return filepath.Join(d.dir, entity.UnitTag(unit).String())
}

// Deployed returns the units whose agents have a directory here. It leaves out directories
// without a configuration: an interrupted deployment has left them.
func (d *deployed) Deployed() ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("cannot list the deployed agents: %w", err)
	}
	var units []string
	for _, e := range entries {
		// The name of a directory that is being removed begins with a dot.
		if tag, err := entity.ParseTag(e.Name()); err == nil && tag.Kind == entity.KindUnit && d.isComplete(e.Name()) {
			units = append(units, tag.ID)
		}
	}
	slices.SortFunc(units, entity.CompareNatural)
	return units, nil
}

func (d *deployed) isComplete(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name, ConfigName))
	return !errors.Is(err, fs.ErrNotExist)
}

// Deploy makes the agent's directory and starts the agent. It writes the configuration last,
// so that an interrupted deployment is not taken for a complete one.
func (d *deployed) Deploy(ctx context.Context, unit, password string) error {
	dir := d.unitDir(unit)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot deploy unit %s: %w", unit, err)
	}
	config := d.config
	config.Tag, config.Password, config.Nonce = entity.UnitTag(unit), password, ""
	if d.config.Tag.Kind == entity.KindUnit {
		config.Principal = d.config.Tag.ID
	} else {
		config.Machine = d.config.Tag.ID
	}
	if err := config.write(dir); err != nil {
		return err
	}
	if err := process.ClearEnded(dir); err != nil {
		return err
	}
	return d.Ensure(ctx, unit)
}

// Ensure starts the agent if it does not run. The error is deployer.ErrEnded if the agent has
// ended for good.
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

// wait tells the deployer when the agent ends.
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
		// If the agent can't be waited for, the deployer looks again too.
		select {
		case d.ended <- struct{}{}:
		default:
		}
	}()
}

// Ended is signalled when an agent ends.
func (d *deployed) Ended() <-chan struct{} { return d.ended }

// Recall ends the agent and removes its directory. To others the removal is one step.
func (d *deployed) Recall(ctx context.Context, unit string) error {
	dir := d.unitDir(unit)
	if err := d.host.End(ctx, dir, "recalled"); err != nil {
		return fmt.Errorf("cannot end the agent of unit %s: %w", unit, err)
	}
	out := filepath.Join(d.dir, "."+filepath.Base(dir))
	if err := removeAll(out); err != nil { // from an interrupted recall
		return err
	}
	if err := os.Rename(dir, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot recall unit %s: %w", unit, err)
	}
	return removeAll(out)
}

// sweep removes what interrupted recalls and deployments have left.
func (d *deployed) sweep() error {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !d.isComplete(e.Name()) {
			if err := removeAll(filepath.Join(d.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAll is os.RemoveAll for files made by charms: it also removes what is in directories
// that are not writable.
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
