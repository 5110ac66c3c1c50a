package machines

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/constraints"
)

func RetryProvisioningCommand(s *cli.Session) *cobra.Command {
	r := &RetryProvisioning{Session: s}
	cmd := &cobra.Command{
		Use:   "retry-provisioning MACHINE...",
		Short: "Retry starting machines that failed to start",
		Long: `Retry starting machines for which the cloud could not start an instance, once you have
fixed the cause. status shows such machines in error, without an instance, and the reason.

If the cloud can never satisfy a machine's constraints, use --constraints to replace all
of them, including those from the model. Units and machines added later are not affected.`,
		Example: `  juju retry-provisioning 3
  juju retry-provisioning 3 4 --constraints "mem=2G cores=2"
  juju retry-provisioning --all`,
		Annotations: cli.SeeAlso("resolved", "status", "add-machine", "destroy-machine"),
		RunE:        func(cmd *cobra.Command, args []string) error { return r.Run(cmd, args) },
	}
	cmd.Flags().BoolVar(&r.all, "all", false, "retry all machines that failed to start")
	r.Flags(cmd)
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type retryProvisioningAPI interface {
	RetryProvisioning(ctx context.Context, constraints *constraints.Value, ids ...string) (
		errs []error, warnings []string, err error)
	RetryAllProvisioning(ctx context.Context, constraints *constraints.Value) (
		errs []error, warnings []string, err error)
}

// RetryProvisioning implements retry-provisioning, and resolved for machines.
type RetryProvisioning struct {
	*cli.Session
	all         bool
	constraints string
}

// RetryConstraints is a flag of both commands.
const RetryConstraints = "constraints"

func (r *RetryProvisioning) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.constraints, RetryConstraints, "",
		"replace the machines' constraints with these, as KEY=VALUE, separated by spaces")
}

func (r *RetryProvisioning) Run(cmd *cobra.Command, args []string) error {
	if r.all && len(args) > 0 {
		return cli.Usagef("--all takes no machines")
	}
	if !r.all {
		if err := cli.CheckMachines(args); err != nil {
			return err
		}
	}
	var replaced *constraints.Value
	if cmd.Flags().Changed(RetryConstraints) {
		asked, err := constraints.Parse(r.constraints)
		if err != nil {
			return cli.Usage(err)
		}
		replaced = &asked
	}
	ctx := cmd.Context()
	return cli.WithModel(ctx, r.Session, func(api retryProvisioningAPI) error { return r.retry(ctx, api, replaced, args) })
}

func (r *RetryProvisioning) retry(ctx context.Context, api retryProvisioningAPI, replaced *constraints.Value,
	ids []string) (err error) {
	var errs []error
	var warnings []string
	if r.all {
		if errs, warnings, err = api.RetryAllProvisioning(ctx, replaced); err == nil && len(errs) == 0 {
			r.Note("No machines are in error.")
		}
	} else {
		errs, warnings, err = api.RetryProvisioning(ctx, replaced, ids...)
	}
	if err != nil {
		return err
	}
	r.Warn(warnings...)
	return cli.OneOrBulk("machines", "retried", errs)
}
