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

// deployed is what a deployer works on: the agents of units in one directory.
type deployed struct {
	dir    string // agents/ of the machine or principal
	config Config // of the agent that deploys
	host   host
	ended  chan struct{}

	ctx     context.Context // of the deployer's worker: ends the waiting
	waits   sync.WaitGroup
	mu      sync.Mutex
	waiting map[string]bool
}

func newDeployed(ctx context.Context, dir string, h host, config Config) *deployed {
	return &deployed{dir: filepath.Join(dir, "agents"), config: config, host: h,
		ended: make(chan struct{}, 1), ctx: ctx, waiting: map[string]bool{}}
}

func (d *deployed) unitDir(unit string) string {
	return filepath.Join(d.dir, entity.UnitTag(unit).String())
}

// Deployed returns the units that have an agent's directory here; one without a
// configuration is what a deployment that was cut short has left.
func (d *deployed) Deployed() ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("cannot list the deployed agents: %w", err)
	}
	var units []string
	for _, e := range entries {
		// A directory whose name begins with a dot is on its way out.
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

// Deploy makes the agent's directory and starts the agent. The configuration is
// written last, so that a deployment that was cut short is not taken for one.
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

// Ensure starts the agent if it does not run; deployer.ErrEnded when it has ended
// for good.
func (d *deployed) Ensure(ctx context.Context, unit string) error {
	err := d.host.start(ctx, d.unitDir(unit))
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
		err := d.host.waitEnd(d.ctx, d.unitDir(unit))
		d.mu.Lock()
		delete(d.waiting, unit)
		d.mu.Unlock()
		if err != nil && d.ctx.Err() != nil {
			return
		}
		// Also when it can't be waited for: then the deployer looks again.
		select {
		case d.ended <- struct{}{}:
		default:
		}
	}()
}

// Ended is signalled when an agent has ended.
func (d *deployed) Ended() <-chan struct{} { return d.ended }

// Recall ends the agent and removes its directory, in one step as others see it.
func (d *deployed) Recall(ctx context.Context, unit string) error {
	dir := d.unitDir(unit)
	if err := d.host.end(ctx, dir, "recalled"); err != nil {
		return fmt.Errorf("cannot end the agent of unit %s: %w", unit, err)
	}
	out := filepath.Join(d.dir, "."+filepath.Base(dir))
	if err := removeAll(out); err != nil { // of an earlier time
		return err
	}
	if err := os.Rename(dir, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot recall unit %s: %w", unit, err)
	}
	return removeAll(out)
}

// sweep removes what a recall or a deployment that was cut short has left.
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

// removeAll is os.RemoveAll for what charms have made: a directory that its owner
// may not write in is made writable first.
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
