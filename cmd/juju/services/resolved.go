package services

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func ResolvedCommand(s *cli.Session) *cobra.Command {
	r := &resolved{Session: s, machines: machines.RetryProvisioning{Session: s}}
	cmd := &cobra.Command{
		Use:     "resolved UNIT... | MACHINE...",
		Aliases: []string{"resolve"},
		Short:   "Resume units after a failed hook, or retry starting machines",
		Long: `Mark units with a failed hook as resolved. The hook runs again, so first fix the cause;
with --no-retry, the unit skips the hook. If a charm upgrade is pending, the old charm's
hook runs before the upgrade; to upgrade first, use juju upgrade-charm --force-units.
SERVICE/leader is the service's leader.

Units retry failed hooks automatically only if the model's automatically-retry-hooks is
set: see juju help model-config.

For machines, this is the same as retry-provisioning: it retries starting machines for
which the cloud could not start an instance, with --constraints replacing their own.`,
		Example: `  juju resolved web/0
  juju resolved web/0 web/1 --no-retry
  juju resolved --all
  juju resolved 14
  juju resolved 14 --constraints "mem=2G cpu-power=400"`,
		Annotations: cli.SeeAlso("retry-provisioning", "status", "debug-log", "model-config", "destroy-unit"),
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&r.noRetry, "no-retry", false, "skip the hook instead of running it again")
	cmd.Flags().BoolVarP(&r.retry, "retry", "r", false, "run the hook again (the default)")
	cmd.Flags().BoolVar(&r.all, "all", false, "resolve all units with a failed hook")
	r.machines.Flags(cmd)
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type resolvedAPI interface {
	cli.LeaderAPI
	Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
	Resolve(ctx context.Context, retry bool, units ...string) ([]error, error)
	ResolveAll(ctx context.Context, retry bool) ([]error, error)
}

type resolved struct {
	*cli.Session
	noRetry, retry, all bool
	machines            machines.RetryProvisioning // for the arguments that are machines
}

func (r *resolved) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if slices.ContainsFunc(args, entity.IsValidMachine) {
		switch {
		case r.all:
			return cli.Usagef("--all takes no machines")
		case r.noRetry || r.retry:
			return cli.Usagef("--retry and --no-retry are for units")
		case slices.ContainsFunc(args, cli.IsUnitTarget):
			return cli.Usagef("cannot resolve units and machines at once")
		}
		return r.machines.Run(cmd, args)
	}
	if cmd.Flags().Changed(machines.RetryConstraints) {
		return cli.Usagef("--constraints is for machines")
	}
	if r.noRetry && r.retry {
		return cli.Usagef("--retry and --no-retry are mutually exclusive")
	}
	if r.all && len(args) > 0 {
		return cli.Usagef("--all takes no units")
	}
	if !r.all {
		if err := cli.CheckUnits(args); err != nil {
			return err
		}
	}
	return cli.WithModel(ctx, r.Session, func(api resolvedAPI) error { return r.resolve(ctx, api, args) })
}

func (r *resolved) resolve(ctx context.Context, api resolvedAPI, names []string) error {
	names, err := cli.Leaders(ctx, api, names)
	if err != nil {
		return err
	}
	var errs []error
	m := &entity.ModelStatus{}
	if !r.noRetry {
		if m, err = api.Status(ctx); err != nil {
			return err
		}
	}
	if r.all {
		if errs, err = api.ResolveAll(ctx, !r.noRetry); err == nil && len(errs) == 0 {
			r.Note("No units are in error.")
		}
	} else {
		errs, err = api.Resolve(ctx, !r.noRetry, names...)
	}
	if err != nil {
		return err
	}
	r.noteUpgrades(m, names)
	return cli.OneOrBulk("units", "resolved", errs)
}

// noteUpgrades lists the resolved units, by default all, that rerun a hook of their old charm before an upgrade. m is
// the status before they were resolved.
func (r *resolved) noteUpgrades(m *entity.ModelStatus, names []string) {
	for _, t := range wait.Entities(m) {
		if t.Kind == "unit" && t.Upgrading && t.Failed() != nil && (len(names) == 0 || slices.Contains(names, t.Name)) {
			r.Note("Unit %s reruns the failed hook of its old charm, and is upgraded once that succeeds.\n%s", t.Name,
				wait.UpgradeAtOnce(t.Of))
		}
	}
}
