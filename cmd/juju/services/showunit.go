package services

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// ShowUnitCommand is show-unit of Juju, with its keys.
func ShowUnitCommand(s *cli.Session) *cobra.Command {
	u := &showUnit{Session: s}
	cmd := &cobra.Command{
		Use:   "show-unit UNIT...",
		Short: "Show units with the data in their relations",
		Long: `Show units: the machine, address, ports and charm of each, and the data in its relations
that it, the units at the other end and their service's leader have set. SERVICE/leader is
the service's leader.`,
		Example: `  juju show-unit web/0
  juju show-unit web/0 web/1 --format json
  juju show-unit web/0 --endpoint store --related-unit db/0`,
		Annotations: cli.SeeAlso("status", "explain"),
		RunE:        func(cmd *cobra.Command, args []string) error { return u.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.BoolVar(&u.app, "app", false, "show only the relation data that services' leaders have set")
	f.StringVar(&u.endpoint, "endpoint", "", "show only the relations of this endpoint")
	f.StringVar(&u.related, "related-unit", "", "show the data of this related `UNIT` only")
	u.output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}

type showUnit struct {
	*cli.Session
	app               bool
	endpoint, related string
	output            cli.Output
}

// The YAML and JSON forms of a unit and its relations.
type (
	shownUnit struct {
		WorkloadVersion string          `yaml:"workload-version,omitempty" json:"workload-version,omitempty"`
		Machine         string          `yaml:"machine,omitempty" json:"machine,omitempty"`
		OpenedPorts     []string        `yaml:"opened-ports" json:"opened-ports"`
		PublicAddress   string          `yaml:"public-address,omitempty" json:"public-address,omitempty"`
		Charm           string          `yaml:"charm" json:"charm"`
		Leader          bool            `yaml:"leader" json:"leader"`
		Life            string          `yaml:"life,omitempty" json:"life,omitempty"`
		Relations       []shownRelation `yaml:"relation-info,omitempty" json:"relation-info,omitempty"`
	}
	shownRelation struct {
		ID              int                  `yaml:"relation-id" json:"relation-id"`
		Endpoint        string               `yaml:"endpoint" json:"endpoint"`
		CrossModel      bool                 `yaml:"cross-model,omitempty" json:"cross-model,omitempty"`
		RelatedEndpoint string               `yaml:"related-endpoint" json:"related-endpoint"`
		Application     settings             `yaml:"application-data" json:"application-data"`
		Local           shownData            `yaml:"local-unit,omitempty" json:"local-unit"`
		Related         map[string]shownData `yaml:"related-units,omitempty" json:"related-units,omitempty"`
	}
	shownData struct {
		InScope bool     `yaml:"in-scope" json:"in-scope"`
		Data    settings `yaml:"data" json:"data"`
	}
	settings map[string]string // {} also in JSON if there are none
)

func (s settings) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(s))
}

type unitInfoAPI interface {
	cli.LeaderAPI
	UnitInfo(ctx context.Context, unit string) (client.UnitInfo, error)
}

func (u *showUnit) run(ctx context.Context, args []string) error {
	if err := cli.CheckUnits(args); err != nil {
		return err
	}
	if u.related != "" && !cli.IsUnitTarget(u.related) {
		return cli.Usage(entity.InvalidUnit(u.related))
	}
	if err := cli.CheckFormat(u.output.Format); err != nil {
		return err
	}
	return cli.WithModel(ctx, u.Session, func(api unitInfoAPI) error {
		units, err := cli.Leaders(ctx, api, args)
		if err != nil {
			return err
		}
		if u.related, err = cli.Leading(ctx, api, u.related); err != nil {
			return err
		}
		shown := map[string]shownUnit{}
		for _, unit := range units {
			info, err := api.UnitInfo(ctx, unit)
			if err != nil {
				return err
			}
			shown[unit] = u.shown(unit, info)
		}
		text, err := cli.Encode(u.output.Format, shown)
		if err != nil {
			return err
		}
		return u.Write(u.output, text)
	})
}

// withoutSeries returns a charm's URL as Juju 3 prints it: local:web-1. Its local charms are of no series.
func withoutSeries(text string) string {
	url, err := charm.ParseURL(text)
	if err != nil {
		return text
	}
	url.Series = ""
	return url.String()
}

func (u *showUnit) shown(unit string, info client.UnitInfo) shownUnit {
	shown := shownUnit{WorkloadVersion: info.WorkloadVersion, Machine: info.Machine, OpenedPorts: append([]string{}, info.OpenedPorts...),
		PublicAddress: info.PublicAddress, Charm: withoutSeries(info.Charm), Leader: info.Leader, Life: info.Life}
	for _, r := range info.Relations {
		if u.endpoint != "" && u.endpoint != r.Endpoint {
			continue
		}
		one := shownRelation{ID: r.ID, Endpoint: r.Endpoint, CrossModel: r.CrossModel, RelatedEndpoint: r.RelatedEndpoint,
			Application: r.Application}
		if u.app {
			shown.Relations = append(shown.Relations, one)
			continue
		}
		one.Related = map[string]shownData{}
		for name, of := range r.Units {
			data := shownData{of.InScope, of.Settings}
			switch {
			case name == unit:
				one.Local = data
			case u.related == "" || name == u.related:
				one.Related[name] = data
			}
		}
		shown.Relations = append(shown.Relations, one)
	}
	return shown
}
