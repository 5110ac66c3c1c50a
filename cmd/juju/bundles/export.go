package bundles

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/bundlechanges"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/display"
	"juju/state/entity"
)

func ExportCommand(s *cli.Session) *cobra.Command {
	e := &exportBundle{Session: s}
	cmd := &cobra.Command{
		Use:   "export-bundle",
		Short: "Export a model as a bundle",
		Long: `Export the model's services, with their settings, constraints, annotations and placements,
and its relations, as a bundle that deploy accepts. Dying entities and machines without
units are omitted.

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

// The form of an exported bundle.
type (
	exported struct {
		Series       string                     `yaml:"series,omitempty"`
		Applications map[string]exportedService `yaml:"applications"`
		Machines     map[string]exportedMachine `yaml:"machines,omitempty"`
		Relations    [][]string                 `yaml:"relations,omitempty"`
	}
	exportedService struct {
		Charm       string            `yaml:"charm"`
		Series      string            `yaml:"series,omitempty"`
		NumUnits    int               `yaml:"num_units,omitempty"`
		To          []string          `yaml:"to,omitempty"`
		Expose      bool              `yaml:"expose,omitempty"`
		Options     map[string]any    `yaml:"options,omitempty"`
		Annotations map[string]string `yaml:"annotations,omitempty"`
		Constraints string            `yaml:"constraints,omitempty"`
		Storage     map[string]string `yaml:"storage,omitempty"`
	}
	exportedMachine struct {
		Constraints string            `yaml:"constraints,omitempty"`
		Annotations map[string]string `yaml:"annotations,omitempty"`
		Series      string            `yaml:"series,omitempty"`
	}
)

func (e *exportBundle) run(ctx context.Context) error {
	return cli.WithModel(ctx, e.Session, func(api readBundleAPI) error {
		model, err := readModel(ctx, api, everyService, everyService)
		if err != nil {
			return err
		}
		bundle := e.bundle(model)
		if len(bundle.Applications) == 0 {
			return errors.New("nothing to export as there are no applications")
		}
		text, err := display.YAML(bundle, 2)
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

// bundle returns the bundle that describes a model.
func (e *exportBundle) bundle(m *bundlechanges.Model) exported {
	b := exported{Applications: map[string]exportedService{}, Machines: map[string]exportedMachine{}}
	series := map[string]int{} // services by series
	for _, name := range slices.Sorted(maps.Keys(m.Services)) {
		s := m.Services[name]
		if s.Life != entity.Alive {
			e.Warn(fmt.Sprintf("application %q is being destroyed, and is omitted", name))
			continue
		}
		out := exportedService{Charm: s.CharmURL, Series: s.Series, NumUnits: len(s.Units), Expose: s.Exposed,
			Annotations: s.Annotations, Constraints: s.Constraints.String(), Options: e.options(s),
			Storage: map[string]string{}}
		for store, c := range s.Storage {
			if c.Count > 0 {
				out.Storage[store] = c.String()
			}
		}
		for _, resource := range slices.Sorted(maps.Keys(s.Resources)) {
			e.Warn(fmt.Sprintf("the file of resource %q of application %q is omitted", resource, name))
		}
		for _, u := range s.Units {
			kind, id := entity.ContainerOf(u.Machine)
			if kind == "" {
				out.To = append(out.To, id)
			} else {
				out.To = append(out.To, kind+":"+id)
			}
			if machine := m.Machines[id]; machine != nil {
				b.Machines[id] = exportedMachine{machine.Constraints.String(), machine.Annotations, machine.Series}
			}
		}
		series[s.Series]++
		b.Applications[name] = out
	}
	b.Series = commonest(series)
	for name, s := range b.Applications {
		if s.Series == b.Series {
			s.Series = ""
			b.Applications[name] = s
		}
	}
	for id, machine := range b.Machines {
		if machine.Series == b.Series {
			machine.Series = ""
			b.Machines[id] = machine
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Relations)) {
		r := m.Relations[key]
		_, one := b.Applications[r.Relation[0].Service]
		_, other := b.Applications[r.Relation[1].Service]
		if one && other && r.Life == entity.Alive {
			b.Relations = append(b.Relations, []string{r.Relation[0].String(), r.Relation[1].String()})
		} else {
			e.Warn(fmt.Sprintf("relation %q is being destroyed, and is omitted", strings.Join([]string{
				r.Relation[0].String(), r.Relation[1].String()}, " ")))
		}
	}
	return b
}

// options returns what users have set, or every option that has a value.
func (e *exportBundle) options(s *bundlechanges.Service) map[string]any {
	options := map[string]any{}
	for name, setting := range s.Options {
		if setting.Source == entity.SourceUser || e.defaults && setting.Value != nil {
			options[name] = setting.Value
		}
	}
	return options
}

// commonest returns the word with the highest count, the first of several.
func commonest(counts map[string]int) (word string) {
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		if counts[w] > counts[word] {
			word = w
		}
	}
	return word
}
