package machines

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/statusfmt"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

func MachinesCommand(s *cli.Session) *cobra.Command {
	m := &machineList{Session: s}
	cmd := &cobra.Command{
		Use:     "machines",
		Aliases: []string{"list-machines"},
		Short:   "List the machines of a model",
		Long: `List the machines and containers of a model with their addresses, instances, bases,
availability zones and states.`,
		Example: `  juju machines
  juju machines --format yaml`,
		Annotations: cli.SeeAlso("status", "show-machine", "add-machine"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.run(cmd.Context(), nil)
		},
	}
	m.flags(cmd, "tabular")
	return cmd
}

func ShowMachineCommand(s *cli.Session) *cobra.Command {
	m := &machineList{Session: s}
	cmd := &cobra.Command{
		Use:   "show-machine [MACHINE...]",
		Short: "Show details of machines",
		Long: `Show machines with their containers, hardware and constraints. Without arguments, show all
machines of the model.`,
		Example: `  juju show-machine 0
  juju show-machine 0/lxd/1 --format json`,
		Annotations: cli.SeeAlso("machines", "status", "explain"),
		RunE:        func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	m.flags(cmd, "yaml")
	return cmd
}

// A machineList is a command that shows machines.
type machineList struct {
	*cli.Session
	output cli.Output
	utc    bool
}

func (m *machineList) flags(cmd *cobra.Command, format string) {
	m.output.Flags(cmd, format, cli.ListFormats...)
	cmd.Flags().BoolVar(&m.utc, "utc", false, "show times in UTC")
	m.ModelFlag(cmd)
}

// run shows the machines with these ids, or all if none are given.
func (m *machineList) run(ctx context.Context, ids []string) error {
	if err := cli.CheckListFormat(m.output.Format); err != nil {
		return err
	}
	for _, id := range ids {
		if !entity.IsValidMachine(id) {
			return cli.Usagef("invalid machine %q", id)
		}
	}
	options := statusfmt.Options{Location: time.Local,
		Color: m.output.Path == "" && m.Paints(m.OutTerminal)}
	if m.utc {
		options.Location = time.UTC
	}
	if options.Color {
		options.Width = m.Width()
	}
	var all *entity.ModelStatus
	err := cli.WithModel(ctx, m.Session, func(api wait.StatusAPI) (err error) {
		all, err = api.Status(ctx)
		return err
	})
	if err != nil {
		return err
	}
	shown := *all
	if len(ids) > 0 {
		if shown.Machines, err = chooseMachines(all, ids); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := statusfmt.Machines(m.output.Format)(&text, &shown, options); err != nil {
		return err
	}
	write := m.Write
	if options.Color {
		write = m.WriteStyled
	}
	if err := write(m.output, text.Bytes()); err != nil {
		return err
	}
	if len(shown.Machines) == 0 && m.output.Format == "tabular" {
		m.Note("Model %q has no machines.", shown.Model.Name)
	}
	return nil
}

// chooseMachines returns the machines with these ids, in the order of the status.
func chooseMachines(status *entity.ModelStatus, ids []string) (chosen []entity.MachineStatus, err error) {
	for _, one := range status.AllMachines() {
		if slices.Contains(ids, one.ID) {
			chosen = append(chosen, one)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(chosen, func(m entity.MachineStatus) bool { return m.ID == id }) {
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "machine %s not found", id),
				"To list the machines: juju machines")
		}
	}
	return chosen, nil
}
