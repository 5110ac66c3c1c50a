package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state"
	"juju/state/constraints"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// Random changes of a model are planned, and then made with the plan's token. The hooks that run, and what is added and
// removed, must be what the plan says; and what the plan refuses is refused. The last change destroys the model.
// JUJU_PLAN_SEED=n plays the changes of a seed again.
func TestPlansComeTrue(t *testing.T) {
	t.Parallel()
	rounds := 25
	switch {
	case soaks():
		rounds = 2000
	case testing.Short():
		rounds = 12
	}
	seed := rand.Uint64N(1 << 32)
	if text := os.Getenv("JUJU_PLAN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("JUJU_PLAN_SEED=%d", seed)
	p := newForeseer(t, seed)
	for p.rounds = range rounds {
		p.round(p.act, p.await)
	}
	for !p.ended {
		p.rounds++
		p.round(p.end, p.awaitEnd)
	}
	t.Logf("%d hooks and %d refusals were foreseen", p.hooks, p.refused)
	if p.hooks == 0 {
		t.Error("no hooks were foreseen")
	}
}

// A foreseer changes a model and compares what happens with the plans.
type foreseer struct {
	*system
	rand                   *rand.Rand
	other                  *state.State // a model with an offer
	rounds, hooks, refused int
	ended                  bool // the model is destroyed
	next                   int  // the number of the next service or charm
	journal                string
	read                   int // lines
}

// foreseen are the services that are changed.
var foreseen = map[string]string{
	"site": `{name: site, summary: s, description: d, requires: {db: {interface: mysql}}, peers: {ring: {interface: ring}},
  storage: {data: {type: filesystem}, logs: {type: filesystem, multiple: {range: 0-3}}}}`,
	"store": `{name: store, summary: s, description: d, provides: {server: {interface: mysql}}}`,
	"log": `{name: log, summary: s, description: d, subordinate: true,
  requires: {host: {interface: juju-info, scope: container}}}`,
}

func newForeseer(t *testing.T, seed uint64) *foreseer {
	t.Helper()
	p := &foreseer{system: newSystem(t, Options{}), rand: rand.New(rand.NewPCG(seed, 0))}
	p.journal = filepath.Join(p.machines, "journal")
	p.ok(os.WriteFile(p.journal, nil, 0o600))
	for _, name := range []string{"site", "store", "log"} {
		n := 2
		if name == "log" {
			n = 0
		}
		params := state.AddServiceParams{Name: name, CharmURL: p.charm(name), Units: n}
		if name == "site" {
			params.Storage = map[string]entity.StorageConstraints{"data": {Pool: entity.PoolRootFS, Count: 1}}
		}
		_, err := p.st.AddService(p.ctx, params)
		p.ok(err)
	}
	for _, r := range relations {
		_, err := p.st.AddRelation(p.ctx, r...)
		p.ok(err)
	}
	_, err := p.c.ctrl.AddUser(p.ctx, controller.AddUserParams{Name: "bob", Creator: statetest.Admin})
	p.ok(err)
	p.other, err = p.c.ctrl.AddModel(p.ctx, controller.AddModelParams{Name: "other", Owner: statetest.Admin, Series: "jammy"})
	p.ok(err)
	_, err = p.other.AddService(p.ctx, state.AddServiceParams{Name: "far", CharmURL: statetest.Charm(t, p.other, foreseen["store"])})
	p.ok(err)
	p.ok(p.other.CrossModel().AddOffer(p.ctx, entity.NewOffer{Name: "far", Service: "far", Endpoints: []string{"server"}}))
	p.until("the model to settle", func(m *entity.ModelStatus) bool { return busy(m) == "" && len(everyUnit(m)) == 6 })
	_, p.read = p.took()
	return p
}

// charmOf returns the name of a charm.
func charmOf(url string) string {
	name := url[strings.LastIndex(url, "/")+1:]
	return name[:strings.LastIndex(name, "-")]
}

// charm adds the next version of a service's charm, whose hooks write a journal and do nothing else.
func (p *foreseer) charm(service string) string {
	p.next++
	hook := "#!/bin/sh\necho \"$JUJU_UNIT_NAME ${JUJU_DISPATCH_PATH:-$0} $JUJU_REMOTE_UNIT$JUJU_STORAGE_ID\" >>" + p.journal + "\n"
	files := []string{"config.yaml", "options: {n: {type: int, default: 0}}\n", "version", fmt.Sprint(p.next)}
	if service == "store" {
		for _, name := range []string{"install", "config-changed", "start", "stop", "upgrade-charm", "server-relation-joined",
			"server-relation-changed", "server-relation-departed", "server-relation-broken"} {
			files = append(files, "hooks/"+name, hook)
		}
	} else {
		files = append(files, "dispatch", hook)
	}
	return statetest.Charm(p.T, p.st, foreseen[service], files...)
}

// took returns the hooks that have run since the last round, and the number of lines of the journal.
func (p *foreseer) took() (ran []entity.PlannedHook, until int) {
	p.Helper()
	text, err := os.ReadFile(p.journal)
	p.ok(err)
	lines := strings.SplitAfter(string(text), "\n")
	for _, line := range lines[p.read : len(lines)-1] {
		if words := strings.Fields(line); len(words) > 1 && filepath.Base(words[1]) != "update-status" {
			ran = append(ran, entity.PlannedHook{Unit: words[0], Hook: filepath.Base(words[1]), About: strings.Join(words[2:], "")})
		}
	}
	return ran, len(lines) - 1
}

// A plannedAct is a change that a user makes.
type plannedAct struct {
	what string
	do   func(context.Context, *client.Conn) error
}

// end returns a change that destroys the model.
func (p *foreseer) end(*entity.ModelStatus) plannedAct {
	how := entity.Destruction{Strength: pick(p.rand, []entity.Strength{entity.Plain, entity.Lenient, entity.Force})}
	if how.Strength == entity.Force {
		how.Timeout = entity.ForceTimeout // within which the agents act
	}
	choice := p.rand.IntN(3) // without a choice it is refused if there is storage that outlives its machine
	how.Storage, how.Release = choice == 1, choice == 2
	return plannedAct{fmt.Sprintf("destroy the model %+v", how), func(ctx context.Context, c *client.Conn) error {
		return c.DestroyModel(ctx, p.model, how)
	}}
}

// act returns a random change.
func (p *foreseer) act(m *entity.ModelStatus) plannedAct {
	services := namesOf(m.Services, func(s entity.ServiceStatus) string { return s.Name })
	units := namesOf(m.AllUnits(), func(u entity.UnitStatus) string { return u.Name })
	machines := namesOf(m.AllMachines(), func(m entity.MachineStatus) string { return m.ID })
	service, unit, machine := pick(p.rand, services), cmp.Or(pick(p.rand, units), "none/0"), pick(p.rand, machines)
	how := entity.Destruction{Machines: p.rand.IntN(2) == 0, Storage: p.rand.IntN(2) == 0}
	one := func(errs []error, _ entity.DestroyInfo, err error) error { return errors.Join(append(errs, err)...) }
	how.Strength = pick(p.rand, []entity.Strength{entity.Plain, entity.Lenient, entity.Force})
	if how.Strength == entity.Force {
		how.Timeout = entity.ForceTimeout // within which the agents act
	}
	kind := p.rand.IntN(21)
	if len(units) > 12 {
		kind, how.Machines = 2, true
	} else if len(machines) > 12 {
		kind = 10
	}
	switch kind {
	case 0, 1:
		n := 1 + p.rand.IntN(2)
		var to []string
		if p.rand.IntN(3) == 0 {
			to = []string{machine}
		}
		return plannedAct{fmt.Sprintf("add %d units to %s on %v", n, service, to), func(ctx context.Context, c *client.Conn) error {
			_, _, err := c.AddUnits(ctx, service, n, to)
			return err
		}}
	case 2, 3:
		return plannedAct{fmt.Sprintf("destroy unit %s %+v", unit, how), func(ctx context.Context, c *client.Conn) error {
			return one(c.DestroyUnits(ctx, how, unit))
		}}
	case 4:
		ends := relations[p.rand.IntN(len(relations))]
		return plannedAct{fmt.Sprintf("destroy relation %v", ends), func(ctx context.Context, c *client.Conn) error {
			return c.DestroyRelation(ctx, entity.Destruction{}, ends...)
		}}
	case 5, 6:
		ends := relations[p.rand.IntN(len(relations))]
		return plannedAct{fmt.Sprintf("add relation %v", ends), func(ctx context.Context, c *client.Conn) error {
			_, err := c.AddRelation(ctx, ends...)
			return err
		}}
	case 7:
		if p.rand.IntN(3) == 0 {
			return plannedAct{"reset n of " + service, func(ctx context.Context, c *client.Conn) error {
				return c.ResetServiceConfig(ctx, service, "n")
			}}
		}
		n := strconv.Itoa(p.rand.IntN(3))
		return plannedAct{"set n of " + service + " to " + n, func(ctx context.Context, c *client.Conn) error {
			return c.SetServiceConfig(ctx, service, map[string]string{"n": n}, "")
		}}
	case 8:
		if p.rand.IntN(2) == 0 {
			return plannedAct{"unexpose " + service, func(ctx context.Context, c *client.Conn) error { return c.Unexpose(ctx, service) }}
		}
		return plannedAct{"expose " + service, func(ctx context.Context, c *client.Conn) error {
			_, err := c.Expose(ctx, service, nil)
			return err
		}}
	case 9:
		at := slices.IndexFunc(m.Services, func(s entity.ServiceStatus) bool { return s.Name == service })
		url := p.charm(charmOf(m.Services[at].CharmURL))
		batch := p.rand.IntN(3) // 0: all at once
		return plannedAct{fmt.Sprintf("upgrade %s to %s, %d at a time", service, url, batch), func(ctx context.Context, c *client.Conn) error {
			_, err := c.SetCharm(ctx, client.SetCharmArgs{Service: service, CharmURL: url, Rollout: client.Rollout{Batch: batch}})
			return err
		}}
	case 10:
		return plannedAct{"destroy machine " + machine, func(ctx context.Context, c *client.Conn) error {
			return one(c.DestroyMachines(ctx, entity.Destruction{}, machine))
		}}
	case 12:
		if p.rand.IntN(2) == 0 {
			base := entity.BaseOf([]string{"jammy", "noble"}[p.rand.IntN(2)])
			return plannedAct{fmt.Sprintf("set the base of %s to %s", service, base), func(ctx context.Context, c *client.Conn) error {
				return c.SetBase(ctx, service, base, true)
			}}
		}
		mem, err := constraints.Parse(fmt.Sprintf("mem=%dM", 16+p.rand.IntN(2)))
		p.ok(err)
		return plannedAct{fmt.Sprintf("set constraints of %s to %s", service, mem), func(ctx context.Context, c *client.Conn) error {
			_, err := c.SetServiceConstraints(ctx, service, mem)
			return err
		}}
	case 14, 15, 16:
		return p.storageAct(unit, how)
	case 17:
		return p.modelAct()
	case 18, 19, 20:
		return p.offerAct(service)
	case 13:
		return plannedAct{"add a machine", func(ctx context.Context, c *client.Conn) error {
			_, _, err := c.AddMachine(ctx, client.MachineArgs{})
			return err
		}}
	}
	if len(m.Services) > 3 {
		return plannedAct{fmt.Sprintf("destroy service %s %+v", service, how), func(ctx context.Context, c *client.Conn) error {
			return one(c.DestroyServices(ctx, how, service))
		}}
	}
	name := pick(p.rand, []string{"site", "store", "log"})
	args := client.DeployArgs{Service: name, CharmURL: p.charm(name), Units: 1 + p.rand.IntN(2)}
	if slices.Contains(services, name) {
		args.Service = fmt.Sprintf("%s%d", name, p.next)
	}
	if name == "log" {
		args.Units = 0
	}
	return plannedAct{fmt.Sprintf("deploy %+v", args), func(ctx context.Context, c *client.Conn) error {
		_, err := c.Deploy(ctx, args)
		return err
	}}
}

// storageAct returns a change of storage.
func (p *foreseer) storageAct(unit string, how entity.Destruction) plannedAct {
	p.Helper()
	all, err := p.st.StorageStatus(p.ctx)
	p.ok(err)
	id := pick(p.rand, append(namesOf(all, func(s entity.StorageStatus) string { return s.ID }), "logs/999"))
	how = entity.Destruction{Strength: how.Strength, Timeout: how.Timeout}
	each := func(errs []error, err error) error { return errors.Join(append(errs, err)...) }
	switch p.rand.IntN(5) {
	case 0:
		return plannedAct{"detach " + id, func(ctx context.Context, c *client.Conn) error { return each(c.DetachStorage(ctx, how, id)) }}
	case 1:
		return plannedAct{fmt.Sprintf("attach %s to %s", id, unit), func(ctx context.Context, c *client.Conn) error {
			return each(c.AttachStorage(ctx, unit, id))
		}}
	case 2:
		return plannedAct{fmt.Sprintf("remove %s %+v", id, how), func(ctx context.Context, c *client.Conn) error {
			return each(c.RemoveStorage(ctx, how, false, id))
		}}
	}
	stores := map[string]entity.StorageConstraints{"logs": {Pool: entity.PoolRootFS, Count: uint64(1 + p.rand.IntN(2))}}
	if p.rand.IntN(2) == 0 {
		stores["logs"] = entity.StorageConstraints{Pool: "local", Size: 1}
	}
	return plannedAct{fmt.Sprintf("add %v to %s", stores, unit), func(ctx context.Context, c *client.Conn) error {
		_, err := c.AddStorage(ctx, unit, stores)
		return err
	}}
}

// offerAct returns a change of offers, or of remote services, in which no unit is.
func (p *foreseer) offerAct(service string) plannedAct {
	name := pick(p.rand, []string{"one", "two"})
	url, each := "admin/default."+name, func(errs []error, err error) error { return errors.Join(append(errs, err)...) }
	switch p.rand.IntN(6) {
	case 0:
		return plannedAct{"remove offer " + name, func(ctx context.Context, c *client.Conn) error {
			return each(c.RemoveOffers(ctx, entity.Destruction{}, url))
		}}
	case 1:
		action, level := pick(p.rand, []string{client.Grant, client.Revoke}), pick(p.rand, []string{"read", "consume", "all"})
		return plannedAct{action + " " + level + " on " + name, func(ctx context.Context, c *client.Conn) error {
			return each(c.ModifyOfferAccess(ctx, action, "bob", level, url))
		}}
	case 2:
		return plannedAct{"remove saas " + name, func(ctx context.Context, c *client.Conn) error {
			return each(c.RemoveRemotes(ctx, entity.Destruction{}, name))
		}}
	case 3:
		of := pick(p.rand, []string{"admin/other.far", "admin/other.nosuch", url})
		return plannedAct{"consume " + of + " as " + name, func(ctx context.Context, c *client.Conn) error { return c.Consume(ctx, of, name) }}
	}
	offer := entity.NewOffer{Name: name, Service: service, Endpoints: []string{pick(p.rand, []string{"db", "server", "juju-info"})}}
	return plannedAct{fmt.Sprintf("add offer %+v", offer), func(ctx context.Context, c *client.Conn) error { return c.AddOffer(ctx, p.model, offer) }}
}

// modelAct returns a change of what is set of the model.
func (p *foreseer) modelAct() plannedAct {
	p.Helper()
	switch p.rand.IntN(3) {
	case 0:
		return plannedAct{"reset a setting of the model", func(ctx context.Context, c *client.Conn) error {
			return c.ResetModelConfig(ctx, modelconfig.RetryHooks)
		}}
	case 1:
		mem, err := constraints.Parse(fmt.Sprintf("mem=%dM", 16+p.rand.IntN(2)))
		p.ok(err)
		return plannedAct{fmt.Sprintf("set the constraints of the model to %s", mem), func(ctx context.Context, c *client.Conn) error {
			_, err := c.SetModelConstraints(ctx, mem)
			return err
		}}
	}
	value := pick(p.rand, []string{"true", "false", "maybe"})
	return plannedAct{"set a setting of the model to " + value, func(ctx context.Context, c *client.Conn) error {
		return c.SetModelConfig(ctx, map[string]string{modelconfig.RetryHooks: value})
	}}
}

// pick returns one of all, "" if there are none.
func pick[E any](r *rand.Rand, all []E) (one E) {
	if len(all) > 0 {
		one = all[r.IntN(len(all))]
	}
	return one
}

// namesOf returns the names of all, which may be none.
func namesOf[E any](all []E, name func(E) string) (names []string) {
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

// dial connects a user to the model.
func (p *foreseer) dial() *client.Conn {
	p.Helper()
	conn, err := client.Dial(p.ctx, client.Info{Dial: p.c.server.Dial, Model: p.model, Tag: entity.UserTag(statetest.Admin),
		Password: statetest.Password})
	p.ok(err)
	return conn
}

// round plans a change, makes it, and compares.
func (p *foreseer) round(choose func(*entity.ModelStatus) plannedAct,
	await func(*entity.Plan, []string) ([]entity.PlannedHook, string)) {
	p.Helper()
	before, err := p.st.Status(p.ctx)
	p.ok(err)
	if late, _ := p.took(); len(late) > 0 {
		p.Fatalf("nobody has foreseen %v", late)
	}
	there := p.things(before)
	act := choose(before)
	plan, planErr, err := p.perform(act)
	for range 5 { // what an agent or a cleanup still does is not seen in the status
		if !errors.Is(err, entity.Moved) {
			break
		}
		plan, planErr, err = p.perform(act)
	}
	var refused []string
	switch {
	case plan == nil && err != nil:
		refused = []string{planErr.Error()}
	case plan != nil:
		refused = plan.Refused
	}
	if (err != nil) != (len(refused) > 0) || err != nil && err.Error() != strings.Join(refused, "\n") {
		p.Fatalf("round %d: %s: it was planned that %v (%v), but %v", p.rounds, act.what, refused, planErr, err)
	}
	if err != nil {
		p.refused++
		return
	}
	if len(plan.Unsettled) > 0 || len(plan.Waits) > 0 {
		p.Fatalf("round %d: %s: not settled: %v, waits: %v", p.rounds, act.what, plan.Unsettled, plan.Waits)
	}
	ran, wrong := await(plan, there)
	if got, want := ofPlan(ran), ofPlan(plan.Hooks); got != want || wrong != "" {
		p.Fatalf("round %d: %s: the hooks were\n%s\nbut the plan was\n%s\nin detail %v\nand %v; %s", p.rounds, act.what, got, want,
			ran, plan.Hooks, wrong)
	}
	p.hooks += len(ran)
}

// perform plans a change, and then makes it unless the model has changed since.
func (p *foreseer) perform(act plannedAct) (plan *entity.Plan, planErr, err error) {
	p.Helper()
	dry := p.dial()
	defer dry.Close()
	dry.PlanOnly()
	planErr = act.do(p.ctx, dry)
	plan = dry.Planned()
	made := p.dial()
	defer made.Close()
	if plan != nil {
		made.OnlyIfUnchanged(plan.Token)
	}
	return plan, planErr, act.do(p.ctx, made)
}

// await waits until what was planned has happened. It returns the hooks that have run, and what is still wrong.
func (p *foreseer) await(plan *entity.Plan, before []string) (ran []entity.PlannedHook, wrong string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	events, err := p.st.Watches().Status(ctx)
	p.ok(err)
	until := 0
	for range events {
		m, err := p.st.Status(p.ctx)
		p.ok(err)
		ran, until = p.took()
		if wrong = busy(m) + starting(m) + isPlanned(plan.Changes, before, p.things(m)); wrong == "" && len(ran) >= len(plan.Hooks) {
			break
		}
	}
	p.read = until
	return ran, wrong
}

// awaitEnd is await for a plan that removes the model.
func (p *foreseer) awaitEnd(plan *entity.Plan, before []string) (ran []entity.PlannedHook, wrong string) {
	p.Helper()
	p.ended = true
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	events, err := p.c.ctrl.WatchUnfinishedModels(ctx)
	p.ok(err)
	for range events {
		if _, err := p.c.ctrl.ModelRow(p.model); entity.IsNotFound(err) {
			ran, _ = p.took()
			return ran, isPlanned(plan.Changes, append(before, "model "+DefaultModel), nil)
		}
	}
	return nil, "the model is still there"
}

// starting names a machine whose agent has not started yet, or "": until then the model changes without anyone's doing.
func starting(m *entity.ModelStatus) string {
	for _, one := range m.AllMachines() {
		if one.Status.Status != entity.StatusStarted {
			return fmt.Sprintf("machine %s is starting: %v", one.ID, one.Status)
		}
	}
	return ""
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

// isPlanned says what differs from what a plan adds and removes, or "".
func isPlanned(changes []entity.PlannedChange, before, after []string) string {
	want := slices.Clone(before)
	for _, c := range changes {
		switch c.Action {
		case entity.PlanAdd:
			want = append(want, c.Kind+" "+c.Name)
		case entity.PlanRemove:
			want = slices.DeleteFunc(want, func(s string) bool { return s == c.Kind+" "+c.Name })
		}
	}
	slices.Sort(want)
	return strings.Join(difference(want, after), ", ")
}

// things lists what is in the model.
func (p *foreseer) things(m *entity.ModelStatus) (all []string) {
	p.Helper()
	storage, err := p.st.StorageStatus(p.ctx)
	p.ok(err)
	for _, s := range storage {
		all = append(all, "storage "+s.ID)
	}
	for _, s := range m.Services {
		all = append(all, "service "+s.Name)
	}
	for _, x := range m.AllMachines() {
		all = append(all, "machine "+x.ID)
	}
	for _, u := range m.AllUnits() {
		all = append(all, "unit "+u.Name)
	}
	for _, r := range m.Relations {
		all = append(all, "relation "+r.Key)
	}
	for _, r := range m.Remotes {
		all = append(all, "saas "+r.Name)
	}
	for _, o := range m.Offers {
		all = append(all, "offer "+o.Name)
	}
	slices.Sort(all)
	return all
}

// difference returns what is in only one of two lists.
func difference(a, b []string) (all []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			all = append(all, "no "+s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			all = append(all, s)
		}
	}
	return all
}

// A plan reads the offers of other models as they are, and changes nothing there.
func TestPlansChangeNoOtherModel(t *testing.T) {
	t.Parallel()
	p := newForeseer(t, 1)
	const url = "admin/other.far"
	for what, act := range map[string]func(*client.Conn) error{
		"remove": func(c *client.Conn) error {
			errs, err := c.RemoveOffers(p.ctx, entity.Destruction{}, url)
			return errors.Join(append(errs, err)...)
		},
		"grant": func(c *client.Conn) error {
			errs, err := c.ModifyOfferAccess(p.ctx, client.Grant, "bob", "read", url)
			return errors.Join(append(errs, err)...)
		},
		"offer": func(c *client.Conn) error {
			return c.AddOffer(p.ctx, p.other.UUID(), entity.NewOffer{Name: "more", Service: "far", Endpoints: []string{"server"}})
		},
	} {
		dry := p.dial()
		dry.PlanOnly()
		err := act(dry)
		if plan := dry.Planned(); plan == nil || fmt.Sprint(plan.Refused) != "[cannot plan a change of another model]" {
			t.Errorf("%s: %v, the plan is %+v", what, err, plan)
		}
		dry.Close()
	}
	offers, err := p.other.CrossModel().Offers(p.ctx)
	p.ok(err)
	users, err := p.c.ctrl.OfferUsers(p.ctx, p.other.UUID(), offers[0].UUID)
	if p.ok(err); len(offers) != 1 || len(users) != 1 {
		t.Errorf("now there are %+v, of %+v", offers, users)
	}
}
