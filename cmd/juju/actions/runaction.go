package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/apiserver/client"
	"juju/apiserver/display"
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

In Juju 3 this command is called run, and waits; juju run UNIT... ACTION works here too.`,
		Example: `  juju run-action store/0 backup
  juju run-action store/0 store/1 backup level=9 target.dir=/srv --wait
  juju run-action store/leader backup --params backup.yaml --wait=10m`,
		Annotations: cli.SeeAlso("actions", "show-action", "show-task", "operations", "cancel-task", "run"),
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.Var(&r.wait, "wait", "wait for the results, without limit or up to TIME with --wait=TIME")
	f.Lookup("wait").NoOptDefVal = forEver.String()
	r.paramFlags(f)
	r.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// paramFlags adds the flags for the action's parameters.
func (r *runAction) paramFlags(f *pflag.FlagSet) {
	f.StringVar(&r.params, "params", "", "read an action's parameters from a YAML file")
	f.BoolVar(&r.strings, "string-args", false, "treat values of an action's parameters as strings")
}

// actionWait is how long juju run waits for an action unless the user says otherwise.
const actionWait = waitTime(time.Minute)

type runAction struct {
	*cli.Session
	wait       waitTime
	background bool
	params     string
	strings    bool
	output     cli.Output
	byUnit     bool // results as Juju 3 prints them
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
	if r.background {
		r.wait = noWait
	}
	if err := cli.CheckFormat(r.output.Format, "yaml", "default"); err != nil {
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
			value[r.key(task.Task)] = map[string]any{"id": task.Task.ID, "unit": task.Task.Receiver}
		} else if len(tasks) > 1 {
			r.Warn(fmt.Sprintf("%s: %v", units[i], task.Err))
		}
	}
	if len(errs) == 1 && errs[0] != nil {
		if r.byUnit && entity.IsNotFound(errs[0]) {
			return entity.WithHint(fmt.Errorf("%w (not found)", errs[0]), "%s", entity.Hint(errs[0])) // as jubilant expects it
		}
		return errs[0]
	}
	failure := cli.Bulk("actions", "queued", errs)
	if operation == "" {
		return failure
	}
	if r.wait.waits() {
		seen := unseen
		if r.byUnit {
			r.sayQueued(operation, tasks)
			seen = followLogs(r.Session)
		}
		o, err := awaitOperation(ctx, r.Session, api, operation, r.wait.duration(), seen)
		for _, task := range o.Tasks {
			value[r.key(task)] = taskValue(task)
		}
		if failure == nil {
			failure = stillRunning(err, o)
		}
		if failure == nil {
			failure = failedTasks(o.Tasks)
		}
		if err == nil && len(o.Tasks) == 1 && r.output.Format == "default" {
			return cmp.Or(r.plain(o.Tasks[0]), failure)
		}
	} else if len(tasks) == 1 && !r.byUnit {
		value = map[string]any{"Action queued with id": tasks[0].Task.ID}
	}
	text, err := cli.Encode(strings.Replace(r.output.Format, "default", "yaml", 1), value)
	if err == nil {
		err = r.Write(r.output, text)
	}
	if failure != nil {
		return failure
	}
	return err
}

// sayQueued names the operation and its tasks, before they are waited for.
func (r *runAction) sayQueued(operation string, tasks []client.Enqueued) {
	r.Note("Running operation %s with %s", operation, entity.Counted(len(tasks), "task"))
	for _, t := range tasks {
		if t.Err == nil {
			r.Note("  - task %s on %s", t.Task.ID, entity.UnitTag(t.Task.Receiver).String())
		}
	}
}

// plain prints the results of the only task.
func (r *runAction) plain(task entity.Task) error {
	results := jsonMap(task.Results)
	delete(results, "return-code")
	var text []byte
	if len(results) > 0 {
		var err error
		if text, err = cli.Encode("yaml", results); err != nil {
			return err
		}
	}
	if task.Status == entity.TaskFailed {
		text = fmt.Appendf(text, "Action id %s failed: %s\n", task.ID, display.Line(task.Message))
	}
	return r.Write(r.output, text)
}

// key returns under which name a task's results are printed.
func (r *runAction) key(task entity.Task) string {
	if r.byUnit {
		return task.Receiver
	}
	return "unit-" + strings.ReplaceAll(task.Receiver, "/", "-")
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
		err := r.CheckFile(r.params)
		if err != nil {
			return nil, err
		}
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
