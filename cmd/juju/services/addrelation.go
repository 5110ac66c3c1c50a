package services

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func AddRelationCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "add-relation SERVICE[:ENDPOINT] SERVICE[:ENDPOINT]",
		Aliases: []string{"integrate", "relate"},
		Short:   "Relate two services",
		Long: `Relate two services. They need matching endpoints: one provides the interface that the
other requires. Specify the endpoints only if more than one pair matches.`,
		Example: `  juju add-relation web store
  juju add-relation web:store store:db`,
		Annotations: cli.SeeAlso("destroy-relation", "deploy", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := endpoints(args); err != nil {
				return err
			}
			return cli.WithModel(cmd.Context(), s, func(api addRelationAPI) error { return addRelation(cmd.Context(), s, api, args) })
		},
	}
	s.ModelFlag(cmd)
	return cmd
}

// endpoints checks that the arguments are two valid endpoints.
func endpoints(args []string) error {
	if len(args) != 2 {
		return cli.Usagef("a relation must involve two services")
	}
	for _, arg := range args {
		service, endpoint, named := strings.Cut(arg, ":")
		if named && (endpoint == "" || strings.Contains(endpoint, ":")) {
			return cli.Usage(entity.InvalidEndpoint(arg))
		}
		if err := cli.CheckServices([]string{service}); err != nil {
			return err
		}
	}
	return nil
}

func addRelation(ctx context.Context, s *cli.Session, api addRelationAPI, ends []string) error {
	chosen, err := api.AddRelation(ctx, ends...)
	if err != nil {
		return err
	}
	var texts []string
	for _, service := range slices.Sorted(maps.Keys(chosen)) {
		texts = append(texts, service+":"+chosen[service])
	}
	s.Detail("Related %s.", strings.Join(texts, " and "))
	return nil
}

type addRelationAPI interface {
	AddRelation(ctx context.Context, endpoints ...string) (map[string]string, error)
}
