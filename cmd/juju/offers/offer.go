package offers

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func OfferCommand(s *cli.Session) *cobra.Command {
	var description string
	cmd := &cobra.Command{
		Use:   "offer SERVICE:ENDPOINT[,ENDPOINT...] [OFFER]",
		Short: "Offer a service to other models",
		Long: `Offer endpoints of a service to other models of the controller. Users with consume access
to the offer, and the administrators of the model, can then relate services of their
models to it. The offer has the name OFFER or, by default, that of the service. If it is
there already, with the same endpoints, only its description can change.`,
		Example: `  juju offer mysql:server
  juju offer mysql:server,admin hosted`,
		Annotations: cli.SeeAlso("consume", "offers", "grant", "remove-offer"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("an offer must at least specify application endpoint")
			}
			if len(args) > 2 {
				return cli.Usagef("unrecognized args: %q", args[2:])
			}
			service, ends, named := strings.Cut(args[0], ":")
			if model, name, qualified := strings.Cut(service, "."); qualified {
				s.Model, service = model, name
			}
			offer := entity.NewOffer{Name: service, Service: service, Endpoints: strings.Split(ends, ","), Description: description}
			if !named || ends == "" {
				return cli.Usage(entity.WithHint(entity.Errorf(entity.Invalid, "endpoints must conform to format \"<application-name>:<endpoint-name>[,...]\""),
					"For example: juju offer mysql:server"))
			}
			if len(args) == 2 {
				offer.Name = args[1]
			}
			if err := cli.CheckServices([]string{service, offer.Name}); err != nil {
				return err
			}
			_, t, err := s.ReadModelTarget()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api addOfferAPI) error {
				if err := api.AddOffer(ctx, api.Model(), offer); err != nil {
					return err
				}
				s.Note("Application %q endpoints [%s] available at %q", service, strings.Join(offer.Endpoints, ", "), t.Model+"."+offer.Name)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&description, "description", "", "a `text` that describes the offer to its users")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

type addOfferAPI interface {
	Model() string
	AddOffer(ctx context.Context, model string, o entity.NewOffer) error
}

type removeOffersAPI interface {
	RemoveOffers(ctx context.Context, how entity.Destruction, urls ...string) ([]error, error)
}

func RemoveOfferCommand(s *cli.Session) *cobra.Command {
	var flags wait.DestroyFlags
	cmd := &cobra.Command{
		Use:   "remove-offer OFFER|URL...",
		Short: "Remove offers",
		Long: `Remove offers. An offer that a relation uses cannot be removed without --force, which
removes the relations too.`,
		Example: `  juju remove-offer mysql
  juju remove-offer bob/shop.mysql --force
  juju remove-offer other:bob/shop.mysql`,
		Annotations: cli.SeeAlso("offers", "offer", "suspend-relation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no offers specified")
			}
			how, err := flags.Read(cmd)
			if err != nil {
				return err
			}
			_, t, err := s.ReadModelTarget()
			if err != nil {
				return err
			}
			for i, arg := range args {
				args[i] = fullName(t, arg)
			}
			offers, err := s.Offers(t, args)
			if err != nil {
				return err
			}
			urls, models := make([]string, len(args)), map[string]bool{}
			for i, o := range offers {
				urls[i], models[o.User+"/"+o.Model] = o.OfferURL.String(), true
			}
			ctx := cmd.Context()
			remove := func(api removeOffersAPI) error {
				errs, err := api.RemoveOffers(ctx, how, urls...)
				if err != nil {
					return err
				}
				return cli.OneOrBulk("offers", "removed", errs)
			}
			names := slices.Sorted(maps.Keys(models))
			switch {
			case !s.PlansUsed(): // who may remove an offer may have no access to its model
				return cli.AtOffer(ctx, s, offers[0], func(_ cli.Target, api removeOffersAPI) error { return remove(api) })
			case len(names) > 1:
				return cli.Usagef("--dry-run and --if-unchanged are for offers of one model, not of %s", strings.Join(names, ", "))
			}
			return cli.InModel(ctx, s, offers[0].Target.Name, names[0], remove)
		},
	}
	flags.AddForce(cmd, "remove the relations that use it too, after --timeout without their agents")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
