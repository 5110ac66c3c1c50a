package storage

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func AttachStorageCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach-storage UNIT STORAGE...",
		Short: "Attach storage to a unit",
		Long: `Attach existing, unattached storage, with its data, to a unit. The unit's charm must have
a store of that name that allows another instance. SERVICE/leader is the service's leader.`,
		Example:     `  juju attach-storage store/1 data/0`,
		Annotations: cli.SeeAlso("storage", "detach-storage", "add-unit", "deploy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("attach-storage requires a unit ID and at least one storage ID")
			}
			if err := cli.CheckUnits(args[:1]); err != nil {
				return err
			}
			ids, err := cli.ParseStorageIDs(args[1:])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api storageAPI) error {
				unit, err := cli.Leading(ctx, api, args[0])
				if err != nil {
					return err
				}
				errs, err := api.AttachStorage(ctx, unit, ids...)
				if err != nil {
					return err
				}
				return eachStorage(s, ids, errs, "attaching %s to "+unit, "failed to attach %s to "+unit)
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
