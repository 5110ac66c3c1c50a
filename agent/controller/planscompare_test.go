package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"juju/state/entity"
)

// starting names a machine whose agent has not started yet, or "": until then the model changes without anyone's doing.
func starting(m *entity.ModelStatus) string {
	refused := refusedMachines(m)
	for _, one := range m.AllMachines() {
		if one.Status.Status != entity.StatusStarted && !slices.Contains(refused, one.ID) {
			return fmt.Sprintf("machine %s is starting: %v", one.ID, one.Status)
		}
	}
	return ""
}

// refusedMachines returns the machines that the cloud has refused to start: nobody tries again until a user asks for it.
func refusedMachines(m *entity.ModelStatus) (ids []string) {
	for _, one := range m.AllMachines() {
		if one.InstanceID == "" && one.Life == entity.Alive && one.Status.Status == entity.StatusError {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// sure returns hooks without those of the leader, where the plan says that it does not foresee who leads, and without those of
// units that are removed without hooks: until force has reached each of several units, it may see others depart.
func sure(plan *entity.Plan, hooks []entity.PlannedHook) []entity.PlannedHook {
	return slices.DeleteFunc(slices.Clone(hooks), func(h entity.PlannedHook) bool {
		if slices.ContainsFunc(plan.Changes, func(c entity.PlannedChange) bool {
			return c.Kind == "unit" && c.Name == h.Unit && c.Action == entity.PlanRemove
		}) && !slices.ContainsFunc(plan.Hooks, func(of entity.PlannedHook) bool { return of.Unit == h.Unit }) {
			return true
		}
		unknown := "service " + entity.UnitService(h.Unit) + ": which unit leads"
		return (h.Hook == "leader-elected" || h.Hook == "leader-settings-changed") &&
			slices.ContainsFunc(plan.Waits, func(s string) bool { return strings.HasPrefix(s, unknown) })
	})
}

// ofPlan writes hooks in a form that is the same for all orders in which they may come: what concerns one other unit is in
// order, and so is the rest of a unit's life; who leads is chance, and so are the numbers of new subordinates.
func ofPlan(hooks []entity.PlannedHook) string {
	lines, beside := map[string][]string{}, map[string]string{}
	for _, h := range hooks {
		if h.Hook == "host-relation-joined" {
			beside[h.Unit] = entity.UnitService(h.Unit) + "/beside-" + h.About
		}
	}
	for _, h := range hooks {
		h.Unit = cmp.Or(beside[h.Unit], h.Unit)
		key := h.Unit + " " + h.About
		if h.Hook == "leader-elected" || h.Hook == "leader-settings-changed" {
			key = entity.UnitService(h.Unit) + " leads"
		}
		lines[key] = append(lines[key], h.Hook)
	}
	var all []string
	for key, list := range lines {
		if strings.HasSuffix(key, " leads") {
			slices.Sort(list)
		}
		all = append(all, key+": "+strings.Join(list, " "))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// facts are what users see of a model: the values of attributes, by kind and name. A plan does not show those that begin with
// "setting", "resource" or "binding", only that they change.
type facts map[string]map[string]string

// at notes attributes, given as pairs of names and values.
func (f facts) at(what string, attributes ...any) map[string]string {
	if f[what] == nil {
		f[what] = map[string]string{}
	}
	for i := 0; i < len(attributes); i += 2 {
		f[what][attributes[i].(string)] = fmt.Sprint(attributes[i+1])
	}
	return f[what]
}

// facts reads the model. It fails with NotFound if something is removed meanwhile.
func (p *foreseer) facts(m *entity.ModelStatus) (facts, error) {
	f := facts{}
	model := f.at("model "+m.Model.Name, "life", m.Model.Life)
	limits, err := p.st.Settings().Constraints(p.ctx)
	p.ok(err)
	model["constraints"] = limits.String()
	settings, err := p.st.Settings().Config(p.ctx)
	p.ok(err)
	for key, value := range settings {
		model["setting "+key] = fmt.Sprint(value)
	}
	for _, s := range m.Services {
		if err := p.factsOf(f, s); err != nil {
			return nil, err
		}
	}
	for _, x := range m.AllMachines() {
		f.at("machine "+x.ID, "life", x.Life, "constraints", x.Constraints)
	}
	for _, u := range m.AllUnits() {
		f.at("unit "+u.Name, "life", u.Life, "machine", u.Machine, "charm", u.CharmURL)
	}
	for _, r := range m.Relations {
		f.at("relation "+r.Key, "life", r.Life, "suspended", r.Status.Status == "suspended")
	}
	for _, r := range m.Remotes {
		f.at("saas "+r.Name, "life", r.Life)
	}
	for _, o := range m.Offers {
		f.at("offer "+o.Name, "life", o.Life)
	}
	p.factsOfItems(f)
	return f, nil
}

// factsOf reads a service.
func (p *foreseer) factsOf(f facts, s entity.ServiceStatus) error {
	of := f.at("service "+s.Name, "life", s.Life, "charm", s.CharmURL, "exposed", s.Exposed, "min-units", s.MinUnits,
		"base", entity.BaseOf(s.Series).Short())
	svc, err := p.st.Service(p.ctx, s.Name)
	if err != nil {
		return err
	}
	settings, err := svc.ConfigSettings(p.ctx)
	if err != nil {
		return err
	}
	for key, value := range settings {
		of["setting "+key] = fmt.Sprint(value)
	}
	if trusted, isSet, err := svc.Trust(p.ctx); err != nil {
		return err
	} else if isSet {
		of["setting trust"] = fmt.Sprint(trusted)
	}
	for endpoint, space := range s.Bindings {
		of["binding "+endpoint] = space
	}
	if limits, err := svc.Constraints(p.ctx); err == nil {
		of["constraints"] = limits.String()
	} else if !svc.IsSubordinate() {
		return err
	}
	return nil
}

// factsOfItems reads storage, and what has no life.
func (p *foreseer) factsOfItems(f facts) {
	p.Helper()
	storage, err := p.st.StorageStatus(p.ctx)
	p.ok(err)
	for _, s := range storage {
		f.at("storage "+s.ID, "life", s.Life, "unit", cmp.Or(s.Unit, "none"))
	}
	spaces, err := p.st.Settings().Networks().Spaces(p.ctx)
	p.ok(err)
	for _, s := range spaces {
		cidrs := namesOf(s.Subnets, func(s entity.Subnet) string { return s.CIDR })
		slices.Sort(cidrs)
		f.at("space "+s.Name, "subnets", cmp.Or(strings.Join(cidrs, " "), "none"))
	}
	pools, err := p.st.Pools().All(p.ctx)
	p.ok(err)
	for _, pool := range pools {
		var all []string
		for key, value := range pool.Attributes {
			all = append(all, key+"="+value)
		}
		slices.Sort(all)
		f.at("storage-pool "+pool.Name, "attributes", cmp.Or(strings.Join(all, " "), "none"))
	}
	operations, _, err := p.st.Tasks().Operations(p.ctx, func(entity.Operation) bool { return true }, 0)
	p.ok(err)
	for _, o := range operations {
		for _, t := range o.Tasks {
			f.at("task " + t.ID)
		}
	}
}

// since returns what has changed since earlier facts, in the form of rowsOf.
func (f facts) since(was facts) (all []string) {
	for what := range was {
		if f[what] == nil {
			all = append(all, "remove "+what)
		}
	}
	for what, is := range f {
		before, there := was[what]
		if !there {
			all = append(all, "add "+what)
			continue
		}
		for key := range keysOf(before, is) {
			text := f.change(was, what, key)
			if text != "" {
				all = append(all, "change "+what+" "+text)
			}
		}
	}
	slices.Sort(all)
	return all
}

// change says how an attribute has changed, or "".
func (f facts) change(was facts, what, key string) string {
	before, isOld := was[what][key]
	is, isNow := f[what][key]
	kind, name, _ := strings.Cut(what, " ")
	if before == is && isOld == isNow {
		return ""
	}
	if hidden, _, _ := strings.Cut(key, " "); slices.Contains([]string{"setting", "resource", "binding"}, hidden) {
		return key
	}
	if kind == "unit" && key == "charm" { // "" stands for that of its service
		service := "service " + entity.UnitService(name)
		before, is = cmp.Or(before, was[service][key]), cmp.Or(is, f[service][key])
	}
	if before == is {
		return ""
	}
	return fmt.Sprintf("%s: %s -> %s", key, before, is)
}

// rowsOf returns a plan's changes, each of one attribute.
func rowsOf(changes []entity.PlannedChange) (all []string) {
	for _, c := range changes {
		text := c.Action + " " + c.Kind + " " + c.Name
		if c.Action != entity.PlanChange {
			all = append(all, text)
			continue
		}
		for _, detail := range strings.Split(c.Detail, ", ") {
			if c.Kind == "task" || c.Kind == "machine" && detail == "started" {
				continue // that ends by itself
			}
			all = append(all, text+" "+detail)
		}
	}
	slices.Sort(all)
	return all
}

// keysOf returns the keys of both maps.
func keysOf(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for key := range a {
		all[key] = true
	}
	for key := range b {
		all[key] = true
	}
	return all
}

// difference says what is in only one of two lists, or "".
func difference(want, is []string) string {
	var all []string
	for _, s := range want {
		if !slices.Contains(is, s) {
			all = append(all, "not: "+s)
		}
	}
	for _, s := range is {
		if !slices.Contains(want, s) {
			all = append(all, "unforeseen: "+s)
		}
	}
	return strings.Join(all, ", ")
}
