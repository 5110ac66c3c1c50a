package hooks

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"juju/hooks/tool"
	"juju/state/entity"
)

// A Command is what a user of the machine runs with juju-run.
type Command struct {
	tool.CommandRequest
	Streams [3]*os.File // standard input, output and error
}

// ServeCommands takes the commands of users of the machine for the unit whose Runner has this
// RunDir, until ctx is done. It calls run for each, in a goroutine of its own; its context ends when
// the user no longer waits. run returns the command's exit code, or an error that says why there is
// none.
func ServeCommands(ctx context.Context, runDir string, run func(context.Context, Command) (code int, err error)) error {
	return tool.ServeCommands(ctx, runDir, entity.Hint,
		func(ctx context.Context, req tool.CommandRequest, streams [3]*os.File) (int, error) {
			return run(ctx, Command{req, streams})
		})
}

// Task returns the command as a task. The controller knows nothing of it, so it has no id.
func (c Command) Task() *Task {
	return &Task{Name: entity.CommandTask, Command: c.Command, Shell: c.Shell, Streams: c.Streams[:]}
}

// Info returns what a command is about: the relation that the user has named, and the unit there.
// The user need not name the only unit of a relation.
func (c Command) Info(relations map[int]Relation) (Info, error) {
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
		return Info{}, entity.Errorf(entity.Invalid, "ambiguous remote unit; possibilities are %v", relation.Members)
	default:
		info.RemoteUnit = relation.Members[0]
	}
	if info.RemoteUnit == "" {
		info.RemoteApplication = relation.Remote
	}
	return info, nil
}

const forceIt = "to run the command all the same: --force-remote-unit"
