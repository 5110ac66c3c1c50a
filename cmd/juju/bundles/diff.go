package bundles

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/bundlechanges"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
)

func DiffCommand(s *cli.Session) *cobra.Command {
	d := &diffBundle{Session: s}
	cmd := &cobra.Command{
		Use:   "diff-bundle BUNDLE",
		Short: "Compare a bundle with a model",
		Long: `Show the differences between a bundle and a model in services, machines and relations, as
YAML; {} if there are none. What the bundle does not specify, such as a series, is not
compared, and annotations are compared only with --annotations.

BUNDLE and the flags are the same as for deploy. A machine of the bundle is matched with
the one that its units are on, or else with the model's machine of the same number.`,
		Example: `  juju diff-bundle ./shop/bundle.yaml
  juju diff-bundle ./shop --overlay ./production.yaml --annotations
  juju diff-bundle ./shop --map-machines 3=7`,
		Annotations: cli.SeeAlso("deploy", "export-bundle", "status"),
		Args:        cli.AtMost(1),
		RunE:        func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&d.annotations, "annotations", false, "compare annotations too")
	cmd.Flags().StringVar(&d.repo, "repository", "", "the local repository of charms given by URL")
	d.AddFlags(cmd.Flags())
	d.output.Flags(cmd, "")
	s.ModelFlag(cmd)
	return cmd
}

type diffBundle struct {
	*cli.Session
	bundleFlags
	annotations bool
	repo        string
	output      cli.Output
}

func (d *diffBundle) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return cli.Usagef("no bundle specified")
	}
	b, err := readBundle(args[0], d.overlays, charms.RepositoryOf(d.Session, d.repo))
	if err != nil {
		return err
	}
	defer b.close()
	d.Warn(b.Warnings...)
	return cli.WithModel(ctx, d.Session, func(api readBundleAPI) error { return d.diff(ctx, api, b) })
}

func (d *diffBundle) diff(ctx context.Context, api readBundleAPI, b *bundleSource) error {
	if err := b.verify(ctx, api); err != nil {
		return err
	}
	d.Warn(b.taken...)
	model, err := readModel(ctx, api, b.has, b.hasResources)
	if err != nil {
		return err
	}
	wanted, err := b.wanted(ctx, api, model)
	if err != nil {
		return err
	}
	if wanted.Machines, err = b.machineMap(d.mapMachines, model); err != nil {
		return err
	}
	text, err := cli.Encode("yaml", bundlechanges.Diff(wanted, model, d.annotations))
	if err != nil {
		return err
	}
	return d.Write(d.output, text)
}
