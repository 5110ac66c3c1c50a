package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"juju/agent"
	"juju/agent/binaries"
	"juju/state/entity"
)

// errUpgraded stops a controller that must restart with new binaries.
var errUpgraded = errors.New("the controller is restarting with new binaries")

// replyBound limits how long the controller waits for the client to receive the reply to an upgrade request.
const replyBound = 5 * time.Second

// Version returns the version of this binary.
func Version() string { return agent.Version }

// Build returns the name of this binary's build, as entity.Binaries.Build does.
func Build() string {
	return entity.Binaries{Version: agent.Version, Commit: agent.BuiltFrom()}.Build()
}

// trialBound is how long a controller may take to come up with new binaries, which may have to upgrade all
// stored data. It is less than the client's timeout, so that the client can report why the controller has
// reverted.
const trialBound = 8 * time.Minute

// upgradesIn returns the binaries of the controller in the cloud's directory dir. One that enable-ha has added has its
// own, because it changes when it is its turn.
func upgradesIn(dir string, o Options) binaries.Dir {
	o.Binaries.Bound = cmp.Or(o.Binaries.Bound, trialBound)
	return binaries.New(filepath.Join(cmp.Or(o.Node, dir), "tools"), o.Binaries)
}

// Enter execs the current binary of the controller in the cloud's directory dir, unless this is that
// binary; node is Options.Node. It must be called before anything else. counted is false if this process is not to run the
// controller.
func Enter(dir, node string, counted bool) error {
	dir, err := filepath.Abs(dir)
	if err == nil && node != "" {
		node, err = filepath.Abs(node)
	}
	if err != nil {
		return err
	}
	return upgradesIn(dir, Options{Node: node}).Enter("jujud", counted)
}

// confirm records that this controller works. From then on it can't revert to older binaries.
func (c *running) confirm(ctx context.Context) error {
	r, err := c.upgrades.Record()
	if err != nil {
		return err
	}
	var before entity.Binaries
	if r.Trial {
		before = r.Previous
	}
	wanted, err := c.wantedBinaries(ctx, before)
	if err := c.upgrades.Confirm(); err != nil {
		return err
	}
	if errors.Is(err, entity.NotSupported) {
		// A failed trial may already have upgraded models that these binaries did not need in order to come up.
		if on, retakeErr := c.retake(err); on || retakeErr != nil {
			return errors.Join(err, retakeErr)
		}
	}
	if err == nil {
		err = c.upgrades.Sweep(wanted...)
	}
	if err == nil && c.members != nil {
		err = c.sweepStored(ctx, wanted)
	}
	if err != nil {
		logger.Warningf("cannot remove old agent binaries: %v", err)
	}
	if c.binaries == nil {
		return nil
	}
	// The controller's own model is upgraded with it.
	own, err := c.ctrl.Model(ctx, c.conf.Model)
	if err != nil {
		return err
	}
	err = own.Settings().SetBinaries(ctx, entity.Binaries{Version: agent.Version, SHA256: c.binaries.SHA256})
	if kind := entity.KindOf(err); kind == entity.Invalid || kind == entity.NotAlive {
		logger.Warningf("%v", err) // these binaries were installed by hand, or the controller is being destroyed
		return nil
	}
	return err
}

// wantedBinaries returns the hashes of the binaries that models' agents should run. A model may be several
// upgrades behind its controller. A model without a record was created while the controller was stopping for
// an upgrade; it gets the binaries from before the upgrade, if known. The error joins those of all models.
func (c *running) wantedBinaries(ctx context.Context, before entity.Binaries) (wanted []string, err error) {
	rows, err := c.ctrl.Models(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.IsRemoving() {
			continue
		}
		var p entity.Binaries
		st, one := c.ctrl.Model(ctx, row.UUID)
		if one == nil {
			p, one = st.Settings().Binaries(ctx)
		}
		if one == nil && p.Version == "" && before.Version != "" && row.UUID != c.conf.Model {
			p, one = before, st.Settings().SetBinaries(ctx, before)
		}
		if kind := entity.KindOf(one); one != nil && kind != entity.NotFound && kind != entity.NotAlive {
			err = errors.Join(err, one)
		}
		wanted = append(wanted, p.SHA256)
	}
	return wanted, err
}

// retake permanently switches to the binaries whose trial failed, because these can no longer read the
// store. It returns false if there are none.
func (c *running) retake(why error) (bool, error) {
	on, err := c.upgrades.Retake()
	if on {
		logger.Errorf("these binaries can no longer read the store; continuing with those of the upgrade: %v", why)
	}
	return on, err
}

// goBack returns the error with which the controller stops. If its binaries are on trial, it reverts to the
// old ones. If the trial of other binaries has failed, but only those can read the store now, it switches to
// them permanently.
func (c *running) goBack(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	back, backErr := c.upgrades.Revert(err.Error())
	if back {
		logger.Errorf("reverting to the binaries from before the upgrade: %v", err)
	} else if errors.Is(err, entity.NotSupported) {
		_, backErr = c.retake(err)
	}
	return errors.Join(err, backErr)
}

// upgrades implements facades.Upgrades.
type upgrades struct {
	*running
	mu   sync.Mutex // one installation at a time
	hash string     // of the controller's binaries, once known
}

// Archive implements facades.Upgrades.
func (u *upgrades) Archive(sha256 string) string { return u.archive(sha256) }

// Running implements facades.Upgrades. The first call may have to read all binaries.
func (u *upgrades) Running(ctx context.Context) (entity.ControllerBinaries, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	record, err := u.running.upgrades.Record()
	if err != nil {
		return entity.ControllerBinaries{}, err
	}
	if err := u.learn(); err != nil {
		return entity.ControllerBinaries{}, err
	}
	now := entity.ControllerBinaries{Binaries: u.own(), Failed: record.Failed}
	if u.members != nil {
		now.Failed = nil // it is told by the upgrade
		now.Upgrade, now.Mixed, err = u.members.upgrade(ctx)
	}
	return now, err
}

func (u *upgrades) own() entity.Binaries {
	return entity.Binaries{Version: agent.Version, SHA256: u.hash, Commit: agent.BuiltFrom()}
}

// learn determines the hash of the controller's binaries, once.
func (u *upgrades) learn() error {
	own := binaries.Own()
	switch {
	case u.hash != "":
	case u.binaries != nil:
		u.hash = u.binaries.SHA256
	case entity.IsSHA256(own):
		u.hash = own
	default:
		return u.pack(func(string) error { return nil })
	}
	return nil
}

// pack creates an archive of the controller's binaries, calls use, and removes the archive.
func (u *upgrades) pack(use func(path string) error) (err error) {
	path := filepath.Join(u.running.own, "own.tar.gz")
	defer os.Remove(path)
	if u.hash, err = writeOwnArchive(path); err != nil {
		return fmt.Errorf("cannot read the controller's binaries: %w", err)
	}
	return use(path)
}

// Install implements facades.Upgrades. Where other controllers may share the store, it is stored for them too.
func (u *upgrades) Install(ctx context.Context, file string, want entity.Binaries) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.install(ctx, file, want); err != nil || u.members == nil {
		return err
	}
	return u.storeArchive(ctx, file, want)
}

func (u *upgrades) install(ctx context.Context, file string, want entity.Binaries) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := u.running.upgrades.Install(ctx, f, want); err != nil {
		return err
	}
	return u.running.upgrades.Keep(f, want.SHA256)
}

// Switch implements facades.Upgrades.
func (u *upgrades) Switch(ctx context.Context, by string, to entity.Binaries, replied <-chan struct{}) error {
	if u.members != nil {
		return u.beginUpgrade(ctx, by, to)
	}
	if err := u.switchTo(ctx, to, 0); err != nil {
		return err
	}
	go func() {
		select {
		case <-replied:
		case <-time.After(replyBound):
		}
		u.restart(errUpgraded)
	}()
	return nil
}

// switchTo makes installed binaries current from the next start on, on trial. Each start may take no longer than bound;
// the default if zero.
func (u *upgrades) switchTo(ctx context.Context, to entity.Binaries, bound time.Duration) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	dir := u.running.upgrades
	if bound > 0 {
		dir = dir.Within(bound)
	}
	record, err := dir.Record()
	if err != nil {
		return err
	}
	if record.Trial { // its binaries are not known to work
		return dir.Switch(ctx, record.Previous, to)
	}
	// Keep a copy of the binaries that the controller was bootstrapped with, in order to be able to revert:
	// on the user's host, another build may replace them at any time. New machines of models that are not
	// upgraded yet also need their archive.
	if !dir.Has(binaries.Own()) {
		if err := u.pack(func(path string) error { return u.install(ctx, path, u.own()) }); err != nil {
			return err
		}
	} else if err := u.learn(); err != nil {
		return err
	}
	return dir.Switch(ctx, u.own(), to)
}
