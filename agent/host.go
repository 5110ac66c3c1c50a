package agent

import (
	"context"
	"time"

	"juju/agent/host/process"
)

// A Host starts and ends the agents that an agent deploys. Each runs in a directory that
// holds its configuration.
type Host interface {
	// Start starts the agent in dir unless it runs. The error wraps process.ErrEnded if the
	// agent has ended for good.
	Start(ctx context.Context, dir string) error
	// WaitEnd returns nil when no agent runs in dir.
	WaitEnd(ctx context.Context, dir string) error
	// End ends the agent in dir for good.
	End(ctx context.Context, dir, why string) error
}

// recallGrace is how long a recalled agent has to end before it is killed. Its unit is Dead
// and runs no hook.
const recallGrace = 10 * time.Second

// processes is the Host of the programs: each agent is a process, which outlives the agent that
// started it.
type processes struct{ unitAgent string }

func (p processes) Start(ctx context.Context, dir string) error {
	_, err := process.Start(ctx, process.Spec{Dir: dir, Path: p.unitAgent, Args: []string{dir}})
	return err
}

func (processes) WaitEnd(ctx context.Context, dir string) error { return process.WaitEnd(ctx, dir) }

func (processes) End(ctx context.Context, dir, why string) error {
	return process.End(ctx, dir, why, recallGrace)
}
