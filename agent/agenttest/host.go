// Package agenttest is test support: it runs agents of machines and units inside one process,
// so that a test has hundreds of them. Their hooks are processes nevertheless.
package agenttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.agent")

// A Host is an agent.Host that runs agents inside this process.
type Host struct {
	Options agent.Options // of every agent, but for the Host, which is this one
	Units   *Processes    // run the agents of units, unless nil

	mu      sync.Mutex
	running map[string]*running
	held    []*func(dir string) bool
}

// running is an agent that runs.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// StartMachine starts the agent of a machine with this configuration; root is to hold everything
// of the machine's. stop ends it and all agents that it has deployed.
func (h *Host) StartMachine(root, machine string, config []byte) (stop func(), err error) {
	dir := agent.Dir(root, entity.MachineTag(machine))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, agent.ConfigName), config, 0o600); err != nil {
		return nil, err
	}
	if err := h.launch(entity.KindMachine, dir); err != nil {
		return nil, err
	}
	return func() {
		h.stop(func(other string) bool { return within(root, other) })
		if h.Units != nil {
			if err := h.Units.Burn(root); err != nil {
				logger.Errorf("%v", err)
			}
		}
	}, nil
}

// Hold ends the agents in the matching directories, and lets none start there until release
// is called. To the agents that deployed them they fail to start.
func (h *Host) Hold(match func(dir string) bool) (release func()) {
	h.mu.Lock()
	h.held = append(h.held, &match)
	h.mu.Unlock()
	h.stop(match)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = slices.DeleteFunc(h.held, func(other *func(string) bool) bool { return other == &match })
	}
}

// Runs reports whether an agent runs in dir.
func (h *Host) Runs(dir string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[dir] != nil
}

// Stop ends all agents.
func (h *Host) Stop() { h.stop(func(string) bool { return true }) }

func within(dir, other string) bool {
	return other == dir || len(other) > len(dir) && other[:len(dir)+1] == dir+"/"
}

func (h *Host) stop(which func(dir string) bool) {
	for {
		h.mu.Lock()
		var chosen []*running
		for dir, p := range h.running {
			if which(dir) {
				chosen = append(chosen, p)
			}
		}
		h.mu.Unlock()
		if len(chosen) == 0 {
			return
		}
		for _, p := range chosen {
			p.cancel()
		}
		for _, p := range chosen {
			<-p.done
		}
	}
}

func (h *Host) launch(kind entity.TagKind, dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		h.running = map[string]*running{}
	}
	if h.running[dir] != nil {
		return nil
	}
	for _, match := range h.held {
		if (*match)(dir) {
			return fmt.Errorf("cannot start the agent in %s: it is held", dir)
		}
	}
	if why, ended := process.Ended(dir); ended {
		return fmt.Errorf("cannot start the agent in %s: %w (%s)", dir, process.ErrEnded, why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &running{cancel, make(chan struct{})}
	h.running[dir] = p
	go func() {
		defer close(p.done)
		defer cancel()
		if err := h.run(ctx, kind, dir); err != nil {
			logger.Errorf("the agent in %s ended: %v", dir, err)
		}
		h.mu.Lock()
		delete(h.running, dir)
		h.mu.Unlock()
	}()
	return nil
}

func (h *Host) run(ctx context.Context, kind entity.TagKind, dir string) error {
	options := h.Options
	options.Host = h
	if h.Units != nil {
		options.Host = h.Units
	}
	a, err := agent.New(kind, dir, options)
	if err != nil {
		return err
	}
	held, err := process.Hold(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	return a.Run(ctx)
}

// Start starts the agent of a unit in dir unless it runs.
func (h *Host) Start(ctx context.Context, dir string) error {
	return h.launch(entity.KindUnit, dir)
}

// WaitEnd returns nil when no agent runs in dir.
func (h *Host) WaitEnd(ctx context.Context, dir string) error {
	h.mu.Lock()
	p := h.running[dir]
	h.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End ends the agent in dir for good.
func (h *Host) End(ctx context.Context, dir, why string) error {
	if err := process.MarkEnded(dir, why); err != nil {
		return err
	}
	h.mu.Lock()
	p := h.running[dir]
	h.mu.Unlock()
	if p != nil {
		p.cancel()
	}
	return h.WaitEnd(ctx, dir)
}
