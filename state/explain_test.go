package state_test

import (
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// explained wants an explanation whose lines begin with these, in order.
func (w *world) explained(name string, lines ...string) entity.Explanation {
	w.Helper()
	tag, err := w.st.FindEntity(w.ctx, strings.Fields(name)...)
	w.ok(err)
	e, err := w.st.Explain(w.ctx, tag)
	w.ok(err)
	var got []string
	for _, r := range e.Reasons {
		got = append(got, strings.Repeat(" ", r.Depth)+r.Text)
	}
	if strings.Join(got, "\n") != strings.Join(lines, "\n") {
		w.Errorf("%s: explained by\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	return e
}

func TestExplainNamesWhatBarsAndWhoMustAct(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.explained("mysql/0",
		`the agent of unit "mysql/0" has not come up: the agent of machine 0 must start it`,
		` machine 0 has no instance: the provisioner must start one`)
	m := w.provisioned("0")
	w.explained("0", `the agent of machine 0 has not come up on instance i-0`)
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	w.explained("0")
	r := w.relate("mysql", "wordpress")
	my, wp := w.started("mysql/0"), w.started("wordpress/0")
	w.explained("mysql/0")
	w.ok(my.EnterScope(w.ctx, r.ID()))
	w.ok(wp.EnterScope(w.ctx, r.ID()))
	w.ok(my.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "db-relation-joined"`}))
	w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{}))
	w.explained("mysql",
		`service "mysql" has unit "mysql/0"`,
		` service "mysql" is dying: the agent of unit "mysql/0", or the cleaner, must set the unit dying`,
		`service "mysql" is in relation "wordpress:db mysql:server"`,
		` relation "wordpress:db mysql:server" has unit "mysql/0" in scope`,
		` relation "wordpress:db mysql:server" has unit "wordpress/0" in scope`,
		`  the agent of unit "wordpress/0" must leave the relation`)
	w.cleaned()
	e := w.explained("mysql/0",
		`unit "mysql/0" is in relation "wordpress:db mysql:server"`,
		`unit "mysql/0": hook failed: "db-relation-joined"`)
	if last := e.Reasons[1]; last.By != entity.ByUser || last.Hint != "juju resolved mysql/0" || last.Since.IsZero() {
		t.Errorf("who must act: %+v", last)
	}
	w.ok(my.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient}))
	w.ok(my.LeaveScope(w.ctx, r.ID()))
	w.explained("mysql/0", `the agent of unit "mysql/0" must run its last hooks and set it dead`)
	w.ok(my.EnsureDead(w.ctx))
	w.explained("mysql/0", `unit "mysql/0" is dead: the agent of machine 0 must remove it`)
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.explained("0", `machine 0 has unit "mysql/0" assigned`, ` unit "mysql/0" is dead: the agent of machine 0 must remove it`)
	w.ok(my.Remove(w.ctx))
	w.explained("wordpress mysql",
		`relation "wordpress:db mysql:server" has unit "wordpress/0" in scope`,
		` the agent of unit "wordpress/0" must leave the relation`)
	w.explained("0", `the agent of machine 0 must set it dead`)
	w.ok(m.EnsureDead(w.ctx))
	w.explained("0", `machine 0 is dead: the provisioner must stop instance i-0 and remove it`)
	tags, err := w.st.Unsettled(w.ctx)
	w.ok(err)
	if len(tags) != 4 { // the service, the relation, both machines
		t.Errorf("unsettled: %v", tags)
	}
	w.ok(m.Remove(w.ctx))
	_, err = w.st.Explain(w.ctx, entity.MachineTag("0"))
	w.gone("machine", "0", err)
}

// A relation is left by units that live on; one whose agent is away is named.
func TestExplainNamesWhoMustLeaveARelation(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	r := w.relate("mysql", "wordpress")
	w.ok(w.started("mysql/0").EnterScope(w.ctx, r.ID()))
	w.ok(r.Destroy(w.ctx, entity.Destruction{}))
	e := w.explained("mysql wordpress",
		`relation "wordpress:db mysql:server" has unit "mysql/0" in scope`,
		` the agent of unit "mysql/0" must leave the relation`)
	if len(e.Reasons) != 2 || e.Reasons[1].By != "unit-mysql-0" {
		t.Errorf("who must act: %+v", e.Reasons)
	}
}

func TestExplainSaysWhatForceHasLeft(t *testing.T) {
	w, later := forcedWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	m := w.provisioned("0")
	w.ok(m.Destroy(w.ctx, entity.Forced()))
	if e := w.explained("0", "the agent of machine 0 must set it dead"); e.Strength != entity.Force || e.Deadline.IsZero() {
		t.Errorf("explained: %+v", e)
	}
	later(time.Minute)
	w.cleaned()
	later(2 * time.Minute)
	w.cleaned()
	e := w.explained("0")
	if e.Life != entity.Gone || len(e.Residues) != 1 || !strings.Contains(e.Residues[0].Why, "has not stopped it") {
		t.Errorf("explained: %+v", e)
	}
}

// A change that was given up is told of where the thing is explained.
func TestExplainTellsOfRefusedChanges(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	w.st.DB().SetPatience(50 * time.Millisecond)
	restore := w.st.RewriteOps(func(ops []txn.Op) []txn.Op {
		for i := range ops {
			if ops[i].C == "units" {
				ops[i].Assert = bson.D{{Name: "life", Value: entity.Dead}} // which it never is
			}
		}
		return ops
	})
	w.refused(u.Destroy(w.ctx, entity.Destruction{}), entity.Contention, "state changing too quickly; try again soon")
	restore()
	e := w.explained("mysql/0")
	if len(e.Refusals) != 1 || !strings.Contains(e.Refusals[0].Text, "units mysql/0: life is alive, not dead") {
		t.Errorf("refused changes: %+v", e.Refusals)
	}
}

// Whoever has used force is not told that hooks will run.
func TestExplainSaysThatForceRunsNoHooks(t *testing.T) {
	w, _ := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.provisioned("0")
	w.ok(w.started("mysql/0").Destroy(w.ctx, entity.Forced()))
	w.explained("mysql/0", `the agent of unit "mysql/0" must set it dead, without running hooks`)
}

// A Dying unit whose instance was lost waits for another one.
func TestExplainSaysThatADyingUnitWaitsForAnInstance(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	m := w.provisioned("0")
	w.ok(w.started("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.Destroy(w.ctx, entity.Destruction{}))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	w.explained("0",
		`machine 0 has unit "mysql/0" assigned`,
		` the agent of unit "mysql/0" must run its last hooks and set it dead`,
		`  machine 0 has no instance: the provisioner must start one`)
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "no capacity"}))
	e := w.explained("mysql/0",
		`the agent of unit "mysql/0" must run its last hooks and set it dead`,
		` machine 0: no capacity`)
	if last := e.Reasons[1]; last.By != entity.ByUser || last.Hint != "juju retry-provisioning 0" {
		t.Errorf("who must act: %+v", last)
	}
}
