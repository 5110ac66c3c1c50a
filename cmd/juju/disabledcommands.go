package main

import (
	"context"

	"github.com/spf13/cobra"
)

func disabledCommandsCommand(s *session) *cobra.Command {
	d := &disabledCommands{session: s}
	cmd := &cobra.Command{
		Use:     "disabled-commands",
		Aliases: []string{"list-disabled-commands", "list-all-blocks"},
		Short:   "List the commands that are disabled",
		Long: `List the sets of commands that are disabled for a model, each with the message that
was given.`,
		Example: `  juju disabled-commands
  juju disabled-commands -m prod --format yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args) },
	}
	d.output.flags(cmd, "tabular", listFormats...)
	s.modelFlag(cmd)
	return cmd
}

type disabledCommands struct {
	*session
	output output
}

// A shownBlock is the form in which a block is shown.
type shownBlock struct {
	Set     string `yaml:"command-set" json:"command-set"`
	Message string `yaml:"message,omitempty" json:"message,omitempty"`
}

func (d *disabledCommands) run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usagef("unrecognized args: %q", args)
	}
	if err := checkListFormat(d.output.format); err != nil {
		return err
	}
	return d.withModel(ctx, func(api modelAPI) error { return d.list(ctx, api) })
}

func (d *disabledCommands) list(ctx context.Context, api blockAPI) error {
	blocks, err := api.Blocks(ctx)
	if err != nil {
		return err
	}
	if len(blocks) == 0 && d.output.format == "tabular" {
		d.note("No commands are currently disabled.")
		return nil
	}
	shown := make([]shownBlock, 0, len(blocks)) // an empty list in any format
	rows := [][]string{{"Disabled commands", "Message"}}
	for _, b := range blocks {
		shown = append(shown, shownBlock{setName(b.Type), b.Message})
		rows = append(rows, []string{setName(b.Type), b.Message})
	}
	return d.writeList(d.output, shown, rows)
}
