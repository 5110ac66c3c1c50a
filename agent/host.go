package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"juju/provider/process"
	"juju/state/entity"
)

// A host starts and ends the agents that an agent deploys. Each runs in a directory that
// holds its configuration.
type host interface {
	// start starts the agent in dir unless it runs. The error wraps process.ErrEnded if the
	// agent has ended for good.
	start(ctx context.Context, dir string) error
	// waitEnd returns nil when no agent runs in dir.
	waitEnd(ctx context.Context, dir string) error
	// end ends the agent in dir for good.
	end(ctx context.Context, dir, why string) error
	// hookTool returns the path of the hook-tool program.
	hookTool() (string, error)
}

// recallGrace is how long a recalled agent has to end before it is killed. Its unit is Dead
// and runs no hook.
const recallGrace = 10 * time.Second

// processes is the host in production: each agent is a process, which outlives the agent that
// started it.
type processes struct{ unitAgent string }

func (p processes) start(ctx context.Context, dir string) error {
	_, err := process.Start(ctx, process.Spec{Dir: dir, Path: p.unitAgent, Args: []string{dir}})
	return err
}

func (processes) waitEnd(ctx context.Context, dir string) error { return process.WaitEnd(ctx, dir) }

func (processes) end(ctx context.Context, dir, why string) error {
	return process.End(ctx, dir, why, recallGrace)
}

func (processes) hookTool() (string, error) { return sibling("hook-tool") }

// InProcess is a host that runs agents inside this process, for tests and for measurements
// with thousands of agents. Hooks are processes nevertheless.
type InProcess struct {
	HookTool string        // the path of the hook-tool program
	Delay    time.Duration // before a failed worker is restarted; as in production if zero
	Idle     time.Duration // before a unit's agent is idle; as in production if zero

	mu      sync.Mutex
	running map[string]*inProcess
	held    []*func(dir string) bool
}

type inProcess struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// StartMachine starts the agent of a machine in dir with this configuration. stop ends it and
// all agents that it has deployed.
func (h *InProcess) StartMachine(dir string, config []byte) (stop func(), err error) {
	if err := process.WriteFile(dir+"/"+ConfigName, config); err != nil {
		return nil, err
	}
	if err := h.launch(entity.KindMachine, dir); err != nil {
		return nil, err
	}
	return func() { h.stop(func(other string) bool { return within(dir, other) }) }, nil
}

// Hold ends the agents in the matching directories, and lets none start there until release
// is called. To the agents that deployed them they fail to start.
func (h *InProcess) Hold(match func(dir string) bool) (release func()) {
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
func (h *InProcess) Runs(dir string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[dir] != nil
}

// Stop ends all agents.
func (h *InProcess) Stop() { h.stop(func(string) bool { return true }) }

func within(dir, other string) bool {
	return other == dir || len(other) > len(dir) && other[:len(dir)+1] == dir+"/"
}

func (h *InProcess) stop(which func(dir string) bool) {
	for {
		h.mu.Lock()
		var chosen []*inProcess
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

func (h *InProcess) launch(kind entity.TagKind, dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		h.running = map[string]*inProcess{}
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
	p := &inProcess{cancel, make(chan struct{})}
	h.running[dir] = p
	go func() {
		defer close(p.done)
		defer cancel()
		if err := run(ctx, kind, dir, runParams{host: h, delay: h.Delay, idle: h.Idle, shared: true}); err != nil {
			logger.Errorf("the agent in %s ended: %v", dir, err)
		}
		h.mu.Lock()
		delete(h.running, dir)
		h.mu.Unlock()
	}()
	return nil
}

func (h *InProcess) start(ctx context.Context, dir string) error {
	return h.launch(entity.KindUnit, dir)
}

func (h *InProcess) waitEnd(ctx context.Context, dir string) error {
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

func (h *InProcess) end(ctx context.Context, dir, why string) error {
	if err := process.MarkEnded(dir, why); err != nil {
		return err
	}
	h.mu.Lock()
	p := h.running[dir]
	h.mu.Unlock()
	if p != nil {
		p.cancel()
	}
	return h.waitEnd(ctx, dir)
}

func (h *InProcess) hookTool() (string, error) { return h.HookTool, nil }
