package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
)

// beatEvery is how often a controller shows the others that it is up, and missedBeats for how many of its own beats
// another one may be silent before it is treated as lost. Beats are counted, instead of seconds, because all stop while
// the store elects a primary.
const (
	beatEvery   = 3 * time.Second
	missedBeats = 5
)

// nodes are the controllers that share a store, as one of them sees them.
type nodes map[string]*node

type node struct {
	last   controller.Beat
	missed int // own beats since then
}

// see records the last beats, as read after a beat of this controller.
func (n nodes) see(all []controller.Beat) {
	maps.DeleteFunc(n, func(id string, _ *node) bool {
		return !slices.ContainsFunc(all, func(b controller.Beat) bool { return b.ID == id })
	})
	for _, beat := range all {
		one := n[beat.ID]
		if one == nil {
			one = &node{}
			n[beat.ID] = one
		}
		if one.missed++; one.last.Count != beat.Count {
			one.last, one.missed = beat, 0
		}
	}
}

// isUp reports whether the node is up.
func (n *node) isUp() bool { return n.missed < missedBeats }

// up returns the nodes that are up.
func (n nodes) up() (ids []string) {
	for id, one := range n {
		if one.isUp() {
			ids = append(ids, id)
		}
	}
	return ids
}

// join returns the worker that makes this controller known to those that share its store, and watches for them.
func (c *running) join() worker.Func {
	return func(ctx context.Context) error {
		own := c.conf.machine()
		// A node that others see has a beat.
		if _, err := c.ctrl.Beat(ctx, controller.Beat{ID: own}); err != nil {
			return err
		}
		if err := c.ctrl.SetNode(ctx, c.node(c.conf.addresses())); err != nil {
			return err
		}
		return worker.Every(ctx, beatEvery, func(ctx context.Context) error {
			began := time.Now()
			err := c.checkManager(ctx)
			var all []controller.Beat
			if err == nil {
				all, err = c.ctrl.Beat(ctx, controller.Beat{ID: own, Failures: c.failures.everything()})
			}
			if err == nil {
				err = c.checkForms(ctx)
			}
			if errors.Is(err, entity.StoreAway) {
				return nil // the next beat follows at the usual time, and not after a failed worker's pause
			} else if err != nil {
				return err
			}
			c.members.beaten(began)
			c.server.Presence().SetPeers(c.members.see(all))
			c.server.Presence().Balance()
			return nil
		})
	}
}

// node returns what others know about this controller.
func (c *running) node(addresses []string) controller.Node {
	runs := ownBinaries()
	return controller.Node{ID: c.conf.machine(), Addresses: addresses, Version: runs.Version, Commit: runs.Commit,
		SHA256: runs.SHA256, Forms: c.ctrl.Forms()}
}

// checkForms ends this controller if the stored data is upgraded to a form that it does not know.
func (c *running) checkForms(ctx context.Context) error {
	err := c.ctrl.CheckForms(ctx)
	if errors.Is(err, entity.NotSupported) {
		err = fmt.Errorf("%w: %w", worker.ErrFatal, err)
	}
	return err
}

// checkManager ends this controller if its machine is removed, or no longer runs one: while it was away, enable-ha may
// have replaced it.
func (c *running) checkManager(ctx context.Context) error {
	own, err := c.ctrl.Model(ctx, c.conf.Model)
	if err != nil {
		return err
	}
	m, err := own.Machine(ctx, c.conf.machine())
	if entity.IsNotFound(err) || err == nil && m.Life() == entity.Alive && !m.IsManager() {
		return fmt.Errorf("machine %s no longer runs a controller: %w", c.conf.machine(), worker.ErrTerminateAgent)
	}
	return err
}

// dropNodes returns the worker that removes what is recorded about controllers whose machines are removed.
func (c *running) dropNodes() worker.Func {
	return func(ctx context.Context) error {
		own, err := c.ctrl.Model(ctx, c.conf.Model)
		if err != nil {
			return err
		}
		return worker.Strings(ctx, own.Watches().Machines, func(ctx context.Context, ids []string) error {
			for _, id := range ids {
				_, err := own.Machine(ctx, id)
				if entity.IsNotFound(err) {
					err = c.ctrl.RemoveNode(ctx, id)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// tellEvery is how long a change of presence waits for others, to be written with them.
const tellEvery = time.Second

// sharePresence returns the worker that tells the other controllers which agents are connected to this one, and learns
// which are connected to them.
func (c *running) sharePresence() worker.Func {
	return func(ctx context.Context) error {
		own := c.conf.machine()
		if err := c.ctrl.DropPresence(ctx, own); err != nil { // what the last process knew
			return err
		}
		recorder := c.server.Presence()
		return worker.Run(ctx, retryDelay, map[string]worker.Func{
			"presence told": func(ctx context.Context) error {
				recorder.ChangeAll()
				return worker.Every(ctx, tellEvery, func(context.Context) error {
					for model, agents := range recorder.Changes() {
						if err := c.ctrl.SetPresence(ctx, own, model, agents); err != nil {
							return err
						}
					}
					return nil
				})
			},
			"presence learned": func(ctx context.Context) error {
				return worker.Strings(ctx, c.ctrl.WatchPresences, func(_ context.Context, ids []string) error {
					found, err := c.ctrl.Presences(ctx, ids)
					if err != nil {
						return err
					}
					gone := map[string]bool{}
					for _, id := range ids {
						gone[id] = true
					}
					for _, p := range found {
						delete(gone, p.ID)
						if p.Node != own {
							recorder.SetPeer(p.Node, p.Model, p.Agents)
						}
					}
					for id := range gone {
						if node, model, _ := strings.Cut(id, "#"); node != own {
							recorder.SetPeer(node, model, nil)
						}
					}
					return nil
				})
			},
		})
	}
}
