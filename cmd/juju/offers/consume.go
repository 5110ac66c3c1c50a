package offers

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

type consumeAPI interface {
	cli.ConsumeAPI
	RemoveRemotes(ctx context.Context, how entity.Destruction, names ...string) ([]error, error)
	SuspendRelations(ctx context.Context, suspended bool, message string, ids ...int) ([]error, error)
}

func ConsumeCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consume URL [NAME]",
		Short: "Use an offer of another model",
		Long: `Use an offer of another model. It becomes a remote service of this model, with the name
NAME or that of the offer, to which you can relate services. add-relation does the same if
given the URL of an offer.

The URL of an offer of another controller begins with that controller's name. This
controller must be able to reach the other one.`,
		Example: `  juju consume bob/shop.mysql
  juju consume other:bob/shop.mysql
  juju consume bob/shop.mysql db`,
		Annotations: cli.SeeAlso("find-offers", "add-relation", "remove-saas", "offer"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no remote application specified")
			}
			if len(args) > 2 {
				return cli.Usagef("unrecognized args: %q", args[2:])
			}
			name := ""
			if len(args) == 2 {
				if name = args[1]; !entity.IsValidService(name) {
					return cli.Usage(entity.InvalidService(name))
				}
			}
			_, t, err := s.ReadModelTarget()
			if err != nil {
				return err
			}
			o, err := s.Offer(t, args[0])
			if err != nil {
				return err
			}
			name = cmp.Or(name, o.Offer)
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api consumeAPI) error {
				if err := s.Consume(ctx, api, o, name); err != nil {
					return err
				}
				s.Note("Added %s as %s", o, name)
				return nil
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func RemoveSaasCommand(s *cli.Session) *cobra.Command {
	var flags wait.DestroyFlags
	cmd := &cobra.Command{
		Use:         "remove-saas NAME...",
		Aliases:     []string{"remove-consumed-application"},
		Short:       "Stop using offers of other models",
		Long:        "Remove remote services from a model, with their relations. The offers stay as they are.",
		Example:     "  juju remove-saas db",
		Annotations: cli.SeeAlso("consume", "status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args); err != nil {
				return err
			}
			how, err := flags.Read(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api consumeAPI) error {
				errs, err := api.RemoveRemotes(ctx, how, args...)
				if err != nil {
					return err
				}
				return cli.OneOrBulk("remote services", "removed", errs)
			})
		},
	}
	flags.Add(cmd)
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func SuspendRelationCommand(s *cli.Session) *cobra.Command {
	var message string
	cmd := suspendCommand(s, true, &message, cobra.Command{
		Use:   "suspend-relation ID...",
		Short: "Suspend relations with offers of a model",
		Long: `Suspend relations between services of other models and offers of this one, given by the
IDs that juju offers shows. The units on both sides leave the relation and run its
departed and broken hooks, but the relation is kept.`,
		Example:     `  juju suspend-relation 4 --message "maintenance until noon"`,
		Annotations: cli.SeeAlso("resume-relation", "offers"),
	})
	cmd.Flags().StringVar(&message, "message", "", "the `reason`, which juju status shows")
	return cmd
}

func ResumeRelationCommand(s *cli.Session) *cobra.Command {
	return suspendCommand(s, false, new(string), cobra.Command{
		Use:         "resume-relation ID...",
		Short:       "Resume suspended relations",
		Long:        "Resume suspended relations: their units join each other again, on both sides.",
		Example:     "  juju resume-relation 4",
		Annotations: cli.SeeAlso("suspend-relation", "offers"),
	})
}

func suspendCommand(s *cli.Session, suspended bool, message *string, cmd cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var ids []int
		for _, arg := range args {
			id, err := strconv.ParseUint(arg, 10, 31)
			if err != nil {
				return cli.Usagef("relation ID %q not valid", arg)
			}
			ids = append(ids, int(id))
		}
		if len(ids) == 0 {
			return cli.Usagef("no relation ids specified")
		}
		ctx := cmd.Context()
		return cli.WithModel(ctx, s, func(api consumeAPI) error {
			errs, err := api.SuspendRelations(ctx, suspended, *message, ids...)
			if err != nil {
				return err
			}
			return cli.OneOrBulk("relations", map[bool]string{true: "suspended", false: "resumed"}[suspended], errs)
		})
	}
	s.ModelFlag(&cmd)
	s.PlanFlags(&cmd)
	return &cmd
}
