package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type checkAPI interface {
	cli.ModelsAPI
	CheckController(ctx context.Context, repair bool) ([]entity.Finding, error)
	CheckModel(ctx context.Context, model string, repair bool) ([]entity.Finding, error)
}

func CheckCommand(s *cli.Session) *cobra.Command {
	c := &check{Session: s}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the controller's data for inconsistencies, and repair them",
		Long: `Check the controller's data for inconsistencies: wrong counts, dangling references,
transactions that never completed, unused databases and archives, filesystem imports that
were interrupted and not repeated, and storage that is recorded as attached to a machine
but, according to the cloud, is not. Without --model, check everything that you
administer: the controller's own data and every model.

Each line says what is wrong, where, and what --repair would do about it. The exit code is
1 if there are problems that were not repaired. Others can keep working during the check.

--repair makes the data consistent again: it corrects counts, adds missing documents, and
removes documents that depend on something that no longer exists. Run the command without
it first. If a repair uncovers another problem, that is repaired too. Storage that is not
attached is attached again, with its data; "juju storage" shows when it is attached.`,
		Example: `  juju check
  juju check --repair
  juju check -m prod --format json`,
		Annotations: cli.SeeAlso("dump-db", "explain"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.repair, "repair", false, "repair the problems, and print what was done")
	c.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	s.ModelFlag(cmd)
	return cmd
}

type check struct {
	*cli.Session
	repair bool
	output cli.Output
}

// A shownFinding is the YAML and JSON form of a finding.
type shownFinding struct {
	Model  string `yaml:"model,omitempty" json:"model,omitempty"`
	Where  string `yaml:"where" json:"where"`
	What   string `yaml:"what" json:"what"`
	Repair string `yaml:"repair,omitempty" json:"repair,omitempty"`
	Done   bool   `yaml:"done" json:"done"`
	Failed string `yaml:"failed,omitempty" json:"failed,omitempty"`
}

func (c *check) run(ctx context.Context) error {
	if err := cli.CheckListFormat(c.output.Format); err != nil {
		return err
	}
	if c.Model != "" {
		var err error
		if c.Model, err = c.SplitModel(c.Model); err != nil {
			return err
		}
	}
	return cli.WithController(ctx, c.Session, func(t cli.Target, api checkAPI) error {
		found, checked, err := c.check(ctx, t, api)
		if err != nil {
			return err
		}
		return c.report(found, checked)
	})
}

// check checks one model, or everything that the user administers, and also returns the names of what it checked.
func (c *check) check(ctx context.Context, t cli.Target, api checkAPI) (
	found []entity.Finding, checked []string, err error) {
	models, err := api.Models(ctx)
	if err != nil {
		return nil, nil, err
	}
	if c.Model == "" {
		found, err = api.CheckController(ctx, c.repair)
		switch {
		case err == nil:
			checked = append(checked, "the controller")
		case !errors.Is(err, entity.Unauthorized):
			return nil, nil, err
		}
	}
	for _, m := range models {
		if c.Model != "" && m.Owner+"/"+m.Name != t.Controller.Qualify(c.Model) {
			continue
		}
		of, err := api.CheckModel(ctx, m.UUID, c.repair)
		if errors.Is(err, entity.Unauthorized) && c.Model == "" {
			continue
		}
		if err != nil && c.Model == "" && isRemoved(ctx, api, m.UUID) {
			c.Note("Model %s/%s was removed meanwhile.", m.Owner, m.Name)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		found, checked = append(found, of...), append(checked, "model "+m.Name)
	}
	if len(checked) == 0 && c.Model != "" {
		return nil, nil, entity.WithHint(entity.Errorf(entity.NotFound, "model %q not found", c.Model),
			"To list the models: juju models")
	}
	if len(checked) == 0 {
		return nil, nil, entity.WithHint(entity.Errorf(entity.Unauthorized, "you have nothing to check"),
			"Only administrators of a model and superusers can check it.")
	}
	return found, checked, nil
}

// isRemoved reports whether a model no longer exists.
func isRemoved(ctx context.Context, api checkAPI, uuid string) bool {
	models, err := api.Models(ctx)
	return err == nil && !slices.ContainsFunc(models, func(m client.Model) bool { return m.UUID == uuid })
}

// report prints the findings. It returns an error if problems remain.
func (c *check) report(found []entity.Finding, checked []string) error {
	left, text := 0, ""
	shown := make([]shownFinding, 0, len(found))
	for _, f := range found {
		if !f.Done {
			left++
		}
		shown = append(shown, shownFinding(f))
		text += findingLine(f) + "\n"
	}
	switch {
	case c.output.Format != "tabular":
		if err := c.WriteList(c.output, shown, nil); err != nil {
			return err
		}
	default:
		if len(found) == 0 {
			text = fmt.Sprintf("No problems found in %s.\n", allOf(checked))
		}
		if err := c.Write(c.output, []byte(text)); err != nil {
			return err
		}
	}
	problems := "problems"
	if left == 1 {
		problems = "problem"
	}
	switch {
	case left == 0:
		return nil
	case c.repair:
		return fmt.Errorf("%d %s left", left, problems)
	}
	return entity.WithHint(fmt.Errorf("%d %s found", left, problems),
		"To repair the data: juju check --repair")
}

// findingLine returns one line: what is wrong, where, and the repair.
func findingLine(f entity.Finding) string {
	of := f.Model
	if of == "" {
		of = "(controller)"
	}
	line := fmt.Sprintf("%s %s: %s", of, f.Where, f.What)
	switch {
	case f.Done:
		line += "; done: " + f.Repair
	case f.Failed != "":
		line += fmt.Sprintf("; not done: %s: %s", f.Repair, f.Failed)
	case f.Repair != "":
		line += "; --repair: " + f.Repair
	default:
		line += "; --repair cannot fix this"
	}
	return display.Line(line)
}

// allOf writes "a, b and c".
func allOf(words []string) string { return strings.Replace(cli.OneOf(words), " or ", " and ", 1) }
