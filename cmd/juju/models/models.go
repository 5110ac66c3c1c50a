package models

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ModelsCommand(s *cli.Session) *cobra.Command {
	m := &models{Session: s}
	cmd := &cobra.Command{
		Use:     "models",
		Aliases: []string{"list-models", "environments", "list-environments"},
		Short:   "List the models",
		Long: `List the models of a controller that you have access to, with your access to each. An
asterisk marks the selected model.`,
		Example: `  juju models
  juju models -c prod --format yaml`,
		Annotations: cli.SeeAlso("switch", "show-model", "add-model"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	m.output.Flags(cmd, "tabular", cli.ListFormats...)
	cmd.Flags().BoolVar(&m.uuids, "uuid", false, "also show the UUIDs of the models, in the tabular format")
	cmd.Flags().Bool("all", false, "list the models of all users (for superusers, this is the default)")
	s.ControllerFlag(cmd)
	return cmd
}

type models struct {
	*cli.Session
	output cli.Output
	uuids  bool
}

// The YAML and JSON forms of models.
type (
	shownModels struct {
		Models  []shownModel `yaml:"models" json:"models"`
		Current string       `yaml:"current-model,omitempty" json:"current-model,omitempty"`
	}
	shownModel struct {
		Name           string    `yaml:"name" json:"name"`
		ShortName      string    `yaml:"short-name" json:"short-name"`
		UUID           string    `yaml:"model-uuid" json:"model-uuid"`
		Type           string    `yaml:"model-type" json:"model-type"`
		ControllerUUID string    `yaml:"controller-uuid" json:"controller-uuid"`
		ControllerName string    `yaml:"controller-name" json:"controller-name"`
		IsController   bool      `yaml:"is-controller" json:"is-controller"`
		Owner          string    `yaml:"owner" json:"owner"`
		Cloud          string    `yaml:"cloud" json:"cloud"`
		Region         string    `yaml:"region,omitempty" json:"region,omitempty"`
		CloudType      string    `yaml:"type" json:"type"`
		Life           string    `yaml:"life" json:"life"`
		Status         modelWord `yaml:"status" json:"status"`
		Access         string    `yaml:"access,omitempty" json:"access,omitempty"`
		LastConnection string    `yaml:"last-connection,omitempty" json:"last-connection,omitempty"`
		// The access and counts are in lists, the users and machines in descriptions of one model.
		MachineCount *int64                  `yaml:"machine-count,omitempty" json:"machine-count,omitempty"`
		UnitCount    *int64                  `yaml:"unit-count,omitempty" json:"unit-count,omitempty"`
		Users        map[string]modelUser    `yaml:"users,omitempty" json:"users,omitempty"`
		Machines     map[string]modelMachine `yaml:"machines,omitempty" json:"machines,omitempty"`
		AgentVersion string                  `yaml:"agent-version,omitempty" json:"agent-version,omitempty"`
		Release      string                  `yaml:"release,omitempty" json:"release,omitempty"`
		Credential   *modelCredential        `yaml:"credential,omitempty" json:"credential,omitempty"`
	}
	modelWord struct {
		Current string `yaml:"current" json:"current"`
		Message string `yaml:"message,omitempty" json:"message,omitempty"`
		Reason  string `yaml:"reason,omitempty" json:"reason,omitempty"`
		Since   string `yaml:"since,omitempty" json:"since,omitempty"`
	}
	modelCredential struct {
		Name  string `yaml:"name" json:"name"`
		Owner string `yaml:"owner" json:"owner"`
		Cloud string `yaml:"cloud" json:"cloud"`
	}
)

type describeModelsAPI interface {
	cli.ModelsAPI
	ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error)
	ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error)
}

func (m *models) run(ctx context.Context) error {
	if err := cli.CheckListFormat(m.output.Format); err != nil {
		return err
	}
	return cli.WithController(ctx, m.Session, func(t cli.Target, api describeModelsAPI) error {
		return m.list(ctx, t, api)
	})
}

func (m *models) list(ctx context.Context, t cli.Target, api describeModelsAPI) error {
	summaries, err := api.ModelSummaries(ctx)
	if err != nil {
		return err
	}
	var known []client.Model
	for _, s := range summaries {
		known = append(known, client.Model{Name: s.Name, UUID: s.UUID, Owner: s.OwnerTag.ID})
	}
	if err := m.NoteModels(ctx, t, known, nil); err != nil {
		return err
	}
	current := t.Controller.Model
	if _, ok := t.Controller.Models[current]; !ok {
		current = ""
	}
	shown := shownModels{Models: []shownModel{}, Current: t.Controller.Unqualify(current)}
	row := func(name, uuid string, rest ...string) []string {
		if m.uuids {
			return append([]string{name, uuid}, rest...)
		}
		return append([]string{name}, rest...)
	}
	rows := [][]string{row("Model", "UUID", "Cloud", "Status", "Machines", "Units", "Access")}
	for _, s := range summaries {
		one := showSummary(t, s)
		shown.Models = append(shown.Models, one)
		name := t.Controller.Unqualify(one.Name)
		if one.Name == current {
			name += "*"
		}
		rows = append(rows, row(name, one.UUID, one.Cloud, one.Status.Current,
			strconv.FormatInt(*one.MachineCount, 10), strconv.FormatInt(*one.UnitCount, 10), one.Access))
	}
	if m.output.Format == "tabular" {
		return m.WriteTable(m.output, "Controller: "+t.Name, rows)
	}
	return m.WriteList(m.output, shown, nil)
}

func showSummary(t cli.Target, s entity.ModelSummary) shownModel {
	shown := showDescription(t, s.ModelDescription)
	shown.Access, shown.MachineCount, shown.UnitCount = s.UserAccess, new(int64), new(int64)
	shown.LastConnection, shown.Credential = lastConnection(s.LastConnection), credentialOf(shown, s.Credential)
	for _, c := range s.Counts {
		switch c.Entity {
		case "machines":
			*shown.MachineCount = c.Count
		case "units":
			*shown.UnitCount = c.Count
		}
	}
	return shown
}

// showDescription returns what is shown both in lists and of one model.
func showDescription(t cli.Target, m entity.ModelDescription) shownModel {
	since := ""
	if !m.Status.Since.IsZero() {
		since = m.Status.Since.UTC().Format(time.RFC3339)
	}
	return shownModel{
		Name: m.OwnerTag.ID + "/" + m.Name, ShortName: m.Name, UUID: m.UUID, Type: m.Type, ControllerUUID: m.ControllerUUID,
		ControllerName: t.Name, IsController: m.IsController, Owner: m.OwnerTag.ID, Cloud: cmp.Or(m.CloudName, m.ProviderType), Life: m.Life,
		Region: m.CloudRegion, CloudType: m.ProviderType,
		Status:       modelWord{string(cmp.Or(m.Status.Status, entity.StatusUnknown)), m.Status.Message, m.Status.Cause(), since},
		AgentVersion: m.AgentVersion, Release: m.Release,
	}
}

func lastConnection(at *time.Time) string {
	if at == nil {
		return "never connected"
	}
	return at.UTC().Format(time.RFC3339)
}

// credentialOf returns the credential of a model; nil if it has none.
func credentialOf(m shownModel, name string) *modelCredential {
	if name == "" {
		return nil
	}
	return &modelCredential{name, m.Owner, m.Cloud}
}
