package services

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type payloadsAPI interface {
	cli.LeaderAPI
	Payloads(ctx context.Context, patterns []string) ([]entity.UnitPayload, error)
}

// A shownPayload is the YAML and JSON form of a payload, with Juju's keys.
type shownPayload struct {
	Unit    string   `yaml:"unit" json:"unit"`
	Machine string   `yaml:"machine" json:"machine"`
	ID      string   `yaml:"id" json:"id"`
	Type    string   `yaml:"type" json:"type"`
	Class   string   `yaml:"payload-class" json:"payload-class"`
	Labels  []string `yaml:"tags,omitempty" json:"tags,omitempty"`
	Status  string   `yaml:"status" json:"status"`
}

func PayloadsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "payloads [PATTERN...]",
		Aliases: []string{"list-payloads"},
		Short:   "List the payloads of units",
		Long: `List the payloads of units: what their charms run outside of Juju, such as containers, as
the charms report it. With PATTERNs, list only the payloads whose unit, machine, class,
type, ID, status or tag is one of them, ignoring case. SERVICE/leader is the service's
leader.`,
		Example: `  juju payloads
  juju payloads web/0 web/1
  juju payloads docker --format json`,
		Annotations: cli.SeeAlso("status", "show-unit", "help-tool"),
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api payloadsAPI) error {
				named, err := cli.Leaders(ctx, api, patterns)
				if err != nil {
					return err
				}
				all, err := api.Payloads(ctx, named)
				if err != nil {
					return err
				}
				if len(all) == 0 && output.Format == "tabular" {
					s.Note("No payloads to display.")
					return nil
				}
				shown, rows := []shownPayload{}, [][]string{{"Unit", "Machine", "Payload class", "Status", "Type", "Id", "Tags"}}
				for _, p := range all {
					shown = append(shown, shownPayload{p.Unit, p.Machine, p.ID, p.Type, p.Class, p.Labels, p.Status})
					rows = append(rows, []string{p.Unit, p.Machine, p.Class, p.Status, p.Type, p.ID, strings.Join(p.Labels, " ")})
				}
				return s.WriteList(output, shown, rows)
			})
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}
