package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/charm"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A view is a model as its users see it.
type view struct {
	machines  map[string]entity.MachineStatus
	services  map[string]entity.ServiceStatus
	units     map[string]entity.UnitStatus
	relations map[string]entity.RelationStatus
	storage   map[string]entity.StorageStatus
	remotes   map[string]entity.RemoteStatus
	offers    map[string]entity.OfferStatus
	settings  map[string]map[string]any    // by service
	limits    map[string]string            // constraints, by service
	files     map[string]map[string]string // sums of resources' files, by service
	models    map[string]modelView         // the only one, by its name
	items     map[string]map[string]item   // by kind
}

// A modelView has what users set of a model.
type modelView struct {
	life        entity.Life
	settings    modelconfig.Config
	constraints string
}

// look reads a model.
func look(ctx context.Context, st *state.State) (*view, error) {
	status, err := st.Status(ctx)
	if err != nil {
		return nil, err
	}
	v := &view{machines: map[string]entity.MachineStatus{}, services: map[string]entity.ServiceStatus{},
		units: map[string]entity.UnitStatus{}, relations: map[string]entity.RelationStatus{},
		storage: map[string]entity.StorageStatus{}, remotes: map[string]entity.RemoteStatus{},
		offers: map[string]entity.OfferStatus{}, settings: map[string]map[string]any{}, limits: map[string]string{}, files: map[string]map[string]string{},
		models: map[string]modelView{status.Model.Name: {life: status.Model.Life}}}
	if status.Model.Life == entity.Dead { // nothing keeps it
		v.models = map[string]modelView{}
	}
	for _, m := range status.AllMachines() {
		v.machines[m.ID] = m
	}
	for _, u := range status.AllUnits() {
		v.units[u.Name] = u
	}
	for _, r := range status.Relations {
		v.relations[r.Key] = r
	}
	for _, r := range status.Remotes {
		v.remotes[r.Name] = r
	}
	for _, o := range status.Offers {
		v.offers[o.Name] = o
	}
	all, err := st.StorageStatus(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		v.storage[s.ID] = s
	}
	for _, s := range status.Services {
		v.services[s.Name] = s
	}
	return v, nil
}

// lookCloser reads the model's and the services' settings and constraints too.
func lookCloser(ctx context.Context, st *state.State) (*view, error) {
	v, err := look(ctx, st)
	if err != nil {
		return nil, err
	}
	if v.items, err = items(ctx, st); err != nil {
		return nil, err
	}
	for name, m := range v.models {
		if m.settings, err = st.Settings().Config(ctx); err != nil {
			return nil, err
		}
		limits, err := st.Settings().Constraints(ctx)
		if err != nil {
			return nil, err
		}
		m.constraints = limits.String()
		v.models[name] = m
	}
	for name := range v.services {
		svc, err := st.Service(ctx, name)
		if err != nil {
			return nil, err
		}
		if v.settings[name], err = svc.ConfigSettings(ctx); err != nil {
			return nil, err
		}
		if trusted, isSet, err := svc.Trust(ctx); err != nil {
			return nil, err
		} else if isSet {
			v.settings[name][charm.Trust] = trusted
		}
		resources, err := svc.Resources(ctx)
		if err != nil {
			return nil, err
		}
		v.files[name] = resources.Sums()
		if svc.IsSubordinate() {
			continue
		}
		limits, err := svc.Constraints(ctx)
		if err != nil {
			return nil, err
		}
		v.limits[name] = limits.String()
	}
	return v, nil
}

// since returns what has changed since another view, in the order in which people think of it.
func (v *view) since(was *view) (changes []entity.PlannedChange) {
	changes = append(changes, differences("model", was.models, v.models, func(modelView) string {
		return ""
	}, modelView.since)...)
	changes = append(changes, differences("service", was.services, v.services, func(s entity.ServiceStatus) string {
		return "charm " + s.CharmURL
	}, func(a, b entity.ServiceStatus) []string { return v.ofService(was, a, b) })...)
	changes = append(changes, differences("machine", was.machines, v.machines, func(m entity.MachineStatus) string {
		return strings.TrimSpace(m.Series + " " + m.Constraints)
	}, func(a, b entity.MachineStatus) []string {
		return slices.Concat(change("life", a.Life, b.Life),
			change("constraints", a.Constraints, b.Constraints), started(a, b))
	})...)
	changes = append(changes, differences("unit", was.units, v.units, func(u entity.UnitStatus) string {
		if u.Machine == "" {
			return "on no machine"
		}
		return "on machine " + u.Machine
	}, func(a, b entity.UnitStatus) []string {
		return slices.Concat(change("life", a.Life, b.Life), change("machine", a.Machine, b.Machine),
			v.ofCharm(was, a, b))
	})...)
	changes = append(changes, differences("saas", was.remotes, v.remotes,
		func(r entity.RemoteStatus) string { return "offer " + r.URL },
		func(a, b entity.RemoteStatus) []string { return change("life", a.Life, b.Life) })...)
	changes = append(changes, differences("offer", was.offers, v.offers, func(o entity.OfferStatus) string {
		var names []string
		for _, e := range o.Endpoints {
			names = append(names, e.Name)
		}
		return fmt.Sprintf("application %s, endpoints %s", o.Service, strings.Join(names, ", "))
	}, func(a, b entity.OfferStatus) []string { return change("life", a.Life, b.Life) })...)
	changes = append(changes, differences("relation", was.relations, v.relations,
		func(r entity.RelationStatus) string { return "interface " + r.Interface },
		func(a, b entity.RelationStatus) []string {
			const suspended = "suspended"
			return append(change("life", a.Life, b.Life), change(suspended, a.Status.Status == suspended,
				b.Status.Status == suspended)...)
		})...)
	changes = append(changes, differences("storage", was.storage, v.storage, func(s entity.StorageStatus) string {
		return fmt.Sprintf("pool %s, unit %s", s.Pool, cmp.Or(s.Unit, "none"))
	}, func(a, b entity.StorageStatus) []string {
		return append(change("life", a.Life, b.Life), change("unit", cmp.Or(a.Unit, "none"), cmp.Or(b.Unit, "none"))...)
	})...)
	return append(changes, v.ofItems(was)...)
}

// ofService returns what has changed in a service.
func (v *view) ofService(was *view, a, b entity.ServiceStatus) []string {
	return slices.Concat(
		change("life", a.Life, b.Life),
		change("charm", a.CharmURL, b.CharmURL),
		change("base", entity.BaseOf(a.Series).Short(), entity.BaseOf(b.Series).Short()),
		change("exposed", a.Exposed, b.Exposed),
		ofExposure(a.Endpoints, b.Endpoints),
		change("min-units", a.MinUnits, b.MinUnits),
		change("constraints", was.limits[a.Name], v.limits[a.Name]),
		set("setting", was.settings[a.Name], v.settings[a.Name]),
		set("resource", was.files[a.Name], v.files[a.Name]),
		set("binding", a.Bindings, b.Bindings),
	)
}

// ofCharm returns how a unit's charm has changed, unless it is its service's.
func (v *view) ofCharm(was *view, a, b entity.UnitStatus) []string {
	if a.CharmURL == b.CharmURL {
		return nil
	}
	service := entity.UnitService(a.Name)
	return change("charm", cmp.Or(a.CharmURL, was.services[service].CharmURL),
		cmp.Or(b.CharmURL, v.services[service].CharmURL))
}

// since returns what has changed in a model.
func (was modelView) since(is modelView) []string {
	return slices.Concat(change("life", was.life, is.life), change("constraints", was.constraints, is.constraints),
		set("setting", was.settings, is.settings))
}

// set names the settings, or other values, that differ, without these: some are secret.
func set[V any](what string, before, now map[string]V) (all []string) {
	keys := maps.Clone(before)
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		old, isOld := before[key]
		is, isNow := now[key]
		if fmt.Sprint(old) != fmt.Sprint(is) || isOld != isNow {
			all = append(all, what+" "+key)
		}
	}
	return all
}

// ofExposure returns how the exposed endpoints have changed, unless that they are exposed says it all.
func ofExposure(a, b entity.ExposedEndpoints) []string {
	if a.IsPlain() && b.IsPlain() {
		return nil
	}
	return change("exposed endpoints", a.String(), b.String())
}

// started says that a machine that was waiting for its instance has one.
func started(a, b entity.MachineStatus) []string {
	if a.InstanceID == "" && b.InstanceID != "" {
		return []string{"started"}
	}
	return nil
}

// change says that something has changed, if it has.
func change[V comparable](what string, was, is V) []string {
	if was == is {
		return nil
	}
	return []string{fmt.Sprintf("%s: %v -> %v", what, was, is)}
}

// differences compares the entities of a kind.
func differences[E any](kind string, was, is map[string]E, about func(E) string, changed func(a, b E) []string,
) (all []entity.PlannedChange) {
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	for _, name := range entity.NaturalKeys(names) {
		a, before := was[name]
		b, now := is[name]
		c := entity.PlannedChange{Kind: kind, Name: name}
		switch {
		case !before:
			c.Action, c.Detail = entity.PlanAdd, about(b)
		case !now:
			c.Action = entity.PlanRemove
		default:
			c.Action, c.Detail = entity.PlanChange, strings.Join(changed(a, b), ", ")
			if c.Detail == "" {
				continue
			}
		}
		all = append(all, c)
	}
	return all
}

// waits returns what does not end, and why, and what is not foreseen of what changes from was to v.
func (r *rehearsal) waits(ctx context.Context, was, v *view) (all []string, err error) {
	var tags []entity.Tag
	add := func(life entity.Life, tag entity.Tag) {
		if life != entity.Alive {
			tags = append(tags, tag)
		}
	}
	for name, s := range v.services {
		add(s.Life, entity.ServiceTag(name))
	}
	for id, m := range v.machines {
		add(m.Life, entity.MachineTag(id))
	}
	for name, u := range v.units {
		add(u.Life, entity.UnitTag(name))
	}
	for key, rel := range v.relations {
		add(rel.Life, entity.RelationTag(key))
	}
	slices.SortFunc(tags, func(a, b entity.Tag) int { return entity.CompareNatural(a.String(), b.String()) })
	for _, name := range entity.NaturalKeys(r.lost) {
		if _, there := v.units[name]; there {
			all = append(all, fmt.Sprintf("unit %s runs no hooks: its agent is lost", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.contested)) {
		if _, there := v.services[name]; there {
			all = append(all, fmt.Sprintf("service %s: which unit leads it next is not foreseen; one in error runs leader-elected only "+
				"once that is resolved", name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.relations)) {
		if before, there := was.relations[key]; there && before.Life == v.relations[key].Life {
			continue
		}
		for _, end := range v.relations[key].Endpoints {
			if remote, there := v.remotes[end.Service]; there {
				all = append(all, fmt.Sprintf("relation %s: hooks for the units of %s, of another model, are not foreseen", key,
					remote.URL))
			}
		}
	}
	for _, id := range entity.NaturalKeys(r.refused) {
		if _, there := v.storage[id]; !there || was.storage[id].Status.Message == r.refused[id] {
			continue
		}
		all = append(all, fmt.Sprintf("storage %s: %s", id, r.refused[id]))
	}
	explainer := r.st.Explainer()
	for _, tag := range tags {
		e, err := explainer.Explain(ctx, tag)
		if err != nil {
			return nil, err
		}
		why := ""
		if len(e.Reasons) > 0 {
			why = ": " + e.Reasons[len(e.Reasons)-1].Text
		}
		all = append(all, fmt.Sprintf("%s is not removed%s", e.Name, why))
	}
	return all, nil
}
