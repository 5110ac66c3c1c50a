package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func destroyRelationCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "destroy-relation SERVICE[:ENDPOINT] SERVICE[:ENDPOINT] | ID",
		Aliases: []string{"remove-relation"},
		Short:   "Destroy a relation between two services",
		Long: `Destroy the relation between two services, named as when it was added, or by the
number that status shows in its other formats.`,
		Example: `  juju destroy-relation web store
  juju destroy-relation web:store store:db
  juju destroy-relation 4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			destroy, err := destroyRelation(args)
			if err != nil {
				return err
			}
			return s.withModel(cmd.Context(), func(api modelAPI) error { return destroy(cmd.Context(), api) })
		},
	}
	s.modelFlag(cmd)
	return cmd
}

type destroyRelationAPI interface {
	DestroyRelation(ctx context.Context, endpoints ...string) error
	DestroyRelationByID(ctx context.Context, id int) error
}

// destroyRelation reads the arguments and returns what they ask for.
func destroyRelation(args []string) (func(context.Context, destroyRelationAPI) error, error) {
	if len(args) == 1 {
		if id, err := strconv.ParseUint(args[0], 10, 31); err == nil {
			return func(ctx context.Context, api destroyRelationAPI) error { return api.DestroyRelationByID(ctx, int(id)) }, nil
		}
	}
	if err := endpoints(args); err != nil {
		return nil, err
	}
	return func(ctx context.Context, api destroyRelationAPI) error { return api.DestroyRelation(ctx, args...) }, nil
}
