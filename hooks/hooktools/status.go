package hooktools

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"juju/state/entity"
	"juju/state/limits"
)

var statusSetInfo = commandInfo{
	args:    "<maintenance|blocked|waiting|active> [<message>]",
	purpose: "Set the status of the unit's workload.",
	details: `The status is set immediately, and remains even if the hook fails. With --application, the
leader sets the status of the service, which otherwise is the worst of its units'.
`,
	examples: []string{`status-set maintenance "installing packages"`, "status-set active",
		"status-set --application active"},
	shown: true,
	make:  func() command { return &statusSet{} },
}

type statusSet struct {
	ofService bool
	status    entity.StatusWord
	message   string
}

func (t *statusSet) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.ofService, "application", false, "set the status of the service; only its leader can")
}

func (t *statusSet) init(hook Context, args []string) error {
	if len(args) == 0 {
		return errors.New("invalid args, require <status> [message]")
	}
	t.status = entity.StatusWord(args[0])
	if err := entity.CheckWorkload(t.status); err != nil {
		return err
	}
	if len(args) == 1 {
		return nil
	}
	t.message = args[1]
	if err := limits.StatusMessage.CheckText(t.message); err != nil {
		return err
	}
	return checkEmpty(args[2:])
}

func (t *statusSet) run(ctx context.Context, run *toolRun) error {
	if t.ofService {
		return run.hook.SetServiceStatus(ctx, t.status, t.message)
	}
	return run.hook.SetWorkloadStatus(ctx, t.status, t.message)
}

var statusGetInfo = commandInfo{
	purpose: "Print the status of the unit's workload.",
	details: `Print only the status; with --include-data, its message and data too. With
--application, the leader sees the status of the service, and of all its units.
`,
	examples: []string{"status-get", "status-get --include-data --format yaml", "status-get --application"},
	make:     func() command { return &statusGet{} },
}

type statusGet struct {
	out       outputFlags
	data      bool
	ofService bool
}

func (t *statusGet) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.data, "include-data", false, "print the message and the data too")
	flags.BoolVar(&t.ofService, "application", false,
		"print the statuses of the service and of its units; only its leader can")
	t.out.add(flags)
}

func (t *statusGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *statusGet) run(ctx context.Context, run *toolRun) error {
	if t.ofService {
		return t.service(ctx, run)
	}
	status, err := run.hook.WorkloadStatus(ctx)
	if err != nil {
		return err
	}
	if !t.data && t.out.format == "smart" {
		return t.out.write(run, string(status.Status))
	}
	return t.out.write(run, t.shown(status))
}

func (t *statusGet) service(ctx context.Context, run *toolRun) error {
	all, err := run.hook.ServiceStatus(ctx)
	if err != nil {
		return fmt.Errorf("finding application status: %w", err)
	}
	if !t.data && t.out.format == "smart" {
		return t.out.write(run, string(all.Service.Status))
	}
	units := map[string]any{}
	for name, status := range all.Units {
		units[name] = t.shown(status)
	}
	shown := t.shown(all.Service)
	shown["units"] = units
	return t.out.write(run, map[string]any{"application-status": shown})
}

func (t *statusGet) shown(status entity.Status) map[string]any {
	shown := map[string]any{"status": string(status.Status)}
	if t.data {
		shown["message"] = status.Message
		shown["status-data"] = status.Data
		if status.Data == nil {
			shown["status-data"] = map[string]any{}
		}
	}
	return shown
}
