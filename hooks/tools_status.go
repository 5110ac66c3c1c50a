package hooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

// errNotLeader is the error of tools that only the leader of a service can use.
var errNotLeader = errors.New("this unit is not the leader")

var statusSetInfo = commandInfo{
	args:    "<maintenance|blocked|waiting|active> [<message>]",
	purpose: "Set the status of the unit's workload.",
	details: `The status is set at once, and stays even if the hook fails. With --application, the
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

func (t *statusSet) init(hook *Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("invalid args, require <status> [message]")
	}
	t.status = entity.StatusWord(args[0])
	if err := entity.CheckWorkload(t.status); err != nil {
		return err
	}
	if len(args) == 1 {
		return nil
	}
	t.message = args[1]
	if err := entity.LimitStatusMessage.CheckText(t.message); err != nil {
		return err
	}
	return checkEmpty(args[2:])
}

func (t *statusSet) run(ctx context.Context, run *toolRun) error {
	if t.ofService {
		return run.hook.setServiceStatus(ctx, t.status, t.message)
	}
	return run.hook.setWorkloadStatus(ctx, t.status, t.message)
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

func (t *statusGet) init(hook *Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *statusGet) run(ctx context.Context, run *toolRun) error {
	if t.ofService {
		return t.service(ctx, run)
	}
	status, err := run.hook.workloadStatus(ctx)
	if err != nil {
		return err
	}
	if !t.data && t.out.format == "smart" {
		return t.out.write(run, string(status.Status))
	}
	return t.out.write(run, t.shown(status))
}

func (t *statusGet) service(ctx context.Context, run *toolRun) error {
	all, err := run.hook.serviceStatus(ctx)
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

func (c *Context) workloadStatus(ctx context.Context) (entity.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		status, err := c.backend.UnitStatus(ctx, c.unit)
		if err != nil {
			return entity.Status{}, fmt.Errorf("cannot read the status: %w", err)
		}
		c.status = &status
	}
	return *c.status, nil
}

// setWorkloadStatus sets the status at once; it stays even if the hook fails.
func (c *Context) setWorkloadStatus(ctx context.Context, word entity.StatusWord, message string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := entity.Status{Status: word, Message: message}
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	if err := c.backend.SetUnitStatus(ctx, c.unit, status); err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	c.status = &status
	return nil
}

// serviceStatus returns the status of the service, and those of its units.
func (c *Context) serviceStatus(ctx context.Context) (entity.StatusesOfService, error) {
	epoch, err := c.leads(ctx)
	if err != nil {
		return entity.StatusesOfService{}, err
	}
	if epoch == 0 {
		return entity.StatusesOfService{}, errNotLeader
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ofService == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		all, err := c.backend.ServiceStatus(ctx, c.unit)
		if err != nil {
			return all, err
		}
		c.ofService = &all
	}
	return *c.ofService, nil
}

// setServiceStatus sets the status of the service at once; it stays even if the hook fails.
func (c *Context) setServiceStatus(ctx context.Context, word entity.StatusWord, message string) error {
	epoch, err := c.leads(ctx)
	if err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	if epoch == 0 {
		return errNotLeader
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ofService = nil
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	err = c.backend.SetServiceStatus(ctx, c.unit, epoch, entity.Status{Status: word, Message: message})
	if err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	return nil
}
