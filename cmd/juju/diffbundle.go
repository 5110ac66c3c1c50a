package main

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/bundlechanges"
)

func diffBundleCommand(s *session) *cobra.Command {
	d := &diffBundle{session: s}
	cmd := &cobra.Command{
		Use:   "diff-bundle BUNDLE",
		Short: "Compare a bundle with a model",
		Long: `Show in which services, machines and relations a bundle and a model differ, as YAML; {}
if they don't. What the bundle leaves open, such as a series, is no difference, and
annotations are one only with --annotations.

BUNDLE and the flags are as for deploy. A machine of the bundle is the one that its units
are on, or else the model's machine with the same number.`,
		Example: `  juju diff-bundle ./shop/bundle.yaml
  juju diff-bundle ./shop --overlay ./production.yaml --annotations
  juju diff-bundle ./shop --map-machines 3=7`,
		Annotations: seeAlso("deploy", "export-bundle", "status"),
		RunE:        func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&d.annotations, "annotations", false, "compare annotations too")
	cmd.Flags().StringVar(&d.repo, "repository", "", "the local repository that has the charms with URLs")
	d.bundleFlags.add(cmd.Flags())
	d.output.flags(cmd, "")
	s.modelFlag(cmd)
	return cmd
}

type diffBundle struct {
	*session
	annotations bool
	repo        string
	bundleFlags bundleFlags
	output      output
}

func (d *diffBundle) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("no bundle specified")
	case len(args) > 1:
		return usagef("unrecognized args: %q", args[1:])
	}
	b, err := readBundle(args[0], d.bundleFlags.overlays, d.repository(d.repo))
	if err != nil {
		return err
	}
	defer b.close()
	d.warn(b.Warnings...)
	return withModel(ctx, d.session, func(api readBundleAPI) error { return d.diff(ctx, api, b) })
}

func (d *diffBundle) diff(ctx context.Context, api readBundleAPI, b *bundleSource) error {
	if err := b.verify(ctx, api); err != nil {
		return err
	}
	d.warn(b.taken...)
	model, err := readModel(ctx, api, b.has, b.hasResources)
	if err != nil {
		return err
	}
	wanted, err := b.wanted(ctx, api, model)
	if err != nil {
		return err
	}
	if wanted.Machines, err = b.machineMap(d.bundleFlags.mapMachines, model); err != nil {
		return err
	}
	text, err := encode("yaml", bundlechanges.Diff(wanted, model, d.annotations))
	if err != nil {
		return err
	}
	return d.write(d.output, text)
}
