package main

import (
	"context"

	"github.com/spf13/cobra"
)

func retryProvisioningCommand(s *session) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "retry-provisioning MACHINE...",
		Short: "Retry machines that failed to start",
		Long: `Try again to start machines for which the cloud could not start an instance, once you
have fixed the cause. status shows these machines in error, without an instance, and
why.`,
		Example: `  juju retry-provisioning 3
  juju retry-provisioning --all`,
		Annotations: seeAlso("status", "add-machine", "destroy-machine"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usagef("--all takes no machines")
			}
			if !all {
				if err := machines(args); err != nil {
					return err
				}
			}
			ctx := cmd.Context()
			return s.withModel(ctx, func(api modelAPI) error { return retryProvisioning(ctx, s, api, all, args) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "retry every machine that failed to start")
	s.modelFlag(cmd)
	return cmd
}

type retryProvisioningAPI interface {
	RetryProvisioning(ctx context.Context, ids ...string) ([]error, error)
	RetryAllProvisioning(ctx context.Context) ([]error, error)
}

func retryProvisioning(ctx context.Context, s *session, api retryProvisioningAPI, all bool, ids []string) error {
	var errs []error
	var err error
	if all {
		if errs, err = api.RetryAllProvisioning(ctx); err == nil && len(errs) == 0 {
			s.note("No machine is in error.")
		}
	} else {
		errs, err = api.RetryProvisioning(ctx, ids...)
	}
	if err != nil {
		return err
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return bulk("machines", "retried", errs)
}
