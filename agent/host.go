package agent

import (
	"context"
	"time"

	"juju/agent/host/process"
)

// A Host starts and stops the agents that an agent deploys. Each runs in a directory that holds its
// configuration.
type Host interface {
	// Start starts the agent in dir if it is not running. The error wraps process.ErrEnded if the agent has
	// terminated.
	Start(ctx context.Context, dir string) error
	// WaitEnd waits until no agent runs in dir.
	WaitEnd(ctx context.Context, dir string) error
	// End stops the agent in dir permanently.
	End(ctx context.Context, dir, why string) error
}

// recallGrace is how long a recalled agent may take to exit before it is killed. Its unit is Dead and runs no
// hooks.
const recallGrace = 10 * time.Second

// processes is the Host in production. Each agent is a process that outlives the agent that started it.
type processes struct{ unitAgent string }

func (p processes) Start(ctx context.Context, dir string) error {
	_, err := process.Start(ctx, process.Spec{Dir: dir, Path: p.unitAgent, Args: []string{dir}})
	return err
}

func (processes) WaitEnd(ctx context.Context, dir string) error { return process.WaitEnd(ctx, dir) }

func (processes) End(ctx context.Context, dir, why string) error {
	return process.End(ctx, dir, why, recallGrace)
}
