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
	var via []string
	cmd := &cobra.Command{
		Use:     "add-relation SERVICE[:ENDPOINT] SERVICE[:ENDPOINT]|URL",
		Aliases: []string{"integrate", "relate"},
		Short:   "Relate two services",
		Long: `Relate two services. They need matching endpoints: one provides the interface that the
other requires. Specify the endpoints only if more than one pair matches.

The second one can be the URL of an offer of another model, which is then consumed under
the offer's name, as by juju consume.

The model that offers the service opens its units' ports to the addresses of your units.
If your units connect from other addresses, as through a gateway, give these subnets with
--via or, for all relations of the model, with juju model-config egress-subnets.`,
		Example: `  juju add-relation web store
  juju add-relation web:store store:db
  juju add-relation web bob/shop.mysql
  juju add-relation web bob/shop.mysql --via 192.0.2.0/24`,
		Annotations: cli.SeeAlso("destroy-relation", "deploy", "consume", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			offer, args, err := offerIn(s, args)
			if err == nil {
				err = endpoints(args)
			}
			if err != nil {
				return err
			}
			if err := entity.CheckEgress(via); err != nil {
				return cli.Usage(err)
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api addRelationAPI) error {
				relate := func() error { return addRelation(ctx, s, api, via, args) }
				if offer == nil {
					return relate()
				}
				return s.Together(ctx, api, func() error { return s.Consume(ctx, api, *offer, "") }, relate)
			})
		},
	}
	cmd.Flags().StringSliceVar(&via, "via", nil, "the subnets that connections to an offer of another model come from: CIDR,...")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// offerIn returns the offer among the arguments, nil if there is none, and the arguments with the offer's name instead.
func offerIn(s *cli.Session, args []string) (found *cli.OfferTarget, ends []string, err error) {
	ends = slices.Clone(args)
	for i, arg := range args {
		if !entity.IsOfferURL(arg) {
			continue
		}
		at := strings.LastIndex(arg, ".") + 1
		name, endpoint, named := strings.Cut(arg[at:], ":")
		_, t, err := s.ReadModelTarget()
		if err != nil {
			return nil, nil, err
		}
		o, err := s.Offer(t, arg[:at]+name)
		if err != nil {
			return nil, nil, err
		}
		if found != nil {
			return nil, nil, cli.Usagef("only one end of a relation can be an offer of another model")
		}
		if found, ends[i] = &o, o.OfferURL.Offer; named {
			ends[i] += ":" + endpoint
		}
	}
	return found, ends, nil
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

func addRelation(ctx context.Context, s *cli.Session, api addRelationAPI, via, ends []string) error {
	chosen, err := api.AddRelationVia(ctx, via, ends...)
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
	cli.ConsumeAPI
	AddRelationVia(ctx context.Context, via []string, endpoints ...string) (map[string]string, error)
}
