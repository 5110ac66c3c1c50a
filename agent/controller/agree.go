package controller

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/leadership"
)

// agree makes sure, before this controller serves, that it may do so beside those that share its store: it changes to the
// binaries that all are to run, and it upgrades stored data only when none is there that could not read it then. It fails
// with errUpgraded if this process must restart.
func (c *running) agree(ctx context.Context) error {
	restart, err := c.turner().begin(ctx)
	if err != nil {
		return err
	}
	if restart {
		c.restart(errUpgraded)
		return errUpgraded
	}
	// Controllers that claim newer forms look whether this one is there; so it must be known before it looks at the claim.
	if err := c.beWaiting(ctx); err != nil {
		return err
	}
	if err := c.ctrl.CheckForms(ctx); err != nil {
		return err
	}
	behind, err := c.ctrl.IsBehind(ctx)
	if err != nil || !behind {
		return err
	}
	all, err := c.ctrl.Nodes(ctx)
	if err != nil {
		return err
	}
	if len(all) == 1 {
		return nil // the data is upgraded during the trial, which fails with that
	}
	// It has come up. Nothing has been changed yet that older binaries need.
	if err := errors.Join(c.upgrades.Confirm(), c.ctrl.NodeChanged(ctx, c.conf.machine(), ownBinaries())); err != nil {
		return err
	}
	c.ready()
	return c.reachForms(ctx)
}

// beWaiting tells the others that this controller is up, and does not serve yet.
func (c *running) beWaiting(ctx context.Context) error {
	if err := c.beat(ctx); err != nil {
		return err
	}
	all, err := c.ctrl.Nodes(ctx)
	if err != nil {
		return err
	}
	own := c.node(nil)
	for _, n := range all {
		if n.ID == own.ID {
			own.Addresses = n.Addresses // for those that know it
		}
	}
	return c.ctrl.SetNode(ctx, own)
}

// beat is a beat of a controller that does not serve yet.
func (c *running) beat(ctx context.Context) error {
	all, err := c.ctrl.Beat(ctx, controller.Beat{ID: c.conf.machine(), Waits: true})
	if err == nil {
		c.members.see(all)
	}
	return err
}

// reachForms waits until no controller with older binaries is up and then, as one of those with newer ones, upgrades the
// stored data, or waits until another one has.
func (c *running) reachForms(ctx context.Context) error {
	within, reached := context.WithCancel(ctx)
	defer reached()
	claims := &sync.WaitGroup{}
	tracker := leadership.NewTracker(leadClaim{c, claims}, entity.MachineTag(c.conf.machine()),
		cmp.Or(c.options.LeadTerm, leadTerm))
	err := worker.Run(within, retryDelay, map[string]worker.Func{
		"beats": func(ctx context.Context) error { return worker.Every(ctx, beatEvery, c.beat) },
		"end": func(ctx context.Context) error {
			return worker.Notify(ctx, c.ctrl.WatchNodeUpgrade, func(ctx context.Context) error {
				if err := c.checkForms(ctx); err != nil {
					return err
				}
				behind, err := c.ctrl.IsBehind(ctx)
				if err == nil && !behind {
					reached()
				}
				return err
			})
		},
		"forms": func(ctx context.Context) error {
			if err := c.awaitOlder(ctx); err != nil {
				return err
			}
			return worker.Run(ctx, retryDelay, map[string]worker.Func{
				"lead": c.claimLead(tracker),
				"upgrade": c.singly(nil, func(ctx context.Context) error {
					// Those with older binaries end, and none starts from now on.
					if err := c.ctrl.ClaimForms(ctx); err != nil {
						return err
					}
					if err := c.awaitOlder(ctx); err != nil {
						return err
					}
					if err := c.ctrl.Upgrade(ctx); err != nil {
						return err
					}
					reached()
					return nil
				}),
			})
		},
	})
	claims.Wait()
	tracker.Release(context.WithoutCancel(ctx))
	if within.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// errNoneOlder ends the wait of awaitOlder.
var errNoneOlder = errors.New("no controller with older binaries is up")

// awaitOlder waits until no controller with binaries of older forms is up.
func (c *running) awaitOlder(ctx context.Context) error {
	// One that was taken for lost may have begun to serve since the last beat, before it could read a claim.
	if err := c.beat(ctx); err != nil {
		return err
	}
	said := ""
	err := worker.NotifyAgain(ctx, c.ctrl.WatchNodes, func(context.Context) (time.Duration, error) {
		ids, err := c.members.older(ctx)
		if err == nil && len(ids) == 0 {
			err = errNoneOlder
		}
		if text := strings.Join(ids, ", "); text != said {
			said = text
			logger.Infof("the stored data is upgraded once these controllers are: %s", text)
		}
		return beatEvery, err
	})
	if errors.Is(err, errNoneOlder) {
		return nil
	}
	return err
}
