package bundles

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"juju/apiserver/bundlechanges"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
)

func DiffBundleCommand(s *cli.Session) *cobra.Command {
	d := &diffBundle{Session: s}
	cmd := &cobra.Command{
		Use:   "diff-bundle BUNDLE",
		Short: "Compare a bundle with a model",
		Long: `Show the differences between a bundle and a model in services, machines, relations, offers
and saas (offers of other models that it uses), as YAML; {} if there are none. What the
bundle does not specify, such as a series, is not compared, and annotations are compared
only with --annotations.

BUNDLE and the flags are the same as for deploy. A machine of the bundle is matched with
the one that its units are on, or else with the model's machine of the same number.

This is Juju's command: its exit code is 0 whether or not there are differences. juju diff
treats the bundle as a description of the whole model, and shows what juju apply would
change.`,
		Example: `  juju diff-bundle ./shop/bundle.yaml
  juju diff-bundle ./shop --overlay ./production.yaml --annotations
  juju diff-bundle ./shop --map-machines 3=7`,
		Annotations: cli.SeeAlso("diff", "deploy", "export-bundle", "status"),
		Args:        cli.AtMost(1),
		RunE:        func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&d.annotations, "annotations", false, "compare annotations too")
	cmd.Flags().StringVar(&d.repo, "repository", "", "the local repository of charms given by URL")
	d.AddFlags(cmd.Flags())
	d.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

func DiffCommand(s *cli.Session) *cobra.Command {
	d := &diffBundle{Session: s, annotations: true, declared: true}
	cmd := &cobra.Command{
		Use:   "diff FILE",
		Short: "Compare a file with a model",
		Long: `Show what juju apply would change to make the model match FILE: what it would add, the old
and new values of what it would change, and what FILE lacks, which it would remove with
--prune. FILE and the flags are the same as for apply.

The exit code is 0 if nothing differs, 1 if something does, and 2 after an error.

With --format yaml or json, the differences have the form of juju diff-bundle. That is
Juju's command for what deploy would change: it compares annotations only if asked to,
includes what is being destroyed and relations with offers of this model, and treats an
unspecified number of units as 0. In the output of juju diff, "new 3" is machine 3 of
FILE, which the model lacks.`,
		Example: `  juju diff model.yaml
  juju diff model.yaml --overlay production.yaml --format json
  juju diff - <model.yaml`,
		Annotations: cli.SeeAlso("apply", "diff-bundle", "export-bundle", "status"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := d.run(cmd.Context(), args)
			var code cli.ExitError
			if err == nil || cli.IsUsage(err) || errors.As(err, &code) {
				return err
			}
			return cli.Trouble(err)
		},
	}
	cmd.Flags().StringVar(&d.repo, "repository", "", "the local repository of charms given by URL")
	d.AddFlags(cmd.Flags())
	d.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// A diffBundle compares a bundle with a model.
type diffBundle struct {
	*cli.Session
	bundleFlags
	annotations bool
	declared    bool // the bundle is the whole model
	repo        string
	output      cli.Output
}

func (d *diffBundle) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0 && d.declared:
		return cli.Usagef("no file specified")
	case len(args) == 0:
		return cli.Usagef("no bundle specified")
	}
	check := cli.CheckListFormat
	if !d.declared {
		check = func(format string) error { return cli.CheckFormat(format) }
	}
	if err := check(d.output.Format); err != nil {
		return err
	}
	b, err := d.read(d.Stdin, args[0], charms.RepositoryOf(d.Session, d.repo))
	if err != nil {
		return err
	}
	defer b.close()
	d.Warn(b.Warnings...)
	return cli.WithModel(ctx, d.Session, func(api readBundleAPI) error { return d.diff(ctx, api, b) })
}

func (d *diffBundle) diff(ctx context.Context, api readBundleAPI, b *bundleSource) error {
	if err := b.verify(ctx, d.Session, api); err != nil {
		return err
	}
	d.Warn(b.taken...)
	model, err := bundlechanges.ReadModel(ctx, modelReader{api, b.hasResources}, b.has)
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
	if b.offers() {
		if _, wanted.Owner, err = modelPath(d.Session); err != nil {
			return err
		}
	}
	if d.declared {
		wanted.Declare(model)
		return d.tell(bundlechanges.Diff(wanted, model, d.annotations), wanted, model)
	}
	text, err := cli.Encode(d.output.Format, bundlechanges.Diff(wanted, model, d.annotations))
	if err != nil {
		return err
	}
	return d.Write(d.output, text)
}

// tell prints the differences between a declared bundle and a model. Its error has the exit code.
func (d *diffBundle) tell(all bundlechanges.Difference, w bundlechanges.Wanted, m *bundlechanges.Model) error {
	changes := all.Rows(w, m)
	rows := [][]string{{"ACTION", "KIND", "NAME", "DETAIL"}}
	for _, c := range changes {
		rows = append(rows, []string{c.Action, c.Kind, c.Name, c.Detail})
	}
	if len(changes) == 0 {
		rows = nil
	}
	if err := d.WriteList(d.output, all, rows); err != nil {
		return err
	}
	if len(changes) == 0 {
		d.Note("No differences.")
		return nil
	}
	return cli.ExitError(1)
}
