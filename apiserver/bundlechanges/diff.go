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
	Applications map[string]*ServiceDiff `yaml:"applications,omitempty" json:"applications,omitempty"`
	Machines     map[string]*MachineDiff `yaml:"machines,omitempty" json:"machines,omitempty"` // by the model's ids
	SAAS         map[string]*SAASDiff    `yaml:"saas,omitempty" json:"saas,omitempty"`
	Offers       map[string]*OfferDiff   `yaml:"offers,omitempty" json:"offers,omitempty"`
	Relations    *RelationsDiff          `yaml:"relations,omitempty" json:"relations,omitempty"`
}

// newMachine comes before the number of a machine of a declared bundle that is to be added: the model's may have the same.
const newMachine = "new "

// Where a service or machine is missing.
const (
	bundleSide = "bundle"
	modelSide  = "model"
)

// A ServiceDiff is how a service differs.
type ServiceDiff struct {
	Missing     string                     `yaml:"missing,omitempty" json:"missing,omitempty"`
	Charm       *ValueDiff[string]         `yaml:"charm,omitempty" json:"charm,omitempty"`
	Series      *ValueDiff[string]         `yaml:"series,omitempty" json:"series,omitempty"`
	NumUnits    *ValueDiff[int]            `yaml:"num_units,omitempty" json:"num_units,omitempty"`
	Expose      *ValueDiff[bool]           `yaml:"expose,omitempty" json:"expose,omitempty"`
	Endpoints   map[string]*ValueDiff[any] `yaml:"exposed_endpoints,omitempty" json:"exposed_endpoints,omitempty"`
	Options     map[string]*ValueDiff[any] `yaml:"options,omitempty" json:"options,omitempty"`
	Annotations map[string]*ValueDiff[any] `yaml:"annotations,omitempty" json:"annotations,omitempty"`
	Constraints *ValueDiff[string]         `yaml:"constraints,omitempty" json:"constraints,omitempty"`
	Bindings    map[string]*ValueDiff[any] `yaml:"bindings,omitempty" json:"bindings,omitempty"` // spaces, the default at ""
	Storage     map[string]*ValueDiff[any] `yaml:"storage,omitempty" json:"storage,omitempty"`
	Resources   map[string]*ValueDiff[any] `yaml:"resources,omitempty" json:"resources,omitempty"` // checksums of the files
}

// A MachineDiff is how a machine differs.
type MachineDiff struct {
	Missing     string                     `yaml:"missing,omitempty" json:"missing,omitempty"`
	Series      *ValueDiff[string]         `yaml:"series,omitempty" json:"series,omitempty"`
	Annotations map[string]*ValueDiff[any] `yaml:"annotations,omitempty" json:"annotations,omitempty"`
}

// A RelationsDiff has the relations that only one side has, as pairs of endpoints.
type RelationsDiff struct {
	BundleAdditions [][]string `yaml:"bundle-additions,omitempty" json:"bundle-additions,omitempty"`
	ModelAdditions  [][]string `yaml:"model-additions,omitempty" json:"model-additions,omitempty"`
}

// A ValueDiff has the two values of what differs.
type ValueDiff[T any] struct {
	Bundle T `yaml:"bundle" json:"bundle"`
	Model  T `yaml:"model" json:"model"`
}

func differ[T comparable](inBundle, inModel T) *ValueDiff[T] {
	if inBundle == inModel {
		return nil
	}
	return &ValueDiff[T]{inBundle, inModel}
}

// Diff compares a bundle with a model, including annotations if requested. What the bundle does not specify, such as
// a series, is not a difference. Of a declared bundle, it is what Plan would change.
func Diff(w Wanted, m *Model, annotations bool) Difference {
	if w.Declared {
		m = m.lasting()
	}
	p := newPlanner(w, m)
	p.place(slices.Sorted(maps.Keys(w.Services)))
	return Difference{p.diffServices(annotations), p.diffMachines(annotations), p.diffRemotes(), p.diffOffers(), p.diffRelations()}
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
	series := cmp.Or(want.Series, p.Bundle.Series)
	if p.Declared {
		series = p.series(name)
	}
	if series != "" {
		d.Series = differ(series, have.Series)
	}
	d.NumUnits = differ(want.Units, len(have.Units))
	exposed, _ := want.Exposure()
	d.Expose = differ(len(exposed) > 0, len(have.Exposed) > 0)
	d.Endpoints = diffExposed(exposed, have.Exposed)
	if annotations {
		d.Annotations = diffAnnotations(want.Annotations, have.Annotations)
	}
	if !sameConstraints(want.Constraints, have.Constraints) {
		d.Constraints = &ValueDiff[string]{want.Constraints, have.Constraints.String()}
	}
	for endpoint, space := range p.otherBindings(name) {
		if d.Bindings == nil {
			d.Bindings = map[string]*ValueDiff[any]{}
		}
		d.Bindings[endpoint] = &ValueDiff[any]{space, spaceOf(have.Bindings, endpoint)}
	}
	d.Storage = p.diffStorage(name)
	if d.Resources = diffAnnotations(p.Resources[name], have.Resources); len(d.Resources) > 0 {
		maps.DeleteFunc(d.Resources, func(resource string, _ *ValueDiff[any]) bool {
			return p.Resources[name][resource] == ""
		})
	}
	if d.Charm == nil && d.Series == nil && d.NumUnits == nil && d.Expose == nil && len(d.Endpoints)+len(d.Options) == 0 &&
		len(d.Annotations) == 0 && d.Constraints == nil && len(d.Bindings)+len(d.Storage)+len(d.Resources) == 0 {
		return nil
	}
	return d
}

// diffExposed compares what is exposed, unless Expose says it all.
func diffExposed(want, have entity.ExposedEndpoints) map[string]*ValueDiff[any] {
	if want.IsPlain() && have.IsPlain() {
		return nil
	}
	all := map[string]*ValueDiff[any]{}
	value := func(e entity.ExposedEndpoints, name string) any {
		if to, ok := e[name]; ok {
			return to
		}
		return nil
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(have)) {
		if a, b := value(want, name), value(have, name); !want[name].Equal(have[name]) {
			all[name] = &ValueDiff[any]{a, b}
		}
	}
	return all
}

// sameConstraints reports whether constraints of a bundle are those of the model.
func sameConstraints(want string, have constraints.Value) bool {
	c, err := constraints.Parse(want)
	return err == nil && c.Equal(have)
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
	if p.Declared {
		known = p.machinesInUse()
	}
	for _, id := range slices.Sorted(maps.Keys(p.Bundle.Machines)) {
		want, of := p.Bundle.Machines[id], id
		if spot := p.spots[id]; spot != nil {
			of = spot.ID
		} else if p.Declared {
			if p.awaited(id) {
				all[newMachine+id] = &MachineDiff{Missing: modelSide}
			}
			continue
		}
		known[of] = true
		have := p.model.Machines[of]
		if have == nil {
			all[of] = &MachineDiff{Missing: modelSide}
			continue
		}
		d := &MachineDiff{}
		if series := cmp.Or(want.Series, p.Bundle.Series); series != "" && (!p.Declared || want.Series != "") {
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
