package main

import (
	"context"

	"github.com/spf13/cobra"
)

func resolvedCommand(s *session) *cobra.Command {
	r := &resolved{session: s}
	cmd := &cobra.Command{
		Use:     "resolved UNIT...",
		Aliases: []string{"resolve"},
		Short:   "Let units continue after a failed hook",
		Long: `Mark units whose hook has failed as resolved. The hook runs again, so first fix what
made it fail; with --no-retry, the unit skips the hook. Units retry failed hooks by
themselves only if the model has automatically-retry-hooks on: see juju help
model-config.`,
		Example: `  juju resolved web/0
  juju resolved web/0 web/1 --no-retry
  juju resolved --all`,
		Annotations: seeAlso("status", "debug-log", "model-config", "destroy-unit"),
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&r.noRetry, "no-retry", false, "skip the hook instead of running it again")
	cmd.Flags().BoolVarP(&r.retry, "retry", "r", false, "run the hook again (the default)")
	cmd.Flags().BoolVar(&r.all, "all", false, "resolve every unit whose hook has failed")
	s.modelFlag(cmd)
	return cmd
}

type resolvedAPI interface {
	Resolve(ctx context.Context, retry bool, units ...string) ([]error, error)
	ResolveAll(ctx context.Context, retry bool) ([]error, error)
}

type resolved struct {
	*session
	noRetry, retry, all bool
}

func (r *resolved) run(ctx context.Context, args []string) error {
	if r.noRetry && r.retry {
		return usagef("--retry and --no-retry are mutually exclusive")
	}
	if r.all && len(args) > 0 {
		return usagef("--all takes no units")
	}
	if !r.all {
		if err := units(args); err != nil {
			return err
		}
	}
	return r.withModel(ctx, func(api modelAPI) error { return r.resolve(ctx, api, args) })
}

func (r *resolved) resolve(ctx context.Context, api resolvedAPI, names []string) error {
	var errs []error
	var err error
	if r.all {
		if errs, err = api.ResolveAll(ctx, !r.noRetry); err == nil && len(errs) == 0 {
			r.note("No unit is in error.")
		}
	} else {
		errs, err = api.Resolve(ctx, !r.noRetry, names...)
	}
	if err != nil {
		return err
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return bulk("units", "resolved", errs)
}
