package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/constraints"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
	"juju/state/statetest"
)

// A theatre is a model with units, and a stage for rehearsals of its changes.
type theatre struct {
	*testing.T
	ctx   context.Context
	st    *state.State
	stage *Stage
	lost  map[string]bool
}

func newTheatre(t *testing.T) *theatre {
	t.Helper()
	store, err := mongo.OpenMemory(mongo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	ctrl, st := statetest.ControllerOn(t, store, controller.Options{PasswordCost: statetest.PasswordCost})
	h := &theatre{T: t, ctx: t.Context(), st: st, lost: map[string]bool{},
		stage: &Stage{Store: store, Controller: ctrl, Temp: t.TempDir()}}
	url := statetest.Charm(t, st, `{name: web, summary: s, description: d, peers: {ring: {interface: ring}}}`,
		"dispatch", "#!/bin/sh\n", "config.yaml", "options: {n: {type: int, default: 0}}\n")
	_, err = st.AddService(h.ctx, state.AddServiceParams{Name: "web", CharmURL: url, Units: 3})
	h.ok(err)
	return h
}

func (h *theatre) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// plan plans a change.
func (h *theatre) plan(change func(context.Context, *state.State) error) (entity.Plan, error) {
	return h.stage.Plan(h.ctx, statetest.Admin, h.st.UUID(), func(unit string) bool { return h.lost[unit] },
		func(ctx context.Context, _ *controller.Controller, st *state.State) error { return change(ctx, st) })
}

// service returns a change of the service web.
func service(change func(context.Context, *state.Service) error) func(context.Context, *state.State) error {
	return func(ctx context.Context, st *state.State) error {
		svc, err := st.Service(ctx, "web")
		if err == nil {
			err = change(ctx, svc)
		}
		return err
	}
}

func (h *theatre) dump() string {
	h.Helper()
	all, err := h.st.Dump(h.ctx)
	h.ok(err)
	text, err := json.Marshal(all)
	h.ok(err)
	return string(text)
}

// start has the machines and the units' agents come up, as they do when all hooks have run.
func (h *theatre) start() {
	h.Helper()
	machines, err := h.st.Machines(h.ctx)
	h.ok(err)
	for _, m := range machines {
		h.ok(m.SetProvisioned(h.ctx, entity.Instance{ID: "i-" + m.ID(), Nonce: "n", Addresses: []string{"10.0.0." + m.ID()}}))
	}
	status, err := h.st.Status(h.ctx)
	h.ok(err)
	for _, s := range status.AllUnits() {
		u, err := h.st.Unit(h.ctx, s.Name)
		h.ok(err)
		h.ok(u.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusIdle}))
		h.ok(u.SetStatus(h.ctx, entity.Status{Status: entity.StatusActive}))
		h.ok(u.SetCharm(h.ctx, status.Services[0].CharmURL))
		relations, err := u.Relations(h.ctx)
		h.ok(err)
		for _, r := range relations {
			h.ok(u.EnterScope(h.ctx, r.ID))
		}
	}
}

func text(hooks []entity.PlannedHook) string {
	var all []string
	for _, h := range hooks {
		all = append(all, strings.TrimSpace(h.Unit+" "+h.Hook+" "+h.About))
	}
	return strings.Join(all, ", ")
}

// A rehearsal reads the model and changes nothing, whether the change would be made or refused.
func TestAPlanChangesNothing(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	before := h.dump()
	plan, err := h.plan(service(func(ctx context.Context, s *state.Service) error { return s.Destroy(ctx, entity.Destruction{}) }))
	h.ok(err)
	got := ""
	for _, c := range plan.Changes {
		got += fmt.Sprintf("%s %s %s, ", c.Action, c.Kind, c.Name)
	}
	// The agents have never come up, so nothing runs.
	if want := "remove service web, change machine 0, change machine 1, change machine 2, remove unit web/0, remove unit web/1, " +
		"remove unit web/2, remove relation web:ring, "; got != want || len(plan.Hooks) > 0 {
		t.Errorf("the plan is %s%v, want %s", got, plan.Hooks, want)
	}
	_, err = h.plan(service(func(ctx context.Context, s *state.Service) error { return s.SetConfig(ctx, map[string]any{"x": 1}) }))
	if err == nil {
		t.Error("a setting that the charm doesn't have is planned")
	}
	if h.dump() != before {
		t.Error("plans have changed the model")
	}
}

// A plan says which settings of a model change, and not to what: some are secret.
func TestAPlanNamesTheSettingsOfTheModel(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	plan, err := h.plan(func(ctx context.Context, st *state.State) error {
		if err := st.Settings().SetConfig(ctx, map[string]string{modelconfig.RetryHooks: "true", "http-proxy": "http://a:b@c"}, nil); err != nil {
			return err
		}
		mem, err := constraints.Parse("mem=2G")
		if err == nil {
			err = st.Settings().SetConstraints(ctx, mem)
		}
		return err
	})
	h.ok(err)
	if got := fmt.Sprint(plan.Changes[0]); got != "{change model default constraints:  -> mem=2048M, setting automatically-retry-hooks, "+
		"setting http-proxy}" {
		t.Errorf("the plan is %s", got)
	}
}

// A token changes with what plans depend on, and with nothing else.
func TestToken(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	token := func() string {
		t.Helper()
		text, err := h.st.Transactions().Token(h.ctx)
		h.ok(err)
		return text
	}
	first := token()
	plan, err := h.plan(func(context.Context, *state.State) error { return nil })
	if h.ok(err); plan.Token != first {
		t.Errorf("the plan's token is %s, the model's %s", plan.Token, first)
	}
	u, err := h.st.Unit(h.ctx, "web/0")
	h.ok(err)
	svc, err := h.st.Service(h.ctx, "web")
	h.ok(err)
	statetest.Charm(t, h.st, `{name: other, summary: s, description: d}`)
	h.ok(u.SetStatus(h.ctx, entity.Status{Status: entity.StatusActive}))
	h.ok(h.st.Annotations().Set(h.ctx, entity.UnitTag("web/0"), map[string]string{"a": "b"}))
	if token() != first {
		t.Error("a charm, a status or an annotation changes the token")
	}
	other, err := h.st.Unit(h.ctx, "web/1")
	h.ok(err)
	seen := map[string]bool{first: true}
	for what, change := range map[string]func() error{
		"an error":  func() error { return other.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: "m"}) },
		"a setting": func() error { return svc.SetConfig(h.ctx, map[string]any{"n": int64(1)}) },
		"a unit":    func() error { _, err := svc.AddUnits(h.ctx, 1, nil); return err },
		"a death":   func() error { return u.Destroy(h.ctx, entity.Destruction{}) },
		"exposure":  func() error { return svc.Expose(h.ctx, nil) },
		"a machine": func() error { _, err := h.st.AddMachine(h.ctx, state.AddMachineParams{}); return err },
		"a block":   func() error { return h.st.Blocks().SwitchOn(h.ctx, entity.BlockRemove, "") },
	} {
		h.ok(change())
		if now := token(); seen[now] {
			t.Errorf("%s does not change the token", what)
		} else {
			seen[now] = true
		}
	}
}

// A unit in error runs its hook again if that is resolved; one that is busy is named; and one whose agent is lost is not
// waited for.
func TestPlansOfUnitsInTrouble(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	set := service(func(ctx context.Context, s *state.Service) error {
		return s.SetConfig(ctx, map[string]any{"n": int64(7)})
	})
	plan, err := h.plan(set)
	h.ok(err)
	if got := text(plan.Hooks); got != "web/0 config-changed, web/1 config-changed, web/2 config-changed" || len(plan.Unsettled) > 0 {
		t.Errorf("the hooks are %s, unsettled %v", got, plan.Unsettled)
	}
	failed, err := h.st.Unit(h.ctx, "web/0")
	h.ok(err)
	h.ok(failed.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "ring-relation-changed"`,
		Data: map[string]any{"hook": "ring-relation-changed", "remote-unit": "web/2"}}))
	busy, err := h.st.Unit(h.ctx, "web/1")
	h.ok(err)
	h.ok(busy.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusExecuting, Message: "running upgrade-charm hook"}))
	h.lost["web/2"] = true
	plan, err = h.plan(set)
	h.ok(err)
	if got := text(plan.Hooks); got != "web/1 upgrade-charm, web/1 config-changed" || fmt.Sprint(plan.Unsettled) != "[web/0 web/1]" ||
		fmt.Sprint(plan.Waits) != "[unit web/2 runs no hooks: its agent is lost]" {
		t.Errorf("the hooks are %s, unsettled %v, waits %v", got, plan.Unsettled, plan.Waits)
	}
	resolve := func(retry bool) string {
		t.Helper()
		plan, err := h.plan(func(ctx context.Context, st *state.State) error {
			u, err := st.Unit(ctx, "web/0")
			if err != nil {
				return err
			}
			return errors.Join(u.Resolve(ctx, retry), set(ctx, st))
		})
		h.ok(err)
		return text(plan.Hooks)
	}
	if got, want := resolve(true), "web/0 ring-relation-changed web/2, web/1 upgrade-charm, web/0 config-changed, "+
		"web/1 config-changed"; got != want {
		t.Errorf("the hooks are %s, want %s", got, want)
	}
	// A hook that fails before the unit has ever started is followed by start.
	h.ok(failed.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusExecuting, Message: "running install hook"}))
	h.ok(failed.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "config-changed"`,
		Data: map[string]any{"hook": "config-changed"}}))
	h.ok(failed.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusIdle}))
	if got, want := resolve(false), "web/1 upgrade-charm, web/0 start, web/1 config-changed, web/0 ring-relation-joined web/1, "+
		"web/0 ring-relation-changed web/1, web/0 ring-relation-joined web/2, web/0 ring-relation-changed web/2, "+
		"web/0 config-changed"; got != want {
		t.Errorf("the hooks are %s, want %s", got, want)
	}
	// So it is if that is the first start itself.
	h.ok(failed.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusExecuting, Message: "running start hook"}))
	h.ok(failed.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "start"`,
		Data: map[string]any{"hook": "start"}}))
	h.ok(failed.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusIdle}))
	if got, want := resolve(false), "web/1 upgrade-charm, web/0 ring-relation-joined web/1, web/1 config-changed, "+
		"web/0 ring-relation-changed web/1, web/0 ring-relation-joined web/2, web/0 ring-relation-changed web/2, "+
		"web/0 config-changed"; got != want {
		t.Errorf("the hooks are %s, want %s", got, want)
	}
	h.ok(failed.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "ring-relation-changed"`,
		Data: map[string]any{"hook": "ring-relation-changed", "remote-unit": "web/2"}}))
	h.ok(failed.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusExecuting, Message: "running start hook"}))
	h.ok(failed.SetAgentStatus(h.ctx, entity.Status{Status: entity.StatusIdle}))
	if got, want := resolve(false), "web/1 upgrade-charm, web/0 config-changed, web/1 config-changed"; got != want {
		t.Errorf("the hooks are %s, want %s", got, want)
	}
}

// An upgrade in batches is foreseen to its end, the leader last.
func TestPlanOfUpgradeInBatches(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	url := statetest.Charm(t, h.st, `{name: web, summary: another, description: d, peers: {ring: {interface: ring}}}`,
		"dispatch", "#!/bin/sh\n", "config.yaml", "options: {n: {type: int, default: 0}}\n")
	plan, err := h.plan(service(func(ctx context.Context, s *state.Service) error {
		_, err := s.SetCharm(ctx, state.SetCharmParams{URL: url, Batch: 2, HealthTimeout: time.Minute})
		return err
	}))
	h.ok(err)
	if got, want := text(plan.Hooks), "web/1 upgrade-charm, web/2 upgrade-charm, web/1 config-changed, web/2 config-changed, "+
		"web/0 upgrade-charm, web/0 config-changed"; got != want || len(plan.Unsettled) > 0 {
		t.Errorf("the hooks are %s, want %s; unsettled %v", got, want, plan.Unsettled)
	}
}

// Units that wait for the LXD profile of another charm get it: the cloud is expected to give it.
func TestPlanOfACharmWithAProfile(t *testing.T) {
	h := newTheatre(t)
	h.start()
	for _, id := range []string{"0", "1"} { // nothing is recorded of the instance of machine 2
		m, err := h.st.Machine(h.ctx, id)
		h.ok(err)
		h.ok(m.SetCharmProfiles(h.ctx, entity.ProfilesSet{Instance: "i-" + id}))
	}
	next := statetest.Charm(t, h.st, `{name: web, summary: s, description: d, peers: {ring: {interface: ring}}}`,
		"dispatch", "#!/bin/sh\n", "lxd-profile.yaml", "config: {security.nesting: true}\n")
	plan, err := h.plan(service(func(ctx context.Context, svc *state.Service) error {
		_, err := svc.SetCharm(ctx, state.SetCharmParams{URL: next})
		return err
	}))
	h.ok(err)
	for _, want := range []string{"web/0 upgrade-charm", "web/1 upgrade-charm", "web/2 upgrade-charm"} {
		if got := text(plan.Hooks); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A plan says how the charm of a unit changes that has another than its service, and not that of each unit.
func TestAPlanNamesTheCharmsOfUnits(t *testing.T) {
	t.Parallel()
	was := &view{services: map[string]entity.ServiceStatus{"web": {CharmURL: "web-0"}}}
	now := &view{services: map[string]entity.ServiceStatus{"web": {CharmURL: "web-1"}}}
	for _, of := range []struct{ before, after, want string }{{"", "", "[]"}, {"", "web-0", "[]"}, {"web-9", "", "[charm: web-9 -> web-1]"}} {
		a, b := entity.UnitStatus{Name: "web/0", CharmURL: of.before}, entity.UnitStatus{Name: "web/0", CharmURL: of.after}
		if got := fmt.Sprint(now.ofCharm(was, a, b)); got != of.want {
			t.Errorf("from %q to %q: %s, want %s", of.before, of.after, got, of.want)
		}
	}
}

// A plan has what only users change: spaces, storage pools, disabled commands and tasks, for which no hooks run; bindings; and
// a machine that could not be started starts only if that is retried.
func TestAPlanOfWhatHasNoLife(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	h.ok(h.st.Settings().Networks().Reload(h.ctx, []entity.Subnet{{CIDR: "10.0.0.0/24"}, {CIDR: "10.1.0.0/24"}}))
	_, ids, _, err := h.st.Tasks().Enqueue(h.ctx, []state.NewTask{{Receiver: "0", Name: entity.CommandTask, Params: map[string]any{entity.CommandParam: "ls", entity.TimeoutParam: 1}}})
	h.ok(err)
	machine, err := h.st.AddMachine(h.ctx, state.AddMachineParams{})
	h.ok(err)
	h.ok(machine.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: "no"}))
	h.consumes("admin/other.kv", nil) // by app
	secret := entity.NewSecretID()
	h.ok(h.st.Secrets().Add(h.ctx, secret, "other", entity.SecretSettings{Content: entity.SecretContent{"key": "eA=="}}))
	mem, err := constraints.Parse("mem=1G")
	h.ok(err)
	changes := func(change func(context.Context, *state.State) error) string {
		t.Helper()
		plan, err := h.plan(change)
		h.ok(err)
		var all []string
		for _, c := range plan.Changes {
			all = append(all, strings.TrimSpace(strings.Join([]string{c.Action, c.Kind, c.Name, c.Detail}, " ")))
		}
		for _, hook := range plan.Hooks {
			all = append(all, hook.Hook)
		}
		return strings.Join(all, "; ")
	}
	for want, change := range map[string]func(context.Context, *state.State) error{
		"change space alpha subnets: 10.0.0.0/24 10.1.0.0/24 -> 10.1.0.0/24; add space db subnets 10.0.0.0/24": func(ctx context.Context, st *state.State) error {
			return st.Settings().Networks().AddSpace(ctx, "db", []string{"10.0.0.0/24"})
		},
		"add storage-pool fast provider rootfs": func(ctx context.Context, st *state.State) error {
			return st.Pools().Create(ctx, entity.StoragePool{Name: "fast", Provider: entity.PoolRootFS})
		},
		"add disabled-command remove-object why": func(ctx context.Context, st *state.State) error {
			return st.Blocks().SwitchOn(ctx, entity.BlockRemove, "why")
		},
		"remove secret " + secret: func(ctx context.Context, st *state.State) error { return st.Secrets().Remove(ctx, secret, nil) },
		"change secret " + secret + " access: none -> app": func(ctx context.Context, st *state.State) error {
			return st.Secrets().Grant(ctx, secret, "app")
		},
		"change task " + ids[0] + " status: pending -> cancelled": func(ctx context.Context, st *state.State) error {
			return st.Tasks().Cancel(ctx, ids[0])
		},
		"change machine " + machine.ID() + " constraints:  -> mem=1024M, started": func(ctx context.Context, st *state.State) error {
			m, err := st.Machine(ctx, machine.ID())
			if err == nil {
				err = m.RetryProvisioning(ctx, &mem)
			}
			return err
		},
	} {
		if got := changes(change); got != want {
			t.Errorf("the plan is %s, want %s", got, want)
		}
	}
}

// consumes adds a service "app", without units, and a remote service "store" that it can be related to.
func (h *theatre) consumes(url string, external *entity.External) {
	h.Helper()
	app := statetest.Charm(h.T, h.st, `{name: app, summary: s, description: d, requires: {db: {interface: kv}}}`, "dispatch", "#!/bin/sh\n")
	_, err := h.st.AddService(h.ctx, state.AddServiceParams{Name: "app", CharmURL: app})
	h.ok(err)
	h.ok(h.st.CrossModel().Consume(h.ctx, entity.Consumed{Name: "store", Model: "m", Offer: "o", URL: url, User: statetest.Admin,
		Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "kv"}}, External: external}))
}

// What a plan does not foresee, it says: the hooks for units of another model.
func TestAPlanSaysWhatItDoesNotForesee(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	h.consumes("admin/other.kv", nil)
	relate := func(ctx context.Context, st *state.State) error {
		_, err := st.AddRelation(ctx, "app", "store")
		return err
	}
	plan, err := h.plan(relate)
	h.ok(err)
	want := "[relation app:db store:server: hooks for the units of admin/other.kv, of another model, are not foreseen]"
	if got := fmt.Sprint(plan.Waits); got != want && got != strings.ReplaceAll(want, "app:db store:server", "store:server app:db") {
		t.Errorf("it says %s, want %s", got, want)
	}
	h.ok(relate(h.ctx, h.st))
	plan, err = h.plan(service(func(ctx context.Context, svc *state.Service) error { return svc.Expose(ctx, nil) }))
	if h.ok(err); len(plan.Waits) > 0 {
		t.Errorf("of what does not change it says %q", plan.Waits)
	}
}

// A plan decides as the workers do: storage that the cloud can't attach to a host stays where it is, and the unit waits for it.
func TestAPlanSaysWhichStorageTheCloudRefuses(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	web, err := h.st.Service(h.ctx, "web")
	h.ok(err)
	host, err := h.st.AddMachine(h.ctx, state.AddMachineParams{Series: web.Series(),
		Manual: entity.Instance{ID: "manual:10.0.0.9", Nonce: "manual"}})
	h.ok(err)
	url := statetest.Charm(t, h.st, `{name: db, summary: s, description: d, storage: {data: {type: filesystem}}}`, "dispatch", "#!/bin/sh\n")
	plan, err := h.plan(func(ctx context.Context, st *state.State) error {
		_, err := st.AddService(ctx, state.AddServiceParams{Name: "db", CharmURL: url, Units: 1, Placement: []entity.Placement{{Machine: host.ID()}}})
		return err
	})
	h.ok(err)
	want := "[storage data/0: cannot attach it to unit db/0: its machine is manual:10.0.0.9, a host for which the cloud has no storage]"
	if got := fmt.Sprint(plan.Waits); got != want {
		t.Errorf("the plan waits for %s, want %s", got, want)
	}
	if got := text(plan.Hooks); strings.Contains(got, "db/0") {
		t.Errorf("a unit without its storage runs %s", got)
	}
}

// A relation with an offer of another controller ends there in a plan too, and with it the remote service.
func TestAPlanEndsRelationsWithOtherControllers(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	h.consumes("west:admin/other.kv", &entity.External{Controller: "c", Name: "west", Addresses: []string{"192.0.2.1:1"}, ID: "t"})
	r, err := h.st.AddRelation(h.ctx, "app", "store")
	h.ok(err)
	h.ok(h.st.CrossModel().Mirror(h.ctx, r.ID(), entity.Members{Units: map[int]map[string]string{0: {}}}))
	plan, err := h.plan(func(ctx context.Context, st *state.State) error {
		remote, err := st.CrossModel().Remote(ctx, "store")
		if err != nil {
			return err
		}
		return remote.Destroy(ctx, entity.Destruction{})
	})
	h.ok(err)
	gone := 0
	for _, c := range plan.Changes {
		if c.Action == entity.PlanRemove {
			gone++
		}
	}
	if left := fmt.Sprint(plan.Waits); gone != 2 || strings.Contains(left, "must") {
		t.Errorf("it removes %+v, and leaves %v", plan.Changes, left)
	}
}

// A plan of too many hooks, or of units that know too many others, is refused.
func TestAPlanHasABoundOfHooks(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	r := h.stage.rehearsal(func(string) bool { return false })
	r.real, r.st, r.hooks = h.st, h.st, make([]entity.PlannedHook, maxHooks+1)
	if err := r.play(h.ctx); err == nil || !strings.Contains(err.Error(), "cannot plan: more than 100000 hooks would run") {
		t.Errorf("it is %v", err)
	}
	r.known = maxMembers
	if _, err := (&unit{rehearsal: r}).but(map[string]int64{"web/0": 1}); err == nil ||
		!strings.Contains(err.Error(), "cannot plan: units would have to know more than 5000000 others") {
		t.Errorf("it is %v", err)
	}
}

// Who leads next is chance. A plan has one that can run hooks lead, and says so if a unit in error might.
func TestAPlanSaysThatAUnitInErrorMayLead(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	leader, err := h.st.Unit(h.ctx, "web/0")
	h.ok(err)
	_, err = leader.ClaimLeadership(h.ctx, time.Minute)
	h.ok(err)
	failed, err := h.st.Unit(h.ctx, "web/1")
	h.ok(err)
	h.ok(failed.SetStatus(h.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "config-changed"`,
		Data: map[string]any{"hook": "config-changed"}}))
	plan, err := h.plan(func(ctx context.Context, st *state.State) error {
		u, err := st.Unit(ctx, "web/0")
		return errors.Join(err, u.Destroy(ctx, entity.Destruction{}))
	})
	h.ok(err)
	if got := text(plan.Hooks); !strings.Contains(got, "web/2 leader-elected") {
		t.Errorf("the hooks are %s", got)
	}
	if got := fmt.Sprint(plan.Waits); got != "[service web: which unit leads it next is not foreseen; one in error runs leader-elected only "+
		"once that is resolved]" {
		t.Errorf("waits: %s", got)
	}
}

// Units that nothing happens to in a relation know nobody there, so that a large one costs nothing; if someone joins, they do.
func TestAPlanKnowsOthersWhereSomethingHappens(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	h.start()
	r := h.stage.rehearsal(func(string) bool { return false })
	store, err := mongo.OpenMemory(mongo.Options{Hooks: func(string) mongo.Hooks { return r.changes }})
	h.ok(err)
	defer store.Close()
	h.ok(mongo.CopyParts(h.ctx, h.stage.Store, store, func(mongo.Form) (there, full bool) { return true, true }))
	ctrl, err := controller.Open(h.ctx, store, controller.Options{Now: r.now})
	h.ok(err)
	defer ctrl.Close()
	r.real = h.st
	r.st, err = ctrl.Model(h.ctx, h.st.UUID())
	h.ok(err)
	before, err := r.look(h.ctx)
	h.ok(err)
	h.ok(r.meet(h.ctx, before.units))
	svc, err := r.st.Service(h.ctx, "web")
	h.ok(err)
	for _, step := range []struct {
		change func() error
		known  int
		hooks  int
	}{
		{func() error { return svc.Expose(h.ctx, nil) }, 0, 0},
		{func() error { return svc.SetConfig(h.ctx, map[string]any{"n": int64(7)}) }, 0, 3},
		{func() error { _, err := svc.AddUnits(h.ctx, 1, nil); return err }, 4*3 + 3*2, 4 + 4*3},
	} {
		h.ok(step.change())
		r.hooks = nil
		h.ok(r.play(h.ctx))
		if r.known != step.known || len(r.hooks) < step.hooks {
			t.Errorf("units know %d others and run %s; want %d and %d", r.known, text(r.hooks), step.known, step.hooks)
		}
	}
}
