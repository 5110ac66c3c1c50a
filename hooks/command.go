package hooks

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"juju/hooks/tool"
	"juju/state/entity"
)

// A Command is a command that a user of the machine runs with juju-run.
type Command struct {
	tool.CommandRequest
	Streams [3]*os.File     // standard input, output and error
	Context context.Context // ends when the user no longer waits

	// Code is the command's exit code, unless Err says why it has none, or that what it has
	// changed was refused. They are set before End is called.
	Code int
	Err  error
	over chan struct{}
}

// End sends the result to the user.
func (c *Command) End() { close(c.over) }

// errAgentStopped is the user's error if the agent stops before the command completes.
var errAgentStopped = errors.New("the agent has stopped")

// ServeCommands accepts commands from users of the machine, for the agent whose Runner has this RunDir,
// until end is called. It sends them to the channel one after another; End must be called on each.
func ServeCommands(runDir string, log func(error)) (commands <-chan *Command, end func()) {
	next, done := make(chan *Command), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		err := tool.ServeCommands(ctx, runDir, entity.Hint,
			func(ctx context.Context, req tool.CommandRequest, streams [3]*os.File) (int, error) {
				c := &Command{CommandRequest: req, Streams: streams, Context: ctx, over: make(chan struct{})}
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
			log(err)
		}
	}()
	return next, func() {
		cancel()
		<-done
	}
}

// Failed sets the command's outcome from Run's error.
func (c *Command) Failed(failed *FailedError) {
	switch {
	case failed == nil:
	case failed.ExitCode > 0 && failed.Message == "":
		c.Code = failed.ExitCode
	default:
		c.Err = errors.New(cmp.Or(failed.Message, failed.Reason))
	}
}

// Task returns the command as a task. It has no id, because the controller does not know it.
func (c *Command) Task() *Task {
	return &Task{Name: entity.CommandTask, Command: c.Command, Shell: c.Shell, Streams: c.Streams[:]}
}

// Info returns the relation and remote unit of a command. The unit defaults to the relation's only one.
func (c *Command) Info(relations map[int]Relation) (Info, error) {
	if c.Relation == "" {
		return Info{}, nil
	}
	endpoint, number, named := strings.Cut(c.Relation, ":")
	if !named {
		number = c.Relation
	}
	id, err := strconv.Atoi(number)
	relation, ok := relations[id]
	if err != nil || named && ok && relation.Name != endpoint {
		return Info{}, entity.Errorf(entity.Invalid, "invalid relation id %q", c.Relation)
	} else if !ok {
		return Info{}, entity.Errorf(entity.NotFound, "relation %d not found", id)
	}
	info := Info{Kind: RelationChanged, RelationID: id, RemoteUnit: c.RemoteUnit}
	if app := c.RemoteApplication; app != "" && app != relation.Remote {
		return Info{}, entity.Errorf(entity.NotFound, "service %q is not in relation %d", app, id)
	}
	switch {
	case c.ForceRemoteUnit && (c.RemoteUnit == "" || entity.IsValidUnit(c.RemoteUnit)):
	case c.RemoteUnit != "" && !slices.Contains(relation.Members, c.RemoteUnit):
		return Info{}, entity.WithHint(entity.Errorf(entity.NotFound, "unit %q is not in relation %d", c.RemoteUnit, id),
			"%s", forceIt)
	case c.RemoteUnit != "" || c.RemoteApplication != "":
	case len(relation.Members) == 0:
		return Info{}, entity.WithHint(entity.Errorf(entity.NotFound, "no remote unit found for relation id: %d", id),
			"%s", forceIt)
	case len(relation.Members) > 1:
		members := slices.SortedFunc(slices.Values(relation.Members), entity.CompareNatural)
		return Info{}, entity.Errorf(entity.Invalid, "ambiguous remote unit; possibilities are %v", members)
	default:
		info.RemoteUnit = relation.Members[0]
	}
	if info.RemoteUnit == "" {
		info.RemoteApplication = relation.Remote
	}
	return info, nil
}

const forceIt = "to run the command all the same: --force-remote-unit"
