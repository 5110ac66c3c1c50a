package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
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
		if !testing.Short() && p.rand.IntN(5) == 0 {
			p.makeTrouble()
		} else if p.rand.IntN(5) == 0 {
			p.occupy()
		}
		p.round(p.act, p.await)
		p.mend()
	}
	for !p.ended {
		p.rounds++
		p.round(p.end, p.awaitEnd)
	}
	t.Logf("%d hooks, %d changes and %d refusals were foreseen", p.hooks, p.changes, p.refused)
	if p.hooks == 0 {
		t.Error("no hooks were foreseen")
	}
}

// A foreseer changes a model and compares what happens with the plans.
type foreseer struct {
	*system
	rand                   *rand.Rand
	other                  *state.State // a model with an offer
	rounds, hooks, changes int
	refused                int
	planning               bool     // the change is only planned
	ended                  bool     // the model is destroyed
	trouble                []string // units whose hook has failed
	refusal                bool     // the cloud has refused a machine
	busy                   string   // a unit that runs a command
	past                   []string // the latest changes
	next                   int      // the number of the next service or charm
	journal                string
	fail                   string // the file with the unit and the name of the hook that fails, as a pattern
	release                string // the file whose presence ends a unit's task
	read                   int    // lines
}

// foreseenRelations are between these services; at first there are two of them.
var foreseenRelations = [][]string{{"site:db", "store:server"}, {"log:host", "site:juju-info"}, {"log:host", "store:juju-info"},
	{"site:db", "one"}}

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
	p.cloud.SetSubnets(entity.Subnet{CIDR: "10.0.0.0/16", ProviderID: "a", Network: "n"}, entity.Subnet{CIDR: "10.1.0.0/16", ProviderID: "b", Network: "n"},
		entity.Subnet{CIDR: "10.2.0.0/16", ProviderID: "c", Network: "n"})
	p.journal = filepath.Join(p.machines, "journal")
	p.fail, p.release = filepath.Join(p.machines, "fail"), filepath.Join(p.machines, "release")
	p.ok(os.WriteFile(p.journal, nil, 0o600))
	p.ok(os.WriteFile(p.fail, nil, 0o600))
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
	for _, r := range foreseenRelations[:2] {
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
	conn := p.dial()
	defer conn.Close()
	p.ok(conn.ReloadSpaces(p.ctx))
	if wrong := p.untilRight(func(m *entity.ModelStatus) string { return p.unsettled(m, nil) }); wrong != "" {
		t.Fatal(wrong)
	}
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
	hook := "#!/bin/sh\nhook=${JUJU_DISPATCH_PATH:-$0}\ncase \"$JUJU_UNIT_NAME ${hook##*/}\" in $(cat " + p.fail + ")) exit 1;; esac\necho \"$JUJU_UNIT_NAME ${JUJU_DISPATCH_PATH:-$0} $JUJU_REMOTE_UNIT$JUJU_STORAGE_ID\" >>" + p.journal + "\n"
	files := []string{"config.yaml", "options: {n: {type: int, default: 0}}\n", "version", fmt.Sprint(p.next)}
	if service == "store" {
		for _, name := range []string{"install", "config-changed", "start", "stop", "upgrade-charm", "server-relation-joined",
			"server-relation-changed", "server-relation-departed", "server-relation-broken"} {
			files = append(files, "hooks/"+name, hook)
		}
	} else {
		files = append(files, "dispatch", hook, "actions.yaml", "act: {description: d}\n")
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
		if words := strings.Fields(line); len(words) > 1 && filepath.Base(filepath.Dir(words[1])) == "hooks" && filepath.Base(words[1]) != "update-status" {
			ran = append(ran, entity.PlannedHook{Unit: words[0], Hook: filepath.Base(words[1]), About: strings.Join(words[2:], "")})
		}
	}
	return ran, len(lines) - 1
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
	await func(*entity.Plan, facts) ([]entity.PlannedHook, string)) {
	p.Helper()
	m, err := p.st.Status(p.ctx)
	p.ok(err)
	if late, _ := p.took(); len(late) > 0 {
		p.Fatalf("nobody has foreseen %v", late)
	}
	before, err := p.facts(m)
	p.ok(err)
	act := choose(m)
	plan, planErr, err := p.perform(act)
	for range 5 { // what an agent or a cleanup still does is not seen in the status
		if !errors.Is(err, entity.Moved) {
			break
		}
		plan, planErr, err = p.perform(act)
	}
	did := fmt.Sprintf("%s (trouble %v, refusal %v, busy %q)", act.what, p.trouble, p.refusal, p.busy)
	p.Logf("round %d: %s", p.rounds, did)
	p.past = append(p.past[max(0, len(p.past)-4):], did)
	what := fmt.Sprintf("round %d: %s", p.rounds, strings.Join(p.past, "; then "))
	var refused, hints []string
	switch {
	case plan == nil && err != nil:
		refused, hints, plan = []string{planErr.Error()}, []string{entity.Hint(planErr)}, &entity.Plan{}
	case plan == nil:
		p.Fatalf("%s: it was planned that %v", what, planErr)
	default:
		refused, hints = plan.Refused, plan.Hints
	}
	p.ok(os.WriteFile(p.release, nil, 0o600))
	if (err != nil) != (len(refused) > 0) || err != nil && err.Error() != strings.Join(refused, "\n") {
		p.Fatalf("%s: it was planned that %v (%v), but %v", what, refused, planErr, err)
	}
	if err != nil {
		if hint := entity.Hint(err); hint != strings.Join(hints[:min(len(hints), 1)], "") {
			p.Fatalf("%s: the hint is %q, but was planned to be %q", what, hint, hints)
		}
		p.refused++
	}
	if wrong := p.waits(plan); wrong != "" {
		p.Fatalf("%s: %s", what, wrong)
	}
	ran, wrong := await(plan, before)
	if got, want := ofPlan(sure(plan, ran)), ofPlan(sure(plan, plan.Hooks)); got != want || wrong != "" {
		p.Fatalf("%s: the hooks were\n%s\nbut the plan was\n%s\nin detail %v\nand %v; %s", what, got, want, ran, plan.Hooks, wrong)
	}
	p.hooks += len(ran)
	p.changes += len(plan.Changes)
}

// waits says what is wrong in what a plan says of units that are not settled, and of what does not end, or "".
func (p *foreseer) waits(plan *entity.Plan) string {
	if strings.Join(plan.Unsettled, " ") != strings.Join(p.trouble, " ") && plan.Token != "" {
		return fmt.Sprintf("not settled: %v, not %v", plan.Unsettled, p.trouble)
	}
	stuck := 0
	for _, c := range rowsOf(plan.Changes) {
		if strings.Contains(c, " life: alive -> ") {
			stuck++
		}
	}
	waits := slices.DeleteFunc(slices.Clone(plan.Waits), func(s string) bool { return !strings.Contains(s, " is not removed") })
	troubled := len(p.trouble) > 0 || p.refusal // a unit with storage does not end without a machine
	if !troubled && stuck > 0 || stuck != len(waits) {
		return fmt.Sprintf("waits: %v, in %v", plan.Waits, plan.Changes)
	}
	return ""
}

// perform plans a change, and then makes it unless the model has changed since.
func (p *foreseer) perform(act plannedAct) (plan *entity.Plan, planErr, err error) {
	p.Helper()
	dry := p.dial()
	defer dry.Close()
	dry.PlanOnly()
	p.planning = true
	if act.several {
		dry.KeepForPlan()
	}
	planErr = act.do(p.ctx, dry)
	plan = dry.Planned()
	made := p.dial()
	defer made.Close()
	if plan != nil {
		made.OnlyIfUnchanged(plan.Token)
	}
	p.planning = false
	return plan, planErr, act.do(p.ctx, made)
}

// await waits until what was planned has happened. It returns the hooks that have run, and what is still wrong.
func (p *foreseer) await(plan *entity.Plan, before facts) (ran []entity.PlannedHook, wrong string) {
	p.Helper()
	want := rowsOf(plan.Changes)
	until := p.read
	wrong = p.untilRight(func(m *entity.ModelStatus) string {
		if wrong := p.unsettled(m, p.trouble); wrong != "" {
			return wrong
		}
		is, err := p.facts(m)
		if err != nil {
			return err.Error()
		}
		if ran, until = p.took(); len(sure(plan, ran)) < len(sure(plan, plan.Hooks)) {
			return "hooks are missing"
		}
		return difference(want, is.since(before))
	})
	p.read = until
	return ran, wrong
}

// awaitEnd is await for a plan that removes the model.
func (p *foreseer) awaitEnd(plan *entity.Plan, before facts) (ran []entity.PlannedHook, wrong string) {
	p.Helper()
	if plan.Token == "" || len(plan.Refused) > 0 {
		return p.await(plan, before)
	}
	p.ended = true
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	events, err := p.c.ctrl.WatchUnfinishedModels(ctx)
	p.ok(err)
	for range events {
		if _, err := p.c.ctrl.ModelRow(ctx, p.model); entity.IsNotFound(err) {
			ran, _ = p.took()
			lasts := func(what string) bool { // it has no life, and plans leave it
				kind, _, _ := strings.Cut(what, " ")
				return slices.Contains([]string{"space", "storage-pool", "task"}, kind)
			}
			maps.DeleteFunc(before, func(what string, _ map[string]string) bool { return lasts(what) })
			return ran, difference(rowsOf(plan.Changes), facts{}.since(before))
		}
	}
	return nil, "the model is still there"
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
