package uniter

import (
	"context"
	"errors"

	"juju/hooks"
	"juju/worker/uniter/operation"
)

// A localCommand is one that a user of the machine runs with juju-run.
type localCommand struct {
	operation.Command
	over chan struct{} // closed when it has run
}

// errAgentStopped is what a user is told whose command's end the agent does not see.
var errAgentStopped = errors.New("the agent has stopped")

// serveCommands takes commands of the machine's users until end is called. The channel gets one
// after another, as the uniter asks for them.
func serveCommands(runDir string) (commands <-chan *localCommand, end func()) {
	next, done := make(chan *localCommand), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		err := hooks.ServeCommands(ctx, runDir, func(ctx context.Context, asked hooks.Command) (int, error) {
			c := &localCommand{operation.Command{Command: asked, Context: ctx}, make(chan struct{})}
			select {
			case next <- c:
			case <-ctx.Done():
				return 0, errAgentStopped
			}
			select {
			case <-c.over:
				return c.Code, c.Err
			case <-ctx.Done():
				return 0, errAgentStopped
			}
		})
		if err != nil {
			logger.Errorf("%v", err)
		}
	}()
	return next, func() {
		cancel()
		<-done
	}
}

// nextCommand returns the channel of the next command; nil while there is one.
func (r *remote) nextCommand() <-chan *localCommand {
	if r.command != nil {
		return nil
	}
	return r.commands
}

// endCommand answers the user whose command was to run.
func (r *remote) endCommand(err error) {
	if r.command.Err == nil {
		r.command.Err = err
	}
	close(r.command.over)
	r.command = nil
}
