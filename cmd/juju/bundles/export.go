package bundles

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"juju/apiserver/bundlechanges"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
)

func ExportCommand(s *cli.Session) *cobra.Command {
	e := &exportBundle{Session: s}
	cmd := &cobra.Command{
		Use:   "export-bundle",
		Short: "Export a model as a bundle",
		Long: `Export the model's services, with their settings, constraints, annotations, placements and
offers, its relations, and the offers of other models that it uses (saas), as a bundle
that deploy accepts. Parts that Juju reads only from overlays, such as offers, are in an
overlay in the same file. Dying entities and machines without units are omitted.

The bundle refers to charms by their URLs in the model. To deploy it to another model, use
a local repository with these charms: juju deploy --repository.`,
		Example: `  juju export-bundle
  juju export-bundle --filename shop.yaml`,
		Annotations: cli.SeeAlso("deploy", "diff-bundle"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&e.file, "filename", "", "the `file` to write the bundle to")
	cmd.Flags().BoolVar(&e.defaults, "include-charm-defaults", false, "include settings that have the charm's default")
	s.ModelFlag(cmd)
	return cmd
}

type exportBundle struct {
	*cli.Session
	file     string
	defaults bool
}

func (e *exportBundle) run(ctx context.Context) error {
	if e.file != "" {
		if err := e.CheckFile(e.file); err != nil {
			return err
		}
	}
	return cli.WithModel(ctx, e.Session, func(api readBundleAPI) error {
		model, err := bundlechanges.ReadModel(ctx, modelReader{api, everyService}, everyService)
		if err != nil {
			return err
		}
		bundle, warnings, err := bundlechanges.Export(model, e.defaults)
		if err != nil {
			return err
		}
		e.Warn(warnings...)
		text, err := bundle.YAML(display.YAML)
		if err != nil {
			return err
		}
		if e.file == "" {
			return e.Write(cli.Output{}, text)
		}
		if err := os.WriteFile(e.file, text, 0o644); err != nil {
			return fmt.Errorf("cannot write bundle: %w", err)
		}
		e.Note("Bundle successfully exported to %s", e.file)
		return nil
	})
}

func everyService(string) bool { return true }
