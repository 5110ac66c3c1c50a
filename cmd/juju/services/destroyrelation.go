package services

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func DestroyRelationCommand(s *cli.Session) *cobra.Command {
	var awaits wait.Flag
	var flags wait.DestroyFlags
	cmd := &cobra.Command{
		Use:     "destroy-relation SERVICE[:ENDPOINT] SERVICE[:ENDPOINT] | ID",
		Aliases: []string{"remove-relation"},
		Short:   "Destroy a relation between two services",
		Long: `Destroy the relation between two services, given as for add-relation or by the relation's
ID, which status shows in its yaml and json formats.`,
		Example: `  juju destroy-relation web store
  juju destroy-relation web:store store:db --wait
  juju destroy-relation 4`,
		Annotations: cli.SeeAlso("add-relation", "explain"),
		RunE: func(cmd *cobra.Command, args []string) error {
			destroy, err := destroyRelation(args)
			if err != nil {
				return err
			}
			how, err := flags.Read(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api destroyRelationAPI) error {
				if err := destroy(ctx, api, how); err != nil {
					return err
				}
				if err := wait.End(ctx, s, api, how, wait.RelationName(args)); err != nil {
					return err
				}
				u := wait.Gone("destroy-relation", nil)
				if u.Relation = args; how.Strength == entity.Force && awaits.Bound == 0 && !s.Draws() {
					u.Ended(s)
				}
				return awaits.Run(ctx, s, api, u)
			})
		},
	}
	awaits.Add(cmd, "until it is removed")
	flags.Add(cmd)
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type destroyRelationAPI interface {
	wait.StatusAPI
	wait.EndAPI
	DestroyRelation(ctx context.Context, how entity.Destruction, endpoints ...string) error
	DestroyRelationByID(ctx context.Context, how entity.Destruction, id int) error
}

// destroyRelation returns a function that destroys the relation given by the arguments.
func destroyRelation(args []string) (func(context.Context, destroyRelationAPI, entity.Destruction) error, error) {
	if len(args) == 1 {
		if id, err := strconv.ParseUint(args[0], 10, 31); err == nil {
			return func(ctx context.Context, api destroyRelationAPI, how entity.Destruction) error {
				return api.DestroyRelationByID(ctx, how, int(id))
			}, nil
		}
	}
	if err := endpoints(args); err != nil {
		return nil, err
	}
	return func(ctx context.Context, api destroyRelationAPI, how entity.Destruction) error {
		return api.DestroyRelation(ctx, how, args...)
	}, nil
}
