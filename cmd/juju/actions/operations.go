package actions

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func OperationsCommand(s *cli.Session) *cobra.Command {
	var q client.OperationQuery
	var output cli.Output
	utc := false
	var apps []string
	cmd := &cobra.Command{
		Use:     "operations",
		Aliases: []string{"list-operations", "tasks", "list-tasks"},
		Short:   "List actions and commands run on units and machines",
		Long: `List the newest operations, each with its tasks: the actions and commands that users have
run on units and machines. Each filter takes a comma-separated list and selects operations
with at least one matching task. SERVICE/leader is the service's leader.

The model settings max-action-results-age and max-action-results-size determine how long
finished operations are kept.`,
		Example: `  juju operations
  juju operations --applications store --status failed,aborted
  juju operations --actions backup --limit 10 --format yaml`,
		Annotations: cli.SeeAlso("show-operation", "show-task", "run-action", "run"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Services = append(q.Services, apps...)
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			for _, status := range q.Statuses {
				if !slices.Contains(entity.TaskStatuses, entity.TaskStatus(status)) {
					return cli.Usagef("%q is not a valid task status, want one of %v", status, entity.TaskStatuses)
				}
			}
			if q.Limit < 0 {
				return cli.Usagef("--limit must not be negative")
			}
			return cli.WithModel(cmd.Context(), s, func(api tasksAPI) error {
				var err error
				if q.Units, err = cli.Leaders(cmd.Context(), api, q.Units); err != nil {
					return err
				}
				all, more, err := api.Operations(cmd.Context(), q)
				if err != nil {
					return err
				}
				return listOperations(s, all, more, utc, output)
			})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&q.Services, "applications", nil, "list operations on these services")
	f.StringSliceVar(&apps, "apps", nil, "the same as --applications")
	f.StringSliceVar(&q.Units, "units", nil, "list operations on these units")
	f.StringSliceVar(&q.Machines, "machines", nil, "list operations on these machines")
	f.StringSliceVar(&q.Actions, "actions", nil, "list operations with these actions; juju-run for commands")
	f.StringSliceVar(&q.Statuses, "status", nil, "list operations with these statuses, such as pending, running, completed or failed")
	f.IntVar(&q.Limit, "limit", 0, "list at most this many operations; 0 means 50")
	f.BoolVar(&utc, "utc", false, "show times in UTC")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

func listOperations(s *cli.Session, all []entity.Operation, more, utc bool, output cli.Output) error {
	if len(all) == 0 && output.Format == "tabular" {
		s.Note("No matching operations.")
		return nil
	}
	shown := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		if t = t.Local(); utc {
			t = t.UTC()
		}
		return t.Format("2006-01-02T15:04:05")
	}
	rows, value := [][]string{{"Id", "Status", "Started", "Finished", "Task IDs", "Summary"}}, map[string]any{}
	for _, o := range all {
		var ids []string
		for _, t := range o.Tasks {
			ids = append(ids, t.ID)
		}
		started, completed := span(o)
		rows = append(rows, []string{o.ID, string(entity.OperationStatus(o.Tasks)), shown(started), shown(completed),
			strings.Join(ids, ","), o.Summary})
		value[o.ID] = operationValue(o)
	}
	if more {
		s.Note("There are more operations; to list them, raise --limit.")
	}
	return s.WriteList(output, value, rows)
}

// span returns when an operation's first task started, and when its last task finished.
func span(o entity.Operation) (started, completed time.Time) {
	over := entity.OperationStatus(o.Tasks).IsOver()
	for _, t := range o.Tasks {
		if started.IsZero() || !t.Started.IsZero() && t.Started.Before(started) {
			started = t.Started
		}
		if over && t.Completed.After(completed) {
			completed = t.Completed
		}
	}
	return started, completed
}

// operationValue returns what commands print of an operation.
func operationValue(o entity.Operation) map[string]any {
	started, completed := span(o)
	tasks := map[string]any{}
	value := map[string]any{"summary": o.Summary, "status": string(entity.OperationStatus(o.Tasks)),
		"timing": timing(o.Enqueued, started, completed), "tasks": tasks}
	var actions []map[string]any
	for _, t := range o.Tasks {
		task := taskValue(t)
		delete(task, "id")
		delete(task, receiverKind(t))
		task["host"] = t.Receiver
		tasks[t.ID] = task
		params := jsonMap(t.Params)
		if params == nil {
			params = map[string]any{}
		}
		if timeout, ok := params[entity.TimeoutParam].(float64); ok && t.Name == entity.CommandTask {
			params[entity.TimeoutParam] = time.Duration(timeout).String()
		}
		actions = append(actions, map[string]any{"name": t.Name, "parameters": params})
	}
	if slices.ContainsFunc(actions, func(a map[string]any) bool { return !reflect.DeepEqual(a, actions[0]) }) {
		for i, t := range o.Tasks {
			tasks[t.ID].(map[string]any)["name"] = actions[i]["name"]
		}
	} else if len(actions) > 0 {
		value["action"] = actions[0]
	}
	return value
}
