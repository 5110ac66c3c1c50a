package actions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
	"juju/state/entity/shell"
)

// RunCommand is run as in Juju 2, which runs a command, and as in Juju 3, which runs an action.
func RunCommand(s *cli.Session) *cobra.Command {
	r := &runOnUnits{Session: s}
	action := &runAction{Session: s, wait: actionWait, byUnit: true}
	cmd := &cobra.Command{
		Use:   "run --unit UNIT|--application SERVICE|--machine MACHINE|--all COMMAND",
		Short: "Run a command on units or machines, or an action on units",
		Long: `Run a shell command in the context of units: in the charm directory, with the hook tools,
while no hook runs. Its changes to relations and ports are committed if it exits with 0.
SERVICE/leader is the service's leader.

If COMMAND is one argument, it is a script for a shell. Several arguments are the words of
a command: no shell changes them, and NAME=VALUE before its name sets a variable for it.

On a machine, the command runs outside any unit, without hook tools, in the directory
where juju ssh starts, at once with up to 99 others, and while hooks run. With
--parallel=false, it waits for hooks and earlier such commands. --all targets all
machines.

With a single target, juju run prints the command's output and exits with its exit code.
With several targets, or with another format, it prints the results as a list and exits
with 1 if a command failed. A command that runs longer than --timeout is killed, and juju
does not wait for one that does not start within --timeout (at least 10s).

Options for juju come before the command. An option of juju after the start of the command
is rejected, as it is ambiguous. Everything after -- belongs to the command.

This is the command of Juju 2. Without a target, juju run is the command of Juju 3, which
runs an action of the charm: juju run UNIT... ACTION [KEY=VALUE...]. It takes the
arguments of juju run-action, waits up to --wait for the results, and prints them by unit.
In Juju 3, juju exec runs commands.`,
		Example: `  juju run --unit web/0 'relation-ids store'
  juju run --application web --timeout 1m 'config-get title'
  juju run --unit web/leader is-leader
  juju run --machine 0,1 uptime
  juju run --all 'df -h'
  juju run --unit web/0 -- status-set active 'all is well'
  juju run store/0 backup level=9`,
		Annotations: cli.SeeAlso("run-action", "exec", "ssh", "operations", "show-task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.hasTarget() || len(args) == 0 || !cli.IsUnitTarget(args[0]) {
				if flag := cmd.Flags().Lookup("wait"); flag.Changed {
					return cli.Usagef("--wait is for actions: a command is waited for up to --timeout, unless --background is given")
				}
				return r.run(cmd, args)
			}
			// The flags of this form may come anywhere.
			cmd.Flags().SetInterspersed(true)
			if err := cmd.Flags().Parse(args); err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			if err := s.ReadPlanFlags(cmd); err != nil {
				return err
			}
			action.output, action.background = r.output, r.background
			return action.run(cmd.Context(), cmd.Flags().Args())
		},
	}
	f := cmd.Flags()
	r.targetFlags(f)
	r.output.Flags(cmd, "default", "default", "yaml", "json")
	f.DurationVar(&r.timeout, "timeout", commandTime, "kill the command after this time")
	f.Var(&action.wait, "wait", "how long to wait for the results of an action, 0 to wait without limit")
	action.paramFlags(f)
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// commandTime is how long a command runs at most unless the user says otherwise.
const commandTime = 5 * time.Minute

// targetFlags adds the flags that run and exec share.
func (r *runOnUnits) targetFlags(f *pflag.FlagSet) {
	f.SetInterspersed(false) // the rest belongs to the command: see rejectOwnFlags
	f.StringSliceVarP(&r.units, "unit", "u", nil, "run the command on these units, separated by commas")
	f.StringSliceVarP(&r.services, "application", "a", nil, "run the command on all units of these services")
	f.StringSliceVar(&r.older, "service", nil, "older name of --application")
	f.StringSliceVar(&r.machines, "machine", nil, "run the command on these machines, separated by commas")
	f.BoolVar(&r.all, "all", false, "run the command on all machines")
	f.BoolVar(&r.parallel, "parallel", false, "do not wait for hooks on the machine; default on machines")
	f.StringVar(&r.group, "execution-group", "", "wait only for other commands and actions in this group")
	f.BoolVar(&r.background, "background", false, "print task ids and return without waiting")
	f.Bool("utc", false, "accepted for compatibility: times are in UTC anyway")
}

type runOnUnits struct {
	*cli.Session
	units, services, machines []string
	older                     []string // services given by --service
	all, parallel, background bool
	timeout                   time.Duration
	group                     string
	output                    cli.Output
	byUnit                    bool          // results as Juju 3 prints them
	wait                      time.Duration // for the results; 0 for as long as the commands may take
}

func (r *runOnUnits) hasTarget() bool {
	return r.all || len(r.machines)+len(r.services)+len(r.older)+len(r.units) > 0
}

func (r *runOnUnits) check(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Usagef("no commands specified")
	case r.all && len(r.machines) > 0:
		return cli.Usagef("You cannot specify --all and individual machines")
	case r.all && len(r.services) > 0:
		return cli.Usagef("You cannot specify --all and individual applications")
	case r.all && len(r.units) > 0:
		return cli.Usagef("You cannot specify --all and individual units")
	case !r.hasTarget():
		return cli.Usagef("You must specify a target, either through --all, --machine, --service or --unit")
	case r.timeout <= 0:
		return cli.Usagef("--timeout must be positive")
	case r.wait < 0:
		return cli.Usagef("--wait must not be negative")
	}
	for _, unit := range r.units {
		if !cli.IsUnitTarget(unit) {
			return cli.Usage(entity.InvalidUnit(unit))
		}
	}
	for _, machine := range r.machines {
		if !entity.IsValidMachine(machine) {
			return cli.Usage(entity.InvalidMachine(machine))
		}
	}
	if len(r.services) > 0 {
		if err := cli.CheckServices(r.services); err != nil {
			return err
		}
	}
	if r.output.Format == "default" {
		return nil
	}
	return cli.CheckFormat(r.output.Format, "default")
}

// rejectOwnFlags rejects words of a command that are flags of juju run, except --help: Juju itself accepts its flags
// anywhere on the command line.
func rejectOwnFlags(flags *pflag.FlagSet, words []string) error {
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		var flag *pflag.Flag
		if long, ok := strings.CutPrefix(name, "--"); ok {
			flag = flags.Lookup(long)
		} else if len(name) == 2 && name[0] == '-' {
			flag = flags.ShorthandLookup(name[1:])
		}
		if flag != nil && flag.Name != "help" {
			return entity.WithHint(cli.Usagef("%s comes after the command", name),
				"If the option is for juju, put it before the command. If it is for the command, put -- before the command.")
		}
	}
	return nil
}

func (r *runOnUnits) run(cmd *cobra.Command, args []string) error {
	r.services = append(r.services, r.older...)
	if cmd.ArgsLenAtDash() != 0 {
		if err := rejectOwnFlags(cmd.Flags(), args); err != nil {
			return err
		}
	}
	if err := r.check(args); err != nil {
		return err
	}
	ctx := cmd.Context()
	request := client.RunArgs{Command: shell.Script(args), Timeout: r.timeout, Units: r.units, Services: r.services,
		Machines: r.machines, All: r.all}
	if cmd.Flags().Changed("parallel") {
		request.Parallel = &r.parallel
	}
	if r.group != "" {
		request.Group = &r.group
	}
	return cli.WithModel(ctx, r.Session, func(api tasksAPI) error {
		operation, tasks, err := api.RunCommand(ctx, request)
		if err != nil {
			return err
		}
		var errs []error
		for _, task := range tasks {
			errs = append(errs, task.Err)
		}
		if len(tasks) == 0 {
			r.Note("There are no units or machines to run the command on.")
			return nil
		}
		failure := cli.OneOrBulk("commands", "queued", errs)
		if r.byUnit && entity.IsNotFound(failure) {
			// Clients such as jubilant take "task failed" without results for targets that are not there.
			failure = fmt.Errorf("task failed to start: %w", failure)
		}
		if operation == "" {
			return failure
		}
		if err := r.results(ctx, api, operation, tasks); err != nil {
			return err
		}
		return failure
	})
}

// agentGrace is added to the command's timeout, for the agent to kill the command and report. An agent has at least that
// long to start a command.
const agentGrace = 10 * time.Second

// results waits until the command has finished everywhere, and prints the results.
func (r *runOnUnits) results(
	ctx context.Context, api tasksAPI, operation string, tasks []client.Enqueued,
) error {
	if r.background {
		for _, task := range tasks {
			if task.Err == nil {
				fmt.Fprintf(r.Stdout, "%s\n", cli.InLine([]any{"Task " + task.Task.ID + " queued on " + receiverKind(task.Task) + " " + task.Task.Receiver})...)
			}
		}
		return nil
	}
	o, err := r.await(ctx, api, operation)
	late := errors.Is(err, errStillRunning)
	if err != nil && !late {
		return err
	}
	if len(o.Tasks) == 1 && len(tasks) == 1 && r.output.Format == "default" {
		if late {
			return stillRunning(err, o)
		}
		return r.single(o.Tasks[0])
	}
	format := r.output.Format
	if format == "default" {
		format = "yaml"
	}
	var list []map[string]any
	byUnit := map[string]any{}
	for _, task := range o.Tasks {
		if task.Status.IsOver() {
			list = append(list, commandValue(task))
			byUnit[task.Receiver] = taskValue(task)
		}
	}
	var value any = list
	if r.byUnit {
		value = byUnit
	}
	text, err2 := cli.Encode(format, value)
	if err2 == nil {
		err2 = r.Write(r.output, text)
	}
	if late {
		return stillRunning(err, o)
	}
	return cmp.Or(err2, failedTasks(o.Tasks))
}

// await waits until the command has finished everywhere.
func (r *runOnUnits) await(ctx context.Context, api tasksAPI, operation string) (entity.Operation, error) {
	if r.wait > 0 {
		return awaitOperation(ctx, r.Session, api, operation, r.wait, unseen)
	}
	// Commands on one machine run in sequence, so the timeout restarts with each.
	return awaitProgress(ctx, r.Session, api, operation, r.timeout)
}

// single prints the output of the only task, and returns its exit code, or as in Juju 3 that it failed.
func (r *runOnUnits) single(task entity.Task) error {
	results := jsonMap(task.Results)
	stdout, stderr := streamOf(results, "stdout"), streamOf(results, "stderr")
	if r.OutTerminal || r.output.Path != "" {
		if err := r.Write(r.output, stdout); err != nil {
			return err
		}
	} else if _, err := r.Stdout.Raw().Write(stdout); err != nil { // unescaped, for a file or pipe
		return err
	}
	if _, err := r.Stderr.Write(bytes.ToValidUTF8(stderr, []byte("\uFFFD"))); err != nil {
		return err
	}
	if r.byUnit {
		return failedTasks([]entity.Task{task})
	}
	if code := returnCode(task); task.Status == entity.TaskCompleted && code != 0 {
		return cli.ExitError(code)
	}
	if task.Status != entity.TaskCompleted {
		return entity.WithHint(fmt.Errorf("%s", display.Line(cmp.Or(task.Message, string(task.Status)))),
			"To see the task: juju show-task %s", task.ID)
	}
	return nil
}

// streamOf returns what a task wrote to an output stream.
func streamOf(results map[string]any, name string) []byte {
	text, _ := results[name].(string)
	if results[name+"-encoding"] == "base64" {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			return raw
		}
	}
	return []byte(text)
}

// commandValue returns the list entry of one of several commands.
func commandValue(task entity.Task) map[string]any {
	key := "UnitId"
	if receiverKind(task) == "machine" {
		key = "MachineId"
	}
	value := map[string]any{key: task.Receiver, "Stdout": ""}
	results := jsonMap(task.Results)
	for name, key := range map[string]string{"stdout": "Stdout", "stderr": "Stderr",
		"stdout-encoding": "Stdout.encoding", "stderr-encoding": "Stderr.encoding"} {
		if text, ok := results[name].(string); ok {
			value[key] = text
		}
	}
	if code := returnCode(task); code != 0 {
		value["ReturnCode"] = code
	}
	if task.Message != "" {
		value["Message"] = task.Message
	}
	return value
}
