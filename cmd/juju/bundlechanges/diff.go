package bundlechanges

import (
	"cmp"
	"maps"
	"slices"

	"juju/state/constraints"
	"juju/state/entity"
)

// A Difference is how a bundle and a model differ, in the form of Juju's diff-bundle.
type Difference struct {
	Applications map[string]*ServiceDiff `yaml:"applications,omitempty"`
	Machines     map[string]*MachineDiff `yaml:"machines,omitempty"` // by the model's ids
	Relations    *RelationsDiff          `yaml:"relations,omitempty"`
}

// Where a service or machine is missing.
const (
	bundleSide = "bundle"
	modelSide  = "model"
)

// A ServiceDiff is how a service differs.
type ServiceDiff struct {
	Missing     string                     `yaml:"missing,omitempty"`
	Charm       *ValueDiff[string]         `yaml:"charm,omitempty"`
	Series      *ValueDiff[string]         `yaml:"series,omitempty"`
	NumUnits    *ValueDiff[int]            `yaml:"num_units,omitempty"`
	Expose      *ValueDiff[bool]           `yaml:"expose,omitempty"`
	Options     map[string]*ValueDiff[any] `yaml:"options,omitempty"`
	Annotations map[string]*ValueDiff[any] `yaml:"annotations,omitempty"`
	Constraints *ValueDiff[string]         `yaml:"constraints,omitempty"`
	Storage     map[string]*ValueDiff[any] `yaml:"storage,omitempty"`
	Resources   map[string]*ValueDiff[any] `yaml:"resources,omitempty"` // checksums of the files
}

// A MachineDiff is how a machine differs.
type MachineDiff struct {
	Missing     string                     `yaml:"missing,omitempty"`
	Series      *ValueDiff[string]         `yaml:"series,omitempty"`
	Annotations map[string]*ValueDiff[any] `yaml:"annotations,omitempty"`
}

// A RelationsDiff has the relations that only one side has, as pairs of endpoints.
type RelationsDiff struct {
	BundleAdditions [][]string `yaml:"bundle-additions,omitempty"`
	ModelAdditions  [][]string `yaml:"model-additions,omitempty"`
}

// A ValueDiff has the two values of what differs.
type ValueDiff[T any] struct {
	Bundle T `yaml:"bundle"`
	Model  T `yaml:"model"`
}

func differ[T comparable](inBundle, inModel T) *ValueDiff[T] {
	if inBundle == inModel {
		return nil
	}
	return &ValueDiff[T]{inBundle, inModel}
}

// Diff compares a bundle with a model, including annotations if requested. What the bundle does not specify, such as
// a series, is not a difference.
func Diff(w Wanted, m *Model, annotations bool) Difference {
	p := newPlanner(w, m)
	p.place(slices.Sorted(maps.Keys(w.Services)))
	return Difference{p.diffServices(annotations), p.diffMachines(annotations), p.diffRelations()}
}

func (p *planner) diffServices(annotations bool) map[string]*ServiceDiff {
	all := map[string]*ServiceDiff{}
	for name := range p.model.Services {
		if p.Services[name] == nil {
			all[name] = &ServiceDiff{Missing: bundleSide}
		}
	}
	for name := range p.Services {
		if p.model.Services[name] == nil {
			all[name] = &ServiceDiff{Missing: modelSide}
		} else if d := p.diffService(name, annotations); d != nil {
			all[name] = d
		}
	}
	return all
}

// diffService returns nil if there is no difference.
func (p *planner) diffService(name string, annotations bool) *ServiceDiff {
	want, have := p.Services[name], p.model.Services[name]
	d := &ServiceDiff{Options: p.diffOptions(name)}
	if !p.SameCharm[name] {
		d.Charm = &ValueDiff[string]{want.Charm, have.CharmURL}
	}
	if series := cmp.Or(want.Series, p.Bundle.Series); series != "" {
		d.Series = differ(series, have.Series)
	}
	d.NumUnits = differ(want.Units, len(have.Units))
	d.Expose = differ(want.Expose != nil && *want.Expose, have.Exposed)
	if annotations {
		d.Annotations = diffAnnotations(want.Annotations, have.Annotations)
	}
	if c, err := constraints.Parse(want.Constraints); err != nil || !c.Equal(have.Constraints) {
		d.Constraints = &ValueDiff[string]{want.Constraints, have.Constraints.String()}
	}
	d.Storage = p.diffStorage(name)
	if d.Resources = diffAnnotations(p.Resources[name], have.Resources); len(d.Resources) > 0 {
		maps.DeleteFunc(d.Resources, func(resource string, _ *ValueDiff[any]) bool { return p.Resources[name][resource] == "" })
	}
	if d.Charm == nil && d.Series == nil && d.NumUnits == nil && d.Expose == nil && len(d.Options) == 0 &&
		len(d.Annotations) == 0 && d.Constraints == nil && len(d.Storage)+len(d.Resources) == 0 {
		return nil
	}
	return d
}

func (p *planner) diffStorage(name string) map[string]*ValueDiff[any] {
	diffs := map[string]*ValueDiff[any]{}
	for store := range p.otherStorage(name) {
		d := &ValueDiff[any]{Bundle: p.Services[name].Storage[store]}
		if have, ok := p.model.Services[name].Storage[store]; ok {
			d.Model = have.String()
		}
		diffs[store] = d
	}
	return diffs
}

// diffOptions compares the bundle's options with the model's. An option that the bundle does not set differs if a
// user has set it to a value other than the charm's default.
func (p *planner) diffOptions(name string) map[string]*ValueDiff[any] {
	diffs := map[string]*ValueDiff[any]{}
	want, have := p.Options[name], p.model.Services[name].Options
	for option, setting := range have {
		value, isSet := want[option]
		same := value == setting.Value
		if !isSet {
			same = setting.Source != entity.SourceUser || setting.Value == setting.Default
		}
		if same {
			continue
		}
		diffs[option] = &ValueDiff[any]{value, setting.Value}
	}
	for option, value := range want {
		if _, ok := have[option]; !ok { // another charm
			diffs[option] = &ValueDiff[any]{value, nil}
		}
	}
	return diffs
}

func diffAnnotations(want, have map[string]string) map[string]*ValueDiff[any] {
	diffs := map[string]*ValueDiff[any]{}
	side := func(values map[string]string, key string) any {
		if value, ok := values[key]; ok {
			return value
		}
		return nil
	}
	for _, values := range []map[string]string{want, have} {
		for key := range values {
			if want[key] != have[key] {
				diffs[key] = &ValueDiff[any]{side(want, key), side(have, key)}
			}
		}
	}
	return diffs
}

// diffMachines compares the bundle's machines with the model's. A machine on which the bundle's services have units is
// not missing from the bundle, even if the bundle does not name it.
func (p *planner) diffMachines(annotations bool) map[string]*MachineDiff {
	all := map[string]*MachineDiff{}
	known := map[string]bool{}
	for name, s := range p.model.Services {
		for _, u := range s.Units {
			_, machine := entity.ContainerOf(u.Machine)
			known[machine] = known[machine] || p.Services[name] != nil
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.Bundle.Machines)) {
		want, of := p.Bundle.Machines[id], id
		if spot := p.spots[id]; spot != nil {
			of = spot.ID
		}
		known[of] = true
		have := p.model.Machines[of]
		if have == nil {
			all[of] = &MachineDiff{Missing: modelSide}
			continue
		}
		d := &MachineDiff{}
		if series := cmp.Or(want.Series, p.Bundle.Series); series != "" {
			d.Series = differ(series, have.Series)
		}
		if annotations {
			d.Annotations = diffAnnotations(want.Annotations, have.Annotations)
		}
		if d.Series != nil || len(d.Annotations) > 0 {
			all[of] = d
		}
	}
	for id := range p.model.Machines {
		if !known[id] {
			all[id] = &MachineDiff{Missing: bundleSide}
		}
	}
	return all
}

func (p *planner) diffRelations() *RelationsDiff {
	d := &RelationsDiff{}
	wanted := map[string]bool{}
	for _, r := range p.Relations {
		wanted[r.Key()] = true
		if _, ok := p.model.Relations[r.Key()]; !ok {
			d.BundleAdditions = append(d.BundleAdditions, []string{r[0].String(), r[1].String()})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.model.Relations)) {
		if r := p.model.Relations[key]; !wanted[key] {
			d.ModelAdditions = append(d.ModelAdditions, []string{r.Relation[0].String(), r.Relation[1].String()})
		}
	}
	if len(d.BundleAdditions)+len(d.ModelAdditions) == 0 {
		return nil
	}
	return d
}
