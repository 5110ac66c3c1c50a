package bundlechanges

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"juju/charm"
	"juju/charm/bundle"
	"juju/state/entity"
)

// An Exported is a bundle that describes a model.
type (
	Exported struct {
		Series       string                     `yaml:"series,omitempty"`
		SAAS         map[string]exportedSAAS    `yaml:"saas,omitempty"`
		Applications map[string]exportedService `yaml:"applications"`
		Machines     map[string]exportedMachine `yaml:"machines,omitempty"`
		Relations    [][]string                 `yaml:"relations,omitempty"`

		overlay map[string]exportedOverlay // of the services
	}
	// An exportedOverlay is what Juju takes of a service in overlays only. Its endpoints are exposed not as a whole, to everyone.
	exportedOverlay struct {
		ExposedEndpoints entity.ExposedEndpoints  `yaml:"exposed-endpoints,omitempty"`
		Offers           map[string]exportedOffer `yaml:"offers,omitempty"`
	}
	exportedService struct {
		Charm       string            `yaml:"charm"`
		Series      string            `yaml:"series,omitempty"`
		NumUnits    int               `yaml:"num_units,omitempty"`
		To          []string          `yaml:"to,omitempty"`
		Expose      bool              `yaml:"expose,omitempty"`
		Options     map[string]any    `yaml:"options,omitempty"`
		Annotations map[string]any    `yaml:"annotations,omitempty"`
		Constraints string            `yaml:"constraints,omitempty"`
		Bindings    map[string]string `yaml:"bindings,omitempty"`
		Storage     map[string]string `yaml:"storage,omitempty"`
		Trust       bool              `yaml:"trust,omitempty"`
	}
	exportedMachine struct {
		Constraints string         `yaml:"constraints,omitempty"`
		Annotations map[string]any `yaml:"annotations,omitempty"`
		Series      string         `yaml:"series,omitempty"`
	}
)

// Export returns the bundle that describes a model, and names what it leaves out. Options that have the charm's default are
// in it only if defaults is set. There is no bundle without services.
func Export(m *Model, defaults bool) (b Exported, warnings []string, err error) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	b = Exported{Applications: map[string]exportedService{}, Machines: map[string]exportedMachine{}, SAAS: map[string]exportedSAAS{}, overlay: map[string]exportedOverlay{}}
	series := map[string]int{} // services by series
	for _, name := range slices.Sorted(maps.Keys(m.Services)) {
		s := m.Services[name]
		if s.Life != entity.Alive {
			warn("application %q is being destroyed, and is omitted", name)
			continue
		}
		out := exportedService{Charm: s.CharmURL, Series: s.Series, NumUnits: len(s.Units), Expose: s.Exposed.IsEverywhere(),
			Annotations: exportedAnnotations(s.Annotations), Constraints: s.Constraints.String(), Options: exportedOptions(s, defaults),
			Bindings: s.Bindings, Storage: map[string]string{}, Trust: s.Options[charm.Trust].Value == true}
		for store, c := range s.Storage {
			if c.Count > 0 {
				out.Storage[store] = c.String()
			}
		}
		for _, resource := range slices.Sorted(maps.Keys(s.Resources)) {
			warn("the file of resource %q of application %q is omitted", resource, name)
		}
		for _, u := range s.Units {
			kind, id := entity.ContainerOf(u.Machine)
			if kind == "" {
				out.To = append(out.To, id)
			} else {
				out.To = append(out.To, kind+":"+id)
			}
			if machine := m.Machines[id]; machine != nil {
				b.Machines[id] = exportedMachine{machine.Constraints.String(), exportedAnnotations(machine.Annotations), machine.Series}
			}
		}
		series[s.Series]++
		b.Applications[name] = out
		if len(s.Exposed) > 0 && !out.Expose {
			b.overlay[name] = exportedOverlay{ExposedEndpoints: s.Exposed}
		}
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
	b.exportCrossModel(m, warn)
	has := func(name string) bool {
		_, service := b.Applications[name]
		_, remote := b.SAAS[name]
		return service || remote
	}
	for _, key := range slices.Sorted(maps.Keys(m.Relations)) {
		r := m.Relations[key]
		if has(r.Relation[0].Service) && has(r.Relation[1].Service) && r.Life == entity.Alive {
			b.Relations = append(b.Relations, []string{r.Relation[0].String(), r.Relation[1].String()})
		} else {
			why := "is being destroyed"
			if m.isAbroad(r) {
				why = "is with a service of another model"
			}
			warn("relation %q %s, and is omitted", r.Relation[0].String()+" "+r.Relation[1].String(), why)
		}
	}
	if len(b.Applications) == 0 {
		return b, warnings, errors.New("nothing to export as there are no applications")
	}
	return b, warnings, nil
}

// YAML returns the bundle's text, as marshal writes it with an indentation. Exposed endpoints and offers are in an overlay:
// Juju takes them only there.
func (b Exported) YAML(marshal func(v any, indent int) ([]byte, error)) ([]byte, error) {
	text, err := marshal(b, 2)
	if err != nil || len(b.overlay) == 0 {
		return text, err
	}
	overlay, err := marshal(map[string]any{"applications": b.overlay}, 2)
	return slices.Concat(text, []byte("--- # overlay.yaml\n"), overlay), err
}

// exportedOptions returns what users have set, or every option that has a value.
func exportedOptions(s *Service, defaults bool) map[string]any {
	options := map[string]any{}
	for name, setting := range s.Options {
		if name == charm.Trust {
			continue
		}
		if setting.Source == entity.SourceUser || defaults && setting.Value != nil {
			options[name] = bundle.Text(setting.Value)
		}
	}
	return options
}

func exportedAnnotations(values map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		all[key] = bundle.Text(value)
	}
	return all
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
