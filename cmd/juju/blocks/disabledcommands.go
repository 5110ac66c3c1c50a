package blocks

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func DisabledCommandsCommand(s *cli.Session) *cobra.Command {
	d := &disabledCommands{Session: s}
	cmd := &cobra.Command{
		Use:     "disabled-commands",
		Aliases: []string{"list-disabled-commands", "list-all-blocks"},
		Short:   "List the disabled commands",
		Long: `List the command sets that are disabled in a model, with their messages. --all lists every
model that has any; it requires a superuser.`,
		Example: `  juju disabled-commands
  juju disabled-commands --all
  juju disabled-commands -m prod --format yaml`,
		Annotations: cli.SeeAlso("disable-command", "enable-command", "enable-destroy-controller"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&d.all, "all", false, "list the disabled commands of all models")
	d.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	s.ControllerFlag(cmd)
	return cmd
}

type disabledCommands struct {
	*cli.Session
	all    bool
	output cli.Output
}

// The YAML and JSON forms of blocks.
type (
	shownBlock struct {
		Set     string `yaml:"command-set" json:"command-set"`
		Message string `yaml:"message,omitempty" json:"message,omitempty"`
	}
	shownBlockedModel struct {
		Name  string   `yaml:"name" json:"name"`
		UUID  string   `yaml:"model-uuid" json:"model-uuid"`
		Owner string   `yaml:"owner" json:"owner"`
		Sets  []string `yaml:"disabled-commands,omitempty" json:"disabled-commands,omitempty"`
	}
)

func (d *disabledCommands) run(ctx context.Context) error {
	if err := cli.CheckListFormat(d.output.Format); err != nil {
		return err
	}
	if d.all {
		return cli.WithController(ctx, d.Session, func(_ cli.Target, api blockedModelsAPI) error {
			return d.listAll(ctx, api)
		})
	}
	return cli.WithModel(ctx, d.Session, func(api blockAPI) error { return d.list(ctx, api) })
}

func (d *disabledCommands) listAll(ctx context.Context, api blockedModelsAPI) error {
	models, err := api.BlockedModels(ctx)
	if err != nil {
		return err
	}
	if len(models) == 0 && d.output.Format == "tabular" {
		d.Note("No commands are currently disabled.")
		return nil
	}
	shown := make([]shownBlockedModel, 0, len(models))
	rows := [][]string{{"Name", "Model UUID", "Disabled commands"}}
	for _, m := range models {
		one := shownBlockedModel{Name: m.Name, UUID: m.UUID, Owner: m.OwnerTag.ID}
		for _, t := range m.Blocks {
			one.Sets = append(one.Sets, setName(entity.BlockType(t)))
		}
		slices.Sort(one.Sets)
		shown = append(shown, one)
		rows = append(rows, []string{one.Owner + "/" + one.Name, one.UUID, strings.Join(one.Sets, ", ")})
	}
	return d.WriteList(d.output, shown, rows)
}

func (d *disabledCommands) list(ctx context.Context, api blockAPI) error {
	blocks, err := api.Blocks(ctx)
	if err != nil {
		return err
	}
	if len(blocks) == 0 && d.output.Format == "tabular" {
		d.Note("No commands are currently disabled.")
		return nil
	}
	shown := make([]shownBlock, 0, len(blocks)) // not nil, for JSON
	rows := [][]string{{"Disabled commands", "Message"}}
	for _, b := range blocks {
		shown = append(shown, shownBlock{setName(b.Type), b.Message})
		rows = append(rows, []string{setName(b.Type), b.Message})
	}
	return d.WriteList(d.output, shown, rows)
}
