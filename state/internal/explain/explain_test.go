package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/explain"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
)

var since = time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)

// alive, dying and dead are lives; forced is that of an entity that was destroyed with force.
var (
	alive  = modeldb.Living{Since: since}
	dying  = modeldb.Living{Life: entity.Dying, Since: since}
	dead   = modeldb.Living{Life: entity.Dead, Since: since}
	forced = modeldb.Living{Life: entity.Dying, Since: since, Strength: entity.Force, Deadline: since.Add(time.Hour)}
)

// unit is mysql/0 on machine 0, whose agent has started; it runs the service's charm.
func unit(l modeldb.Living, changes ...func(*modeldb.Unit)) modeldb.Unit {
	u := modeldb.Unit{Living: l, Name: "mysql/0", Service: "mysql", Machine: "0", Started: true, CharmURL: "local:mysql-1"}
	for _, change := range changes {
		change(&u)
	}
	return u
}

func unstarted(u *modeldb.Unit) { u.Started = false }

func machine(l modeldb.Living, instance string, changes ...func(*modeldb.Machine)) modeldb.Machine {
	m := modeldb.Machine{Living: l, ID: "0", InstanceID: instance}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func status(key string, word entity.StatusWord, message string, data ...string) modeldb.Status {
	d := modeldb.Status{ID: key, Status: word, Message: message, Since: since}
	for i := 0; i < len(data); i += 2 {
		if d.Data == nil {
			d.Data = map[string]any{}
		}
		d.Data[data[i]] = data[i+1]
	}
	return d
}

func workload(word entity.StatusWord, message string, data ...string) modeldb.Status {
	return status(modeldb.WorkloadKey("mysql/0"), word, message, data...)
}

func agent(word entity.StatusWord, message string) modeldb.Status {
	return status(modeldb.UnitKey("mysql/0"), word, message)
}

var (
	service = modeldb.Service{Living: alive, Name: "mysql", CharmURL: "local:mysql-1"}
	started = status(modeldb.MachineKey("0"), entity.StatusStarted, "")
	up      = machine(alive, "i-0")
	idle    = agent(entity.StatusIdle, "")
	active  = workload(entity.StatusActive, "")
	spaces  = modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "db"}, {ID: "2", Name: "dmz"}},
		Subnets: []modeldb.Subnet{{Subnet: entity.Subnet{CIDR: "10.1.0.0/16"}, Space: "1"}}}
)

// shown shows an explanation: a line for each reason, "text | who | hint", indented below what it is a reason of.
func shown(e entity.Explanation) (lines []string) {
	for _, r := range e.Reasons {
		line := strings.Repeat(" ", r.Depth) + r.Text + " | " + r.By
		if r.Hint != "" {
			line += " | " + r.Hint
		}
		if r.Starting {
			line += " | starting"
		}
		lines = append(lines, line)
	}
	return lines
}

const (
	again     = "run the hook again: juju resolved mysql/0; skip it: juju resolved --no-retry mysql/0"
	comesUp   = `the agent of unit "mysql/0" has not come up: the agent of machine 0 must start it | machine-0`
	noMachine = "machine 0 has no instance: the provisioner must start one"
)

// An entity says why it has not started or has not been removed, who must act, and what a user can do.
func TestEntity(t *testing.T) {
	mysql, zero, disk := entity.UnitTag("mysql/0"), entity.MachineTag("0"), entity.StorageTag("data/0")
	upgraded := func(waiting ...string) func(*modeldb.Machine) {
		return func(m *modeldb.Machine) {
			m.Upgrade = &modeldb.SeriesUpgrade{To: "noble", Since: since, Waiting: waiting}
		}
	}
	failed := workload(entity.StatusError, `hook failed: "start"`, "hook", "start", "reason", "exit status 7", "last-line", "no space")
	instance := func(word, message string, data ...string) modeldb.Status {
		return status(modeldb.InstanceKey("0"), entity.StatusWord(word), message, data...)
	}
	inError := status(modeldb.MachineKey("0"), entity.StatusError, "no capacity")
	attached := func(l modeldb.Living, change func(*modeldb.Attachment)) modeldb.Attachment {
		a := modeldb.Attachment{Living: l, ID: "unit-mysql-0#data/0", Unit: "mysql/0", Storage: "data/0", Machine: "0", Mount: "/srv"}
		if change != nil {
			change(&a)
		}
		return a
	}
	located := func(a *modeldb.Attachment) { a.Location = "/srv" }
	stored := func(l modeldb.Living, change func(*modeldb.Storage)) modeldb.Storage {
		s := modeldb.Storage{Living: l, ID: "data/0"}
		if change != nil {
			change(&s)
		}
		return s
	}
	for _, c := range []struct {
		name string
		of   entity.Tag
		docs []any
		want []string
	}{
		{"a unit that runs", mysql, []any{unit(alive), service, up, started, idle, active}, nil},
		{"a unit that has not come up", mysql, []any{unit(alive, unstarted), service, machine(alive, "")},
			[]string{comesUp + " | starting", " " + noMachine + " | provisioner"}},
		{"on a machine in error", mysql, []any{unit(alive, unstarted), service, machine(alive, ""), inError},
			[]string{comesUp + " | starting", " machine 0: no capacity | user | juju retry-provisioning 0"}},
		{"on a machine that runs", mysql, []any{unit(alive, unstarted), service, up, started}, []string{comesUp}},
		{"on a machine that starts", mysql, []any{unit(alive, unstarted), service, up},
			[]string{comesUp + " | starting", " the agent of machine 0 has not come up on instance i-0 | machine-0 | starting"}},
		{"on a controller", mysql, []any{unit(alive, unstarted), service, machine(alive, "i-0", func(m *modeldb.Machine) { m.Jobs = []string{modeldb.JobManageModel} })},
			[]string{comesUp}},
		{"on a dying machine", mysql, []any{unit(alive, unstarted), service, machine(dying, ""), started}, []string{comesUp + " | starting"}},
		{"a subordinate that has not come up", entity.UnitTag("log/0"), []any{modeldb.Unit{Living: alive, Name: "log/0", Service: "mysql", Principal: "mysql/0"}, service},
			[]string{`the agent of unit "log/0" has not come up: the agent of unit mysql/0 must start it | unit-mysql-0`}},
		{"an unassigned one", mysql, []any{unit(alive, unstarted, func(u *modeldb.Unit) { u.Machine = "" }), service},
			[]string{`the agent of unit "mysql/0" has not come up: the agent of its machine must start it | `}},
		{"a dying unit that never came up", mysql, []any{unit(dying, unstarted), service, up, started},
			[]string{`the agent of unit "mysql/0" never came up: the agent of machine 0 must remove the unit | machine-0`}},
		{"a dead unit", mysql, []any{unit(dead), service}, []string{`unit "mysql/0" is dead: the agent of machine 0 must remove it | machine-0`}},
		{"of a dying service", mysql, []any{unit(alive), modeldb.Service{Living: dying, Name: "mysql"}},
			[]string{`service "mysql" is dying: the agent of unit "mysql/0", or the cleaner, must set the unit dying | unit-mysql-0`}},
		{"a dying unit", mysql, []any{unit(dying), service, up, started, idle}, []string{`the agent of unit "mysql/0" must run its last hooks and set it dead | unit-mysql-0`}},
		{"a dying unit at work", mysql, []any{unit(dying), service, up, started, agent(entity.StatusExecuting, "running stop hook")},
			[]string{`the agent of unit "mysql/0" must run its last hooks and set it dead | unit-mysql-0`, ` unit "mysql/0": running stop hook | unit-mysql-0 | wait until that ends; or see what it does: juju debug-log --replay --no-tail -i unit-mysql-0; or end it, and run no more hooks: juju destroy-unit --force mysql/0`}},
		{"a forced unit", mysql, []any{unit(forced), service, up, started, idle}, []string{`the agent of unit "mysql/0" must set it dead, without running hooks | unit-mysql-0`}},
		{"a dying unit without an instance", mysql, []any{unit(dying), service, machine(dying, ""), idle},
			[]string{`the agent of unit "mysql/0" must run its last hooks and set it dead | unit-mysql-0`, " " + noMachine + " | provisioner"}},
		{"whose machine is dead", mysql, []any{unit(dying), service, machine(dead, ""), idle},
			[]string{`the agent of unit "mysql/0" must run its last hooks and set it dead | unit-mysql-0`}},
		{"with a subordinate", mysql, []any{unit(dying), service, up, started, idle,
			modeldb.Unit{Living: dead, Name: "log/0", Service: "log", Principal: "mysql/0"}},
			[]string{`unit "mysql/0" has subordinate "log/0" | `, ` unit "log/0" is dead: the agent of unit mysql/0 must remove it | unit-mysql-0`,
				`the agent of unit "mysql/0" must leave its relations and see its subordinates gone | unit-mysql-0`}},
		{"a failed hook", mysql, []any{unit(alive), service, up, started, idle, failed},
			[]string{`unit "mysql/0": hook failed: "start" (exit status 7: no space) | user | ` + again}},
		{"a failed hook that is resolved", mysql, []any{unit(alive, func(u *modeldb.Unit) { u.Resolved = entity.ResolvedRetry }), service, up, started, idle, failed},
			[]string{`unit "mysql/0": hook failed: "start" (exit status 7: no space); it is resolved, and its agent must continue | unit-mysql-0`}},
		{"a failed hook of a dying unit", mysql, []any{unit(dying), service, up, started, idle, failed},
			[]string{`unit "mysql/0": hook failed: "start" (exit status 7: no space) | user | ` + again + "; skip every hook that fails: juju destroy-unit --lenient mysql/0; " +
				"run no hook at all, and leave behind what stop would remove: juju destroy-unit --force mysql/0"}},
		{"of a lenient one", mysql, []any{unit(modeldb.Living{Life: entity.Dying, Strength: entity.Lenient}), service, up, started, idle, failed},
			[]string{`the agent of unit "mysql/0" must run its last hooks and set it dead | unit-mysql-0`}},
		{"of a dying subordinate", entity.UnitTag("log/0"), []any{modeldb.Unit{Living: dying, Name: "log/0", Service: "mysql", Principal: "mysql/0", Started: true}, service,
			status(modeldb.WorkloadKey("log/0"), entity.StatusError, "broken"), status(modeldb.UnitKey("log/0"), entity.StatusIdle, "")},
			[]string{`unit "log/0": broken | user | ` + strings.ReplaceAll(again, "mysql/0", "log/0")}},
		{"a failed hook before an upgrade", mysql, []any{unit(alive, func(u *modeldb.Unit) { u.CharmURL = "local:mysql-0" }), service, up, started, idle, failed},
			[]string{`unit "mysql/0": hook failed: "start" (exit status 7: no space) | user | run the hook of the old charm again, and then upgrade: juju resolved mysql/0; ` +
				"skip it: juju resolved --no-retry mysql/0; run it from charm local:mysql-1, without upgrade-charm: juju upgrade-charm mysql --force-units, " +
				"with its --path, --switch or --revision, and then juju resolved mysql/0"}},
		{"a unit at work", mysql, []any{unit(alive), service, up, started, active, agent(entity.StatusExecuting, "")}, []string{`unit "mysql/0": its agent is at work | unit-mysql-0 | wait until that ends; or see what it does: juju debug-log --replay --no-tail -i unit-mysql-0`}},
		{"whose agent has failed", mysql, []any{unit(alive), service, up, started, active, agent(entity.StatusFailed, "cannot deploy charm")},
			[]string{`unit "mysql/0": its agent has failed: cannot deploy charm | unit-mysql-0`}},
		{"that is blocked", mysql, []any{unit(alive), service, up, started, idle, workload(entity.StatusBlocked, "needs a database")},
			[]string{`unit "mysql/0" says that it is blocked: needs a database | user | give its charm what it asks for, with juju config mysql, juju integrate or juju attach-resource; or see what it has logged: juju debug-log --replay --no-tail -i unit-mysql-0`}},
		{"that says what to do", mysql, []any{unit(alive), service, up, started, idle, workload(entity.StatusBlocked, "no database (run `juju integrate mysql db`).")},
			[]string{"unit \"mysql/0\" says that it is blocked: no database (run `juju integrate mysql db`). | user | do what its charm says: \"juju integrate mysql db\""}},
		{"that waits for the machine lock", mysql, []any{unit(alive), service, up, started, active, agent(entity.StatusExecuting, "waiting to run start hook: the machine lock is held by db/0")},
			[]string{`unit "mysql/0": waiting to run start hook: the machine lock is held by db/0 | unit-mysql-0 | wait until that ends; ` +
				`or let hooks of mysql run beside others: add it to the model's setting machine-lock-exempt`}},
		{"that waits", mysql, []any{unit(alive), service, up, started, idle, workload(entity.StatusWaiting, "")}, []string{`unit "mysql/0" says that it is waiting | charm`}},
		{"that has said nothing", mysql, []any{unit(alive), service, up, started, idle}, nil},
		{"that is held by an upgrade of its machine", mysql, []any{unit(alive), service, machine(alive, "i-0", upgraded()), started, agent(entity.StatusExecuting, "x")},
			[]string{"machine 0: " + entity.SeriesUpgrade{To: "noble"}.String() + " | user | upgrade its operating system, then: juju upgrade-machine 0 complete"}},
		{"that its machine's upgrade waits for", mysql, []any{unit(alive), service, machine(alive, "i-0", upgraded("mysql/0")), started, active, agent(entity.StatusExecuting, "x")},
			[]string{`unit "mysql/0": x | unit-mysql-0 | wait until that ends; or see what it does: juju debug-log --replay --no-tail -i unit-mysql-0`}},
		{"that is held by a rollout", mysql, []any{unit(alive, func(u *modeldb.Unit) { u.CharmURL = "local:mysql-0" }), up, started, idle, active,
			modeldb.Service{Living: alive, Name: "mysql", CharmURL: "local:mysql-1", Rollout: &modeldb.Rollout{ID: "r", Batch: 1}}},
			[]string{`unit "mysql/0" keeps charm local:mysql-0 until its turn: service "mysql" is upgraded to local:mysql-1, 1 unit at a time | controller`}},
		{"that is held by a stopped rollout", mysql, []any{unit(alive, func(u *modeldb.Unit) { u.CharmURL = "local:mysql-0" }), up, started, idle, active,
			modeldb.Service{Living: alive, Name: "mysql", CharmURL: "local:mysql-1", Rollout: &modeldb.Rollout{ID: "r", Batch: 1, Stopped: "broken", Former: "local:mysql-0"}}},
			[]string{`unit "mysql/0" keeps charm local:mysql-0 until its turn: service "mysql" is upgraded to local:mysql-1, 1 unit at a time; the upgrade has stopped: broken | user | ` +
				(&entity.Rollout{Batch: 1, Stopped: "broken", Former: "local:mysql-0"}).Ways("mysql")}},
		{"a subordinate that is held by an upgrade", entity.UnitTag("log/0"), []any{modeldb.Unit{Living: alive, Name: "log/0", Service: "mysql", Principal: "mysql/0", Started: true}, service,
			unit(alive), machine(alive, "i-0", upgraded())}, []string{"machine 0: " + entity.SeriesUpgrade{To: "noble"}.String() + " | user | upgrade its operating system, then: juju upgrade-machine 0 complete"}},
		{"outside of its space", mysql, []any{unit(alive), idle, active, started, spaces, machine(alive, "i-0", func(m *modeldb.Machine) { m.Addresses = []string{"10.0.0.1"} }),
			modeldb.Service{Name: "mysql", Bindings: []modeldb.Binding{{Space: "1"}}}},
			[]string{`machine 0 of unit "mysql/0" has no address in space "db", to which service "mysql" is bound: the unit uses another one | user | ` +
				"bind it to a space that the machine is in: juju bind mysql SPACE; or replace the unit: juju add-unit mysql, juju destroy-unit mysql/0"}},
		{"that waits for storage", mysql, []any{unit(alive), service, up, started, idle, active, attached(alive, nil), stored(alive, nil),
			modeldb.Attachment{Living: alive, ID: "unit-x-0#log/1", Unit: "x/0", Storage: "log/1", Machine: "0", Mount: "/srv/log", Location: "/srv/log"}},
			[]string{`unit "mysql/0" waits for storage "data/0" | `, ` the storage provisioner must attach storage "data/0" to machine 0 | provisioner`}},

		{"a machine that runs", zero, []any{up, started}, nil},
		{"a stopped one", zero, []any{up, started, instance("stopped", "")},
			[]string{"instance i-0 of machine 0 is stopped | user | start it in the cloud, or give it up: juju destroy-machine --force 0"}},
		{"one that the cloud runs", zero, []any{up, started, instance("running", "")}, nil},
		{"a missing one", zero, []any{up, started, instance("missing", "")},
			[]string{"instance i-0 of machine 0 is missing: the cloud does not list it, and the provisioner must replace it unless it comes back within a minute | provisioner"}},
		{"a stopped one that has not come up", zero, []any{up, instance("stopped", "")},
			[]string{"the agent of machine 0 has not come up on instance i-0 | machine-0 | starting",
				" instance i-0 of machine 0 is stopped | user | start it in the cloud, or give it up: juju destroy-machine --force 0"}},
		{"one that could not start yet", zero, []any{machine(alive, ""), status(modeldb.MachineKey("0"), entity.StatusPending, "no room")},
			[]string{noMachine + " (no room) | provisioner"}},
		{"in error with constraints", zero, []any{machine(alive, ""), status(modeldb.MachineKey("0"), entity.StatusError, "no room", "hint", "Demand less."),
			modeldb.Constraints{Key: "m#0", Value: "mem=1024M"}},
			[]string{`machine 0: no room | user | Demand less; then: juju retry-provisioning 0; with others in place of its constraints (mem=1024M): ` +
				`juju retry-provisioning 0 --constraints "KEY=VALUE ..."`}},
		{"in error where it must be", zero, []any{machine(alive, ""), inError, spaces, unit(alive), modeldb.Service{Name: "mysql", Bindings: []modeldb.Binding{{Space: "1"}}}},
			[]string{`machine 0: no capacity; it must have an address in space "db" (bindings of service "mysql") | user | juju retry-provisioning 0`}},
		{"in error with an instance", zero, []any{up, inError, spaces, unit(alive), modeldb.Service{Name: "mysql", Bindings: []modeldb.Binding{{Space: "1"}}}},
			[]string{`machine 0: no capacity | user | juju retry-provisioning 0`}},
		{"that needs spaces", zero, []any{machine(alive, ""), spaces, unit(alive), modeldb.Constraints{Key: "m#0", Value: "spaces=db,^dmz,moon"},
			modeldb.Service{Name: "mysql", Bindings: []modeldb.Binding{{Space: "1"}, {Endpoint: "a", Space: "1"}, {Endpoint: "b", Space: "0"}}}},
			[]string{noMachine + `; it must have an address in space "db" (its constraints), an address in space "moon" (its constraints; there is no such space), ` +
				`no address in space "dmz" (its constraints), an address in space "db" (bindings of service "mysql") | provisioner`}},
		{"a dying one", zero, []any{machine(dying, "i-0")}, []string{"the agent of machine 0 must set it dead | machine-0"}},
		{"a dying one with a unit", zero, []any{machine(dying, "i-0"), unit(dead)}, []string{`machine 0 has unit "mysql/0" assigned | `,
			` unit "mysql/0" is dead: the agent of machine 0 must remove it | machine-0`}},
		{"a dying one without an instance", zero, []any{machine(dying, "")}, []string{"machine 0 has no instance: the provisioner must remove it | provisioner"}},
		{"a dead one", zero, []any{machine(dead, "i-0"), instance("error", "busy", "hint", "wait")},
			[]string{"machine 0 is dead: the provisioner must stop instance i-0 and remove it; the cloud says: busy | provisioner | wait"}},
		{"a dead one that stops", zero, []any{machine(dead, "i-0"), instance("running", "x")}, []string{"machine 0 is dead: the provisioner must stop instance i-0 and remove it | provisioner"}},
		{"a dead host", zero, []any{machine(dead, "manual:host")}, []string{"machine 0 is dead: its agent must leave the host, and then the provisioner remove it | machine-0"}},
		{"that is upgraded", zero, []any{machine(alive, "i-0", upgraded("mysql/0")), started},
			[]string{"machine 0: " + entity.SeriesUpgrade{To: "noble", Waiting: []string{"mysql/0"}}.String() + " | unit-mysql-0"}},

		{"storage in place", disk, []any{stored(alive, nil), attached(alive, located)}, nil},
		{"storage that is attached", disk, []any{stored(alive, nil), attached(alive, nil), status("st#data/0", entity.StatusError, "no disk", "hint", "buy one")},
			[]string{`the storage provisioner must attach storage "data/0" to machine 0: no disk | provisioner | buy one`}},
		{"that is attached below other storage", disk, []any{stored(alive, nil), attached(alive, nil),
			modeldb.Attachment{Living: alive, ID: "o", Unit: "x/0", Storage: "log/1", Machine: "0", Mount: "/"}, modeldb.Attachment{Living: alive, ID: "p", Unit: "x/0", Storage: "log/2", Machine: "1", Mount: "/srv/x"}},
			[]string{`the storage provisioner must attach storage "data/0" to machine 0 | provisioner`}},
		{"that must wait", disk, []any{stored(alive, nil), attached(alive, func(a *modeldb.Attachment) { a.Mount = "/srv/a" }),
			modeldb.Attachment{Living: alive, ID: "o", Unit: "x/0", Storage: "log/1", Machine: "0", Mount: "/srv"}},
			[]string{`the storage provisioner must attach storage "data/0" to machine 0, after storage "log/1" | provisioner`}},
		{"that its unit gives up", disk, []any{stored(alive, nil), attached(dying, located)},
			[]string{`the agent of unit "mysql/0" must run its hooks and detach storage "data/0" | unit-mysql-0`}},
		{"whose unit's hook has failed", disk, []any{stored(alive, nil), attached(dying, located), unit(alive), service, up, started, idle, failed},
			[]string{`the agent of unit "mysql/0" must run its hooks and detach storage "data/0" | unit-mysql-0`,
				` unit "mysql/0": hook failed: "start" (exit status 7: no space) | user | ` + again}},
		{"whose unit runs a hook", disk, []any{stored(alive, nil), attached(dying, located), unit(alive), service, up, started, active, agent(entity.StatusExecuting, "running start hook")},
			[]string{`the agent of unit "mysql/0" must run its hooks and detach storage "data/0" | unit-mysql-0`,
				` unit "mysql/0": running start hook | unit-mysql-0 | wait until that ends; or see what it does: juju debug-log --replay --no-tail -i unit-mysql-0`}},
		{"that is detached", disk, []any{stored(dying, nil), attached(dead, located)}, []string{`the storage provisioner must detach storage "data/0" from machine 0 | provisioner`}},
		{"that is destroyed", disk, []any{stored(dying, nil)}, []string{`the storage provisioner must destroy storage "data/0" | provisioner`}},
		{"that is released", disk, []any{stored(dead, func(s *modeldb.Storage) { s.Release = true })}, []string{`the storage provisioner must release storage "data/0" | provisioner`}},

		{"a service without units", entity.ServiceTag("mysql"), []any{service}, []string{`service "mysql" has no units | user | juju add-unit mysql`}},
		{"a subordinate service", entity.ServiceTag("log"), []any{modeldb.Service{Name: "log", Subordinate: true}}, nil},
		{"a service by its units", entity.ServiceTag("mysql"), []any{service, unit(alive), up, started, idle, failed},
			[]string{`unit "mysql/0": hook failed: "start" (exit status 7: no space) | user | ` + again}},
		{"a service by several units", entity.ServiceTag("mysql"), []any{service, modeldb.Unit{Living: dead, Name: "mysql/10", Service: "mysql", Machine: "0"},
			modeldb.Unit{Living: alive, Name: "mysql/9", Service: "mysql", Machine: "0", Started: true}, up, started,
			status(modeldb.WorkloadKey("mysql/9"), entity.StatusBlocked, "x"), modeldb.Unit{Living: alive, Name: "mysql0/0", Service: "mysql0", Started: true},
			status(modeldb.WorkloadKey("mysql0/0"), entity.StatusBlocked, "y"), status(modeldb.UnitKey("mysql/9"), entity.StatusIdle, "")},
			[]string{`unit "mysql/9" says that it is blocked: x | user | give its charm what it asks for, with juju config mysql, juju integrate or juju attach-resource; or see what it has logged: juju debug-log --replay --no-tail -i unit-mysql-9`, `unit "mysql/10" is dead: the agent of machine 0 must remove it | machine-0`}},
		{"a service whose rollout has stopped", entity.ServiceTag("mysql"), []any{unit(alive), up, started, idle, active, modeldb.Service{Living: alive, Name: "mysql",
			CharmURL: "local:mysql-1", Rollout: &modeldb.Rollout{ID: "r", Batch: 1, Stopped: "broken", Former: "local:mysql-0"}}},
			[]string{`the upgrade of service "mysql" to charm local:mysql-1 has stopped: broken | user | ` +
				(&entity.Rollout{Batch: 1, Stopped: "broken", Former: "local:mysql-0"}).Ways("mysql")}},
		{"a dying service", entity.ServiceTag("mysql"), []any{modeldb.Service{Living: dying, Name: "mysql"}, unit(dead)},
			[]string{`service "mysql" has unit "mysql/0" | `, ` unit "mysql/0" is dead: the agent of machine 0 must remove it | machine-0`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, c.docs...)
			e, err := explain.New(m.DB).Explain(m.Ctx, c.of)
			m.OK(err)
			if got := strings.Join(shown(e), "\n"); got != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(c.want, "\n"))
			}
		})
	}
}

// A Dying relation names the units in its scope, and what else it waits for; an Alive one whose service is Dying, the cleaner.
func TestRelations(t *testing.T) {
	const db = "web:db mysql:server"
	tag := entity.RelationTag(db)
	relation := func(l modeldb.Living, remote bool) modeldb.Relation {
		r := modeldb.NewRelation(5, modeldb.Endpoint{Service: "web", Name: "db", Role: "requirer"},
			modeldb.Endpoint{Service: "mysql", Name: "server", Role: "provider", Remote: remote})
		r.Living = l
		return r
	}
	in := func(unit string) modeldb.Scope {
		return modeldb.Scope{ID: "5#requirer#" + unit, Relation: 5, Unit: unit, Role: "requirer"}
	}
	end := modeldb.RelationEnd{Service: "mysql", Relation: db}
	for _, c := range []struct {
		name string
		of   entity.Tag
		docs []any
		want []string
	}{
		{"alive", tag, []any{relation(alive, false), service, modeldb.Service{Name: "web"}}, nil},
		{"of a dying service", tag, []any{relation(alive, false), service, modeldb.Service{Living: dying, Name: "web"}},
			[]string{`service "web" is dying: the cleaner must destroy the relation | cleaner`}},
		{"of a dying remote service", tag, []any{relation(alive, true), modeldb.Remote{Living: dying, Name: "mysql"}, modeldb.Service{Name: "web"}},
			[]string{`service "mysql" is dying: the cleaner must destroy the relation | cleaner`}},
		{"with a unit", tag, []any{relation(dying, false), in("mysql/0"), unit(alive), service, up, started, idle, active},
			[]string{`relation "web:db mysql:server" has unit "mysql/0" in scope | `, ` the agent of unit "mysql/0" must leave the relation | unit-mysql-0`}},
		{"with a unit that must do something else", tag, []any{relation(dying, false), in("mysql/0"), unit(dead)},
			[]string{`relation "web:db mysql:server" has unit "mysql/0" in scope | `, ` unit "mysql/0" is dead: the agent of machine 0 must remove it | machine-0`}},
		{"with a unit of another model", tag, []any{relation(dying, true), modeldb.Scope{ID: "5#provider#mysql/0", Relation: 5, Remote: "mysql/0", Role: "provider"}},
			[]string{`relation "web:db mysql:server" has unit "mysql/0" in scope | `, ` the controller must take unit "mysql/0", of another model, out of the relation | controller`}},
		{"with its counterpart", tag, []any{relation(dying, true), modeldb.Scope{ID: "5#counterpart#mysql", Relation: 5, Remote: "mysql", Role: modeldb.Counterpart}},
			[]string{`relation "web:db mysql:server" must end at the controller of remote service "mysql" too | controller | ` +
				"To not wait for that controller: juju destroy-relation web:db mysql:server --force"}},
		{"a unit in it", entity.UnitTag("mysql/0"), []any{unit(dying), service, up, started, idle, relation(alive, false),
			modeldb.Scope{ID: "5#provider#mysql/0", Relation: 5, Unit: "mysql/0", Role: "provider"},
			modeldb.Scope{ID: "6#provider#mysql/0", Relation: 6, Unit: "mysql/0", Role: "provider"}},
			[]string{`unit "mysql/0" is in relation "web:db mysql:server" | `,
				`the agent of unit "mysql/0" must leave its relations and see its subordinates gone | unit-mysql-0`}},
		{"a service in it", entity.ServiceTag("mysql"), []any{modeldb.Service{Living: dying, Name: "mysql"}, relation(dying, false), end, in("mysql/0"), unit(dead)},
			[]string{`service "mysql" has unit "mysql/0" | `, ` unit "mysql/0" is dead: the agent of machine 0 must remove it | machine-0`,
				`service "mysql" is in relation "web:db mysql:server" | `, ` relation "web:db mysql:server" has unit "mysql/0" in scope | `}},
		{"a remote service", entity.ServiceTag("mysql"), []any{modeldb.Remote{Living: dying, Name: "mysql"}, relation(dying, true), end, in("mysql/0"), unit(dead)},
			[]string{`remote service "mysql" is in relation "web:db mysql:server" | `, ` relation "web:db mysql:server" has unit "mysql/0" in scope | `,
				`  unit "mysql/0" is dead: the agent of machine 0 must remove it | machine-0`}},
		{"an alive remote service", entity.ServiceTag("mysql"), []any{modeldb.Remote{Living: alive, Name: "mysql"}}, nil},
		{"an alive offer", entity.OfferTag("shop"), []any{modeldb.Offer{Living: alive, Name: "shop"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(t, c.docs...)
			e, err := explain.New(m.DB).Explain(m.Ctx, c.of)
			m.OK(err)
			if got := strings.Join(shown(e), "\n"); got != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(c.want, "\n"))
			}
		})
	}
}

// Of many, ten are named.
func TestMany(t *testing.T) {
	t.Parallel()
	for n, more := range map[int]string{10: "", 12: "and 2 more"} {
		for _, life := range []modeldb.Living{alive, dying} {
			m := modeltest.New(t, modeldb.Service{Living: life, Name: "mysql"}, modeldb.Unit{Name: "mysql0/0", Service: "mysql0"})
			for i := range n {
				m.Put(modeldb.Unit{Living: dead, Name: fmt.Sprint("mysql/", i), Service: "mysql", Machine: "0"})
			}
			e, err := explain.New(m.DB).Explain(m.Ctx, entity.ServiceTag("mysql"))
			m.OK(err)
			last := e.Reasons[len(e.Reasons)-1].Text
			if more == "" && strings.HasPrefix(last, "and ") || !strings.HasPrefix(last, more) || !strings.Contains(e.Reasons[1].Text, "mysql/") {
				t.Errorf("of %d, the last is %q", n, last)
			}
		}
	}
}

// An explanation has what is known of the entity, what was left of it, and times that can be written.
func TestWhatIsKnown(t *testing.T) {
	t.Parallel()
	late := dying
	late.Since = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	m := modeltest.New(t, machine(forced, "i-0"), modeldb.Machine{Living: late, ID: "1"},
		modeldb.Leftover{ID: "l", Of: "m#7", Instance: "i-7", Why: "it was busy"}, modeldb.Leftover{ID: "s", Of: "st#data/7", Filesystem: "f"})
	e, err := explain.New(m.DB).Explain(m.Ctx, entity.MachineTag("0"))
	m.OK(err)
	if e.Tag != "machine-0" || e.Name != "machine 0" || e.Life != entity.Dying || e.Strength != entity.Force || !e.Deadline.Equal(forced.Deadline) || !e.Since.Equal(since) ||
		!e.Reasons[0].Since.Equal(since) {
		t.Errorf("%+v", e)
	}
	if e, err = explain.New(m.DB).Explain(m.Ctx, entity.MachineTag("1")); err != nil || !e.Since.IsZero() || !e.Reasons[0].Since.IsZero() {
		t.Errorf("%+v, %v", e, err)
	}
	for tag, want := range map[entity.Tag]string{entity.MachineTag("7"): "instance i-7 of machine 7", entity.StorageTag("data/7"): "filesystem f of storage data/7"} {
		if e, err = explain.New(m.DB).Explain(m.Ctx, tag); err != nil || e.Life != entity.Gone || len(e.Leftovers) != 1 || e.Leftovers[0].What != want {
			t.Errorf("%+v, %v", e, err)
		}
	}
	for _, tag := range []entity.Tag{entity.MachineTag("9"), entity.UnitTag("gone/0"), entity.ServiceTag("gone"), entity.OfferTag("gone"), entity.RelationTag("a:b c:d")} {
		if _, err = explain.New(m.DB).Explain(m.Ctx, tag); !entity.IsNotFound(err) {
			t.Errorf("%v: %v", tag, err)
		}
	}
	_, err = explain.New(m.DB).Explain(m.Ctx, entity.UserTag("bob"))
	m.Refused(err, entity.Invalid, `cannot explain "user-bob"`)
}

// What is not settled is what there are reasons for.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, unit(alive), service, up, started, idle, active,
		modeldb.Service{Living: dying, Name: "old"}, modeldb.Service{Name: "stopped", Rollout: &modeldb.Rollout{Stopped: "x"}}, modeldb.Service{Name: "goes", Rollout: &modeldb.Rollout{}},
		modeldb.Relation{Living: dying, Key: "a:b c:d", ID: 1}, modeldb.Relation{Key: "e:f g:h", ID: 2},
		modeldb.Unit{Name: "mysql/10"}, modeldb.Unit{Name: "mysql/2", Started: true, Living: dead}, modeldb.Unit{Name: "mysql/3", Started: true},
		status(modeldb.WorkloadKey("mysql/3"), entity.StatusBlocked, ""), modeldb.Unit{Name: "mysql/4", Started: true},
		status(modeldb.UnitKey("mysql/4"), entity.StatusFailed, ""), status(modeldb.ServiceKey("x"), entity.StatusBlocked, ""),
		modeldb.Machine{Living: dying, ID: "1"}, modeldb.Machine{ID: "2"}, modeldb.Machine{ID: "3", Upgrade: &modeldb.SeriesUpgrade{}},
		status(modeldb.MachineKey("3"), entity.StatusStarted, ""), modeldb.Machine{ID: "4"}, status(modeldb.MachineKey("4"), entity.StatusPending, ""),
		modeldb.Storage{Living: dying, ID: "data/0"}, modeldb.Storage{ID: "data/1"}, status(modeldb.StorageKey("data/1"), entity.StatusError, ""),
		modeldb.Offer{Living: dying, Name: "shop"}, modeldb.Remote{Living: dying, Name: "far"}, modeldb.Remote{Name: "near"})
	got, err := explain.Unsettled(m.Ctx, m.DB)
	m.OK(err)
	modeltest.Same(t, "unsettled are", fmt.Sprint(got), "[service-old service-stopped relation-a.b#c.d unit-mysql-2 unit-mysql-10 machine-1 machine-3 "+
		"storage-data-0 offer-shop service-far machine-4 storage-data-1 unit-mysql-3 unit-mysql-4 machine-2]")
}

// What many wait for an Explainer looks up once: in which spaces their machine must be, and what holds up the upgrade of
// their service. Another one looks again.
func TestExplainerLooksUpOnce(t *testing.T) {
	t.Parallel()
	m := modeltest.New(t, spaces, machine(alive, ""), modeldb.Service{Living: alive, Name: "mysql", CharmURL: "local:mysql-1",
		Rollout: &modeldb.Rollout{ID: "r", Batch: 1}, Bindings: []modeldb.Binding{{Space: "1"}}})
	for i := range 5 {
		m.Put(unit(alive, func(u *modeldb.Unit) {
			u.Name, u.CharmURL, u.Started = fmt.Sprint("mysql/", i), "local:mysql-0", i > 1
			if i == 4 {
				u.Turn = &modeldb.Turn{Rollout: "r"}
			}
		}))
	}
	const ailing, needs = "; until then unit mysql/4 is not upgraded yet | ", `; it must have an address in space "db" (bindings of service "mysql") | `
	first := explain.New(m.DB)
	check := func(x *explain.Explainer, unit, text string, want bool) {
		t.Helper()
		e, err := x.Explain(m.Ctx, entity.UnitTag(unit))
		if m.OK(err); strings.Contains(strings.Join(shown(e), "\n"), text) != want {
			t.Errorf("of %s it says %q", unit, shown(e))
		}
	}
	check(first, "mysql/0", needs, true)
	check(first, "mysql/2", ailing, true)
	m.Remove(modeldb.UnitsC, "mysql/4")
	m.Set(modeldb.ServicesC, "mysql", bson.DocElem{Name: "bindings", Value: nil})
	check(first, "mysql/1", needs, true)
	check(first, "mysql/3", ailing, true)
	check(explain.New(m.DB), "mysql/1", needs, false)
	check(explain.New(m.DB), "mysql/3", ailing, false)
}
