package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// checkExplain checks that the lines of an explanation start with these, in order.
func (w *world) checkExplain(name string, lines ...string) entity.Explanation {
	w.Helper()
	tag, err := w.st.FindEntity(w.ctx, strings.Fields(name)...)
	w.ok(err)
	e, err := w.st.Explainer().Explain(w.ctx, tag)
	w.ok(err)
	var got []string
	for _, r := range e.Reasons {
		got = append(got, strings.Repeat(" ", r.Depth)+r.Text)
	}
	if strings.Join(got, "\n") != strings.Join(lines, "\n") {
		w.Errorf("explain %s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	return e
}

// failedAndGoing is what a user can do about a failed hook of the Dying unit mysql/0.
const failedAndGoing = "run the hook again: juju resolved mysql/0; skip it: juju resolved --no-retry mysql/0; skip every hook " +
	"that fails: juju destroy-unit --lenient mysql/0; run no hook at all, and leave behind what stop would remove: " +
	"juju destroy-unit --force mysql/0"

func TestExplainNamesBlockersAndActors(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.checkExplain("mysql/0",
		`the agent of unit "mysql/0" has not come up: the agent of machine 0 must start it`,
		` machine 0 has no instance: the provisioner must start one`)
	m := w.provisioned("0")
	w.checkExplain("0", `the agent of machine 0 has not come up on instance i-0`)
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	w.checkExplain("0")
	r := w.relate("mysql", "wordpress")
	my, wp := w.started("mysql/0"), w.started("wordpress/0")
	w.checkExplain("mysql/0")
	w.ok(my.EnterScope(w.ctx, r.ID()))
	w.ok(wp.EnterScope(w.ctx, r.ID()))
	w.ok(my.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "db-relation-joined"`}))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	w.checkExplain("mysql",
		`service "mysql" has unit "mysql/0"`,
		` service "mysql" is dying: the agent of unit "mysql/0", or the cleaner, must set the unit dying`,
		`service "mysql" is in relation "wordpress:db mysql:server"`,
		` relation "wordpress:db mysql:server" has unit "mysql/0" in scope`,
		` relation "wordpress:db mysql:server" has unit "wordpress/0" in scope`,
		`  the agent of unit "wordpress/0" must leave the relation`)
	w.clean()
	e := w.checkExplain("mysql/0",
		`unit "mysql/0" is in relation "wordpress:db mysql:server"`,
		`unit "mysql/0": hook failed: "db-relation-joined"`)
	if last := e.Reasons[1]; last.By != entity.ByUser || last.Hint != failedAndGoing || last.Since.IsZero() {
		t.Errorf("last reason is %+v", last)
	}
	w.ok(my.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient}))
	w.ok(my.LeaveScope(w.ctx, r.ID()))
	w.checkExplain("mysql/0", `the agent of unit "mysql/0" must run its last hooks and set it dead`)
	w.ok(my.EnsureDead(w.ctx))
	w.checkExplain("mysql/0", `unit "mysql/0" is dead: the agent of machine 0 must remove it`)
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.checkExplain("0", `machine 0 has unit "mysql/0" assigned`,
		` unit "mysql/0" is dead: the agent of machine 0 must remove it`)
	w.ok(my.Remove(w.ctx))
	w.checkExplain("wordpress mysql",
		`relation "wordpress:db mysql:server" has unit "wordpress/0" in scope`,
		` the agent of unit "wordpress/0" must leave the relation`)
	w.checkExplain("0", `the agent of machine 0 must set it dead`)
	w.ok(m.EnsureDead(w.ctx))
	w.checkExplain("0", `machine 0 is dead: the provisioner must stop instance i-0 and remove it`)
	tags, err := w.st.Unsettled(w.ctx)
	w.ok(err)
	if len(tags) != 4 { // the service, the relation and both machines
		t.Errorf("unsettled are %v", tags)
	}
	w.ok(m.Remove(w.ctx))
	_, err = w.st.Explainer().Explain(w.ctx, entity.MachineTag("0"))
	w.gone("machine", "0", err)
}

// Units leave a Dying relation and live on. One whose agent is away is named.
func TestExplainNamesUnitsThatMustLeaveARelation(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("mysql", "wordpress")
	w.ok(w.started("mysql/0").EnterScope(w.ctx, r.ID()))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	_, err := w.st.AddRelation(w.ctx, "wordpress", "mysql:server")
	w.refused(err, entity.AlreadyExists, `cannot add relation "wordpress:db mysql:server": the old one is still being removed`)
	if hint := entity.Hint(err); hint != "To wait until it is removed: juju destroy-relation wordpress mysql:server --wait; to see what blocks it: juju explain wordpress mysql:server" {
		t.Errorf("the hint is %s", hint)
	}
	e := w.checkExplain("mysql wordpress",
		`relation "wordpress:db mysql:server" has unit "mysql/0" in scope`,
		` the agent of unit "mysql/0" must leave the relation`)
	if len(e.Reasons) != 2 || e.Reasons[1].By != "unit-mysql-0" {
		t.Errorf("reasons are %+v", e.Reasons)
	}
}

func TestExplainShowsLeftovers(t *testing.T) {
	w, later := forcedWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	m := w.provisioned("0")
	w.ok(m.Destroy(w.ctx, entity.Forced()))
	if e := w.checkExplain("0", "the agent of machine 0 must set it dead"); e.Strength != entity.Force ||
		e.Deadline.IsZero() {
		t.Errorf("explain returned %+v", e)
	}
	later(time.Minute)
	w.clean()
	later(2 * time.Minute)
	w.clean()
	e := w.checkExplain("0")
	if e.Life != entity.Gone || len(e.Leftovers) != 1 || !strings.Contains(e.Leftovers[0].Why, "has not stopped it") {
		t.Errorf("explain returned %+v", e)
	}
}

// Explain shows changes of the entity that were given up.
func TestExplainShowsRefusedChanges(t *testing.T) {
	ctrl, st := statetest.ControllerOn(t, statetest.Store(t, mongo.Options{Patience: 50 * time.Millisecond}),
		controller.Options{})
	w := &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	restore := w.st.RewriteOps(func(ops []txn.Op) []txn.Op {
		for i := range ops {
			if ops[i].C == "units" {
				ops[i].Assert = bson.D{{Name: "life", Value: entity.Dead}} // never true
			}
		}
		return ops
	})
	w.refused(u.Destroy(w.ctx, entity.Destruction{}), entity.Contention, "state changing too quickly; try again soon")
	restore()
	e := w.checkExplain("mysql/0")
	if len(e.Refusals) != 1 || !strings.Contains(e.Refusals[0].Text, "units mysql/0: life is alive, not dead") {
		t.Errorf("refused changes are %+v", e.Refusals)
	}
}

// A service is explained by its units: running and failed hooks, the statuses
// that charms set, or that there are none.
func TestExplainServiceByItsUnits(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 0)
	if e := w.checkExplain("mysql", `service "mysql" has no units`); e.Reasons[0].Hint != "juju add-unit mysql" {
		t.Errorf("reasons are %+v", e.Reasons)
	}
	_, err := mustService(w, "mysql").AddUnits(w.ctx, 13, nil)
	w.ok(err)
	for i := range 13 {
		u := w.started(fmt.Sprint("mysql/", i))
		w.ok(u.SetStatus(w.ctx, entity.Status{Status: entity.StatusActive}))
		w.ok(u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
	}
	w.checkExplain("mysql")
	set := func(i int, workload, agent entity.Status) {
		u, err := w.st.Unit(w.ctx, fmt.Sprint("mysql/", i))
		w.ok(err)
		w.ok(u.SetStatus(w.ctx, workload))
		w.ok(u.SetAgentStatus(w.ctx, agent))
	}
	idle := entity.Status{Status: entity.StatusIdle}
	set(0, entity.Status{Status: entity.StatusError, Message: `hook failed: "start"`,
		Data: map[string]any{"hook": "start", "reason": "exit status 7", "last-line": "no space"}}, idle)
	set(2, entity.Status{Status: entity.StatusActive},
		entity.Status{Status: entity.StatusExecuting, Message: "running config-changed hook"})
	set(3, entity.Status{Status: entity.StatusBlocked, Message: "needs a database"}, idle)
	set(10, entity.Status{Status: entity.StatusActive},
		entity.Status{Status: entity.StatusFailed, Message: "cannot deploy charm"})
	e := w.checkExplain("mysql",
		`unit "mysql/0": hook failed: "start" (exit status 7: no space)`,
		`unit "mysql/2": running config-changed hook`,
		`unit "mysql/3" says that it is blocked: needs a database`,
		`unit "mysql/10": its agent has failed: cannot deploy charm`)
	if len(e.Reasons) == 4 && (e.Reasons[1].By != "unit-mysql-2" || e.Reasons[2].By != entity.ByUser) {
		t.Errorf("reasons are %+v", e.Reasons)
	}
	// Units of other services with the same prefix are not included.
	w.deploy("mysql0", statetest.MySQL, 1)
	tags, err := w.st.Unsettled(w.ctx)
	w.ok(err)
	var names []string
	for _, tag := range tags {
		if tag.Kind == entity.KindUnit {
			names = append(names, tag.ID)
		}
	}
	if got := strings.Join(names, " "); got != "mysql0/0 mysql/0 mysql/2 mysql/3 mysql/10" {
		t.Errorf("unsettled units are %s", got)
	}
	for i := range 13 {
		set(i, entity.Status{Status: entity.StatusWaiting}, idle)
	}
	w.checkExplain("mysql", func() (lines []string) {
		for i := range 10 {
			lines = append(lines, fmt.Sprintf(`unit "mysql/%d" says that it is waiting`, i))
		}
		return append(lines, "and 3 more units")
	}()...)
	// A Dying unit names the hook that it is running.
	u, err := w.st.Unit(w.ctx, "mysql/4")
	w.ok(err)
	w.ok(u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusExecuting, Message: "running start hook"}))
	w.ok(u.Destroy(w.ctx, entity.Destruction{}))
	w.checkExplain("mysql/4", `the agent of unit "mysql/4" must run its last hooks and set it dead`,
		` unit "mysql/4": running start hook`, ` machine 4 has no instance: the provisioner must start one`)
}

// Only an agent that has started can be away.
func TestStartedAgents(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("wordpress", statetest.Wordpress, 1)
	m := w.provisioned("0")
	list := func(of entity.Tag) string {
		tags, err := w.st.Agents().Started(w.ctx, of)
		w.ok(err)
		return fmt.Sprint(tags)
	}
	if got := list(entity.Tag{}); got != "[]" {
		t.Errorf("no agent has started, but got %s", got)
	}
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	w.started("mysql/1")
	w.started("wordpress/0")
	for _, test := range []struct {
		of   entity.Tag
		want string
	}{
		{entity.Tag{}, "[unit-mysql-1 unit-wordpress-0 machine-0]"},
		{entity.ServiceTag("mysql"), "[unit-mysql-1]"},
		{entity.UnitTag("mysql/0"), "[]"},
		{entity.UnitTag("mysql/1"), "[unit-mysql-1]"},
		{entity.MachineTag("0"), "[machine-0]"},
		{entity.MachineTag("1"), "[]"},
		{entity.RelationTag("x:y"), "[]"},
		{entity.StorageTag("data/0"), "[]"},
		{entity.OfferTag("shop"), "[]"},
	} {
		if got := list(test.of); got != test.want {
			t.Errorf("%v: got %s, want %s", test.of, got, test.want)
		}
	}
	// What is Dead no longer needs its agent.
	dead, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	dead = w.provisioned(dead.ID())
	w.ok(dead.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	w.ok(dead.Destroy(w.ctx, entity.Destruction{}))
	w.ok(dead.EnsureDead(w.ctx))
	w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/1").EnsureDead(w.ctx))
	if got, want := list(entity.Tag{}), "[unit-wordpress-0 machine-0]"; got != want {
		t.Errorf("of all, some Dead: got %s, want %s", got, want)
	}
}

// The agents of subordinates run on the machines of their principals.
func TestMachinesOfAgents(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("logging", statetest.Logging, 0)
	r := w.relate("mysql", "logging")
	w.ok(w.started("mysql/1").EnterScope(w.ctx, r.ID()))
	for of, want := range map[entity.Tag]string{
		entity.MachineTag("1"): "[machine-1]", entity.UnitTag("mysql/1"): "[machine-1]", entity.UnitTag("logging/0"): "[machine-1]",
		entity.ServiceTag("mysql"): "[machine-0 machine-1]", entity.ServiceTag("logging"): "[machine-1]",
		entity.ServiceTag("none"): "[]", entity.UnitTag("mysql/9"): "[]", entity.StorageTag("data/0"): "[]",
	} {
		if got, err := w.st.Agents().Machines(w.ctx, of); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v: %v, %v, want %s", of, got, err, want)
		}
	}
}

// What is no entity's name, because it has too few words or too many, is refused as such.
func TestFindEntityRefusesWhatIsNoName(t *testing.T) {
	w := newWorld(t)
	for _, words := range [][]string{{}, {""}, {"mysql wordpress riak"}, {"mysql", "wordpress", "riak"}} {
		_, err := w.st.FindEntity(w.ctx, words...)
		w.refused(err, entity.Invalid, "unrecognized entity")
	}
}
