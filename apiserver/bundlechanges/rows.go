package bundlechanges

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
)

// Rows returns a difference as what would change in the model for it to be as the bundle says, each value by itself.
func (d Difference) Rows(w Wanted, m *Model) (rows []entity.PlannedChange) {
	add := func(action, kind, name, format string, args ...any) {
		rows = append(rows, entity.PlannedChange{Action: action, Kind: kind, Name: name, Detail: fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Applications)) {
		switch s := d.Applications[name]; s.Missing {
		case modelSide:
			add(entity.PlanAdd, "service", name, "charm %s, %s", w.Services[name].Charm,
				entity.Counted(w.Services[name].Units, "unit"))
		case bundleSide:
			add(entity.PlanRemove, "service", name, "charm %s, %s", m.Services[name].CharmURL,
				entity.Counted(len(m.Services[name].Units), "unit"))
		default:
			for _, text := range s.rows() {
				add(entity.PlanChange, "service", name, "%s", text)
			}
		}
	}
	for _, id := range entity.NaturalKeys(d.Machines) {
		switch of := d.Machines[id]; of.Missing {
		case modelSide:
			add(entity.PlanAdd, "machine", id, "%s", w.Bundle.Machines[strings.TrimPrefix(id, newMachine)].Constraints)
		case bundleSide:
			add(entity.PlanRemove, "machine", id, "%s", strings.TrimSpace(m.Machines[id].Series+" "+m.Machines[id].Constraints.String()))
		default:
			for _, text := range append(fromTo("series", of.Series), notes("annotation", "", of.Annotations)...) {
				add(entity.PlanChange, "machine", id, "%s", text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.SAAS)) {
		switch of := d.SAAS[name]; of.Missing {
		case modelSide:
			add(entity.PlanAdd, "saas", name, "offer %s", w.SAAS[name])
		case bundleSide:
			add(entity.PlanRemove, "saas", name, "offer %s", m.SAAS[name].URL)
		default:
			add(entity.PlanChange, "saas", name, "%s", fromTo("offer", of.URL)[0])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Offers)) {
		switch of := d.Offers[name]; of.Missing {
		case modelSide:
			service, want := w.offer(name)
			add(entity.PlanAdd, "offer", name, "application %s, endpoints %s", service, strings.Join(want.Endpoints, ", "))
		case bundleSide:
			add(entity.PlanRemove, "offer", name, "application %s, endpoints %s", m.Offers[name].Service,
				strings.Join(m.Offers[name].Endpoints, ", "))
		default:
			rows = append(rows, of.rows(name)...)
		}
	}
	if d.Relations != nil {
		for _, ends := range d.Relations.BundleAdditions {
			add(entity.PlanAdd, "relation", strings.Join(ends, " "), "")
		}
		for _, ends := range d.Relations.ModelAdditions {
			add(entity.PlanRemove, "relation", strings.Join(ends, " "), "")
		}
	}
	return rows
}

// rows returns a text for each value that differs.
func (s *ServiceDiff) rows() []string {
	return slices.Concat(fromTo("charm", s.Charm), fromTo("series", s.Series), fromTo("units", s.NumUnits),
		fromTo("exposed", s.Expose), notes("exposed endpoint", "*", s.Endpoints), settings(s.Options),
		fromTo("constraints", s.Constraints),
		notes("space of", "the other endpoints", s.Bindings), notes("storage", "", s.Storage),
		notes("resource", "", s.Resources), notes("annotation", "", s.Annotations))
}

// fromTo says that a value differs, if it does.
func fromTo[T any](what string, d *ValueDiff[T]) []string {
	if d == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s -> %s", what, shown(d.Model), shown(d.Bundle))}
}

// settings says which settings differ. One that a bundle does not have is the charm's default there.
func settings(all map[string]*ValueDiff[any]) (texts []string) {
	for _, option := range slices.Sorted(maps.Keys(all)) {
		if d := all[option]; d.Bundle == nil {
			texts = append(texts, fmt.Sprintf("setting %s: %s -> the charm's default", option, shown(d.Model)))
		} else {
			texts = append(texts, fromTo("setting "+option, d)...)
		}
	}
	return texts
}

// notes says which of several values differ. rest stands for the key "".
func notes(what, rest string, all map[string]*ValueDiff[any]) (texts []string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, fromTo(what+" "+cmp.Or(key, rest), all[key])...)
	}
	return texts
}

// shown returns a value as people read it: text that could be taken for something else is quoted.
func shown(v any) string {
	text := fmt.Sprint(v)
	switch {
	case v == nil:
		return "none"
	case text == "" || text == "none" || strings.ContainsAny(text, " \n\t\""):
		return fmt.Sprintf("%q", text)
	}
	return text
}
