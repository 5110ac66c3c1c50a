package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func RunActionCommand(s *cli.Session) *cobra.Command {
	r := &runAction{Session: s, wait: noWait}
	cmd := &cobra.Command{
		Use:   "run-action UNIT... ACTION [KEY=VALUE...]",
		Short: "Run an action on units",
		Long: `Run an action, as defined by the charm, on one or more units. SERVICE/leader is the
service's leader. Parameters are given as KEY=VALUE: dots in a key denote nested maps, and
values are parsed as YAML unless --string-args is given. --params reads parameters from a
YAML file; those on the command line override it.

A unit runs one action at a time, and no hook while an action runs. A unit in error runs
actions too. The command prints the id of each task and returns. With --wait it waits
until all tasks have finished, or up to TIME with --wait=TIME, prints their results, and
exits with 1 if an action failed.

In Juju 3 this command is called run. Here, as in Juju 2, juju run runs a shell command.`,
		Example: `  juju run-action store/0 backup
  juju run-action store/0 store/1 backup level=9 target.dir=/srv --wait
  juju run-action store/leader backup --params backup.yaml --wait=10m`,
		Annotations: cli.SeeAlso("actions", "show-action", "show-task", "operations", "cancel-task", "run"),
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.Var(&r.wait, "wait", "wait for the results, without limit or up to TIME with --wait=TIME")
	f.Lookup("wait").NoOptDefVal = forEver.String()
	f.StringVar(&r.params, "params", "", "read parameters from a YAML file")
	f.BoolVar(&r.strings, "string-args", false, "treat parameter values as strings")
	r.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

type runAction struct {
	*cli.Session
	wait    waitTime
	params  string
	strings bool
	output  cli.Output
}

var actionName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)

func (r *runAction) parse(args []string) (units []string, action string, pairs []string, err error) {
	for len(args) > 0 && cli.IsUnitTarget(args[0]) {
		units, args = append(units, args[0]), args[1:]
	}
	switch {
	case len(units) == 0 && len(args) == 0:
		return nil, "", nil, cli.Usagef("no unit specified")
	case len(args) == 0:
		return nil, "", nil, cli.Usagef("no action specified")
	case !actionName.MatchString(args[0]), len(units) == 0:
		return nil, "", nil, cli.Usagef("invalid unit or action name %q", args[0])
	}
	return units, args[0], args[1:], nil
}

func (r *runAction) run(ctx context.Context, args []string) error {
	units, action, pairs, err := r.parse(args)
	if err != nil {
		return err
	}
	values, err := r.values(pairs)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(r.output.Format, "yaml"); err != nil {
		return err
	}
	return cli.WithModel(ctx, r.Session, func(api tasksAPI) error {
		operation, tasks, err := api.EnqueueActions(ctx, action, values, units...)
		if err != nil {
			return err
		}
		return r.report(ctx, api, operation, tasks, units)
	})
}

// report prints what was enqueued, or the results if the user waits for them.
func (r *runAction) report(
	ctx context.Context, api tasksAPI, operation string, tasks []client.Enqueued, units []string,
) error {
	var errs []error
	value := map[string]any{}
	for i, task := range tasks {
		errs = append(errs, task.Err)
		if task.Err == nil {
			value["unit-"+strings.ReplaceAll(task.Task.Receiver, "/", "-")] = map[string]any{
				"id": task.Task.ID, "unit": task.Task.Receiver}
		} else if len(tasks) > 1 {
			r.Warn(fmt.Sprintf("%s: %v", units[i], task.Err))
		}
	}
	if len(errs) == 1 && errs[0] != nil {
		return errs[0]
	}
	failure := cli.Bulk("actions", "queued", errs)
	if operation == "" {
		return failure
	}
	if r.wait.waits() {
		o, err := awaitOperation(ctx, r.Session, api, operation, r.wait.duration())
		for _, task := range o.Tasks {
			value["unit-"+strings.ReplaceAll(task.Receiver, "/", "-")] = taskValue(task)
		}
		if failure == nil {
			failure = stillRunning(err, o)
		}
		if failure == nil {
			failure = failedTasks(o.Tasks)
		}
	} else if len(tasks) == 1 {
		value = map[string]any{"Action queued with id": tasks[0].Task.ID}
	}
	text, err := cli.Encode(r.output.Format, value)
	if err == nil {
		err = r.Write(r.output, text)
	}
	if failure != nil {
		return failure
	}
	return err
}

// stillRunning lists the unfinished tasks of an operation if err is errStillRunning.
func stillRunning(err error, o entity.Operation) error {
	if !errors.Is(err, errStillRunning) {
		return err
	}
	var receivers []string
	first := ""
	for _, task := range o.Tasks {
		if !task.Status.IsOver() {
			first = cmp.Or(first, task.ID)
			receivers = append(receivers, receiverKind(task)+" "+task.Receiver)
		}
	}
	return entity.WithHint(fmt.Errorf("timed out waiting for results from: %s", strings.Join(receivers, ", ")),
		"The tasks are still running. To see the results later: juju show-operation %s; to cancel a task: juju cancel-task %s",
		o.ID, first)
}

// maxParamsFile is the maximum size of a --params file.
const maxParamsFile = 5 << 20

// values returns the parameters of the action.
func (r *runAction) values(pairs []string) (map[string]any, error) {
	values := map[string]any{}
	if r.params != "" {
		text, err := cli.ReadFile(r.params, maxParamsFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the parameters: %w", err)
		}
		value, err := charm.ParseValue(text)
		m, ok := value.(map[string]any)
		if err == nil && !ok && value != nil {
			err = errors.New("expected a map")
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the parameters in %s: %w", r.params, err)
		}
		if m != nil {
			values = m
		}
	}
	for _, pair := range pairs {
		path, text, ok := strings.Cut(pair, "=")
		keys := strings.Split(path, ".")
		if !ok {
			return nil, cli.Usagef("argument %q must be of the form key.key.key...=value", pair)
		}
		for _, key := range keys {
			if !actionName.MatchString(key) {
				return nil, cli.Usagef("key %q must start and end with lowercase alphanumeric, "+
					"and contain only lowercase alphanumeric and hyphens", key)
			}
		}
		var value any = text
		if !r.strings {
			var err error
			if value, err = charm.ParseValue([]byte(text)); err != nil {
				return nil, cli.Usagef("cannot read the value of %q: %w", path, err)
			}
		}
		setPath(values, keys, value)
	}
	return values, nil
}

// setPath sets a value in nested maps. It replaces intermediate values that are not maps.
func setPath(m map[string]any, keys []string, value any) {
	for ; len(keys) > 1; keys = keys[1:] {
		inner, ok := m[keys[0]].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[keys[0]] = inner
		}
		m = inner
	}
	m[keys[0]] = value
}
