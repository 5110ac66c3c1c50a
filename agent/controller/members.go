package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"juju/agent"
	"juju/agent/binaries"
	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
)

// A membership is what this controller knows about those that share its store. It implements facades.Controllers.
type membership struct {
	*running
	mu    sync.Mutex
	nodes nodes
	apis  []string  // addresses of all APIs, the own ones first
	beat  time.Time // when the last beat of this controller began; others count from then
}

// steadyFor is for how long after the begin of a beat no other controller takes this one for lost.
const steadyFor = (missedBeats - 2) * beatEvery

// beaten records that a beat that began at a time was successful, and that no newer forms of the stored data were claimed
// afterwards.
func (m *membership) beaten(began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beat = began
}

// steady returns an error if this process was paused for so long that the others may have upgraded the stored data to a
// form that it does not know. What clients sent before that must not be done any more. The API server asks it before each
// request, and the store before each commit, because the pause may have come in the middle of a request.
func (m *membership) steady(ctx context.Context) error {
	m.mu.Lock()
	fresh := time.Since(m.beat) < steadyFor
	m.mu.Unlock()
	if fresh {
		return nil
	}
	err := m.ctrl.CheckForms(ctx)
	if errors.Is(err, entity.NotSupported) {
		err = entity.Errorf(entity.Unavailable, "this controller restarts: %w", err)
	}
	return err
}

// Addresses implements facades.Controllers.
func (m *membership) Addresses() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apis == nil {
		return m.conf.addresses()
	}
	return m.apis
}

// Alone implements facades.Controllers.
func (m *membership) Alone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.nodes) == 1 // none before the first beat
}

// Watch implements facades.Controllers.
func (m *membership) Watch(ctx context.Context) (<-chan struct{}, error) {
	return m.ctrl.WatchNodes(ctx)
}

// Nodes implements facades.Controllers.
func (m *membership) Nodes(ctx context.Context) ([]entity.ControllerNode, error) {
	known, err := m.ctrl.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	leader, err := m.ctrl.SingularHolder(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]entity.ControllerNode, len(known))
	for i, n := range known {
		all[i] = entity.ControllerNode{Machine: n.ID, Addresses: n.Addresses, Version: n.Version, Commit: n.Commit,
			SHA256: n.SHA256, Leads: n.ID == leader, Up: true} // one that is not seen yet has just joined
		if one := m.nodes[n.ID]; one != nil {
			all[i].Up, all[i].Waits, all[i].Seen = one.isUp(), one.last.Waits, one.last.At
		}
	}
	return all, nil
}

// Upgrade implements facades.Controllers.
func (m *membership) Upgrade(ctx context.Context) (*entity.ControllerUpgrade, error) {
	return m.ctrl.NodeUpgrade(ctx)
}

// upgrade returns the last upgrade, and whether another controller runs other binaries than this one.
func (m *membership) upgrade(ctx context.Context) (u *entity.ControllerUpgrade, mixed bool, err error) {
	if u, err = m.Upgrade(ctx); err != nil {
		return nil, false, err
	}
	known, err := m.ctrl.Nodes(ctx)
	return u, slices.ContainsFunc(known, func(n controller.Node) bool {
		return n.Version != agent.Version || n.SHA256 != binaries.Own()
	}), err
}

// turns implements turner.nodes.
func (m *membership) turns(ctx context.Context) (all []entity.ControllerNode, lost func(id string) bool, err error) {
	all, err = m.Nodes(ctx)
	return all, func(id string) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		one := m.nodes[id]
		return one == nil && len(m.nodes) > 0 || one != nil && one.missed >= turnBeats
	}, err
}

// failures returns which workers of the other controllers for a model, or for "" for all models, keep failing.
func (m *membership) failures(model string) (all []entity.WorkerFailure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, one := range m.nodes {
		if id == m.conf.machine() || !one.isUp() {
			continue
		}
		for _, f := range one.last.Failures {
			if f.Model == model {
				all = append(all, f.WorkerFailure)
			}
		}
	}
	return all
}

// see records the last beats of all nodes, and returns which others are up and serve.
func (m *membership) see(all []controller.Beat) (up []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.nodes == nil {
		m.nodes = nodes{}
	}
	m.nodes.see(all)
	return slices.DeleteFunc(m.nodes.up(), func(id string) bool {
		return id == m.conf.machine() || m.nodes[id].last.Waits
	})
}

// older returns the controllers that are up, and know only older forms of the stored data than this one.
func (m *membership) older(ctx context.Context) ([]string, error) {
	known, err := m.ctrl.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, n := range known {
		if one := m.nodes[n.ID]; (one == nil || one.isUp()) && !n.Forms.Covers(m.ctrl.Forms()) {
			ids = append(ids, n.ID)
		}
	}
	return ids, nil
}

// followAddresses returns the worker that keeps Addresses up to date.
func (m *membership) followAddresses() worker.Func {
	return func(ctx context.Context) error {
		return worker.Notify(ctx, m.Watch, func(context.Context) error {
			known, err := m.ctrl.Nodes(ctx)
			if err != nil {
				return err
			}
			apis := slices.Clone(m.conf.addresses())
			for _, n := range known {
				if n.ID != m.conf.machine() {
					apis = append(apis, n.Addresses...)
				}
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.apis = apis
			return nil
		})
	}
}
