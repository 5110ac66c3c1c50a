package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// leaderOf is the suffix of a name for the leader of a service: "mysql/leader".
const leaderOf = "/leader"

// A NewTask is a task to enqueue.
type NewTask struct {
	Receiver string // "mysql/0" or "mysql/leader"; for commands also a machine, "3"
	Name     string // of an action, or entity.CommandTask
	Params   map[string]any
	// Parallel and Group override the charm's values, unless nil.
	Parallel *bool
	Group    *string
}

// Enqueue adds an operation with tasks for units and machines in one transaction. A rejected task has an
// error at its index in errs, and no id; if all are rejected, no operation is added. An action's parameters
// get the charm's defaults.
func (t Tasks) Enqueue(
	ctx context.Context, tasks []NewTask,
) (operation string, ids []string, errs []error, err error) {
	first, err := t.db.Next(ctx, modeldb.TaskSequence, 1+len(tasks))
	if err != nil {
		return "", nil, nil, err
	}
	operation, first = strconv.Itoa(first+1), first+2
	now := t.db.Now()
	err = t.db.Change(ctx, func(o *modeltxn.Ops) error {
		ids, errs = make([]string, len(tasks)), make([]error, len(tasks))
		e := enqueueing{db: t.db, units: map[string]modeldb.Unit{}, machines: map[string]modeldb.Machine{}, asserts: map[string]bson.D{}}
		for i, task := range tasks {
			doc, err := e.task(ctx, o, task)
			if refused := isTaskRefusal(err); refused {
				errs[i] = err
				continue
			} else if err != nil {
				return err
			}
			doc.Number, doc.Operation, doc.Enqueued, doc.Status = first+i, operation, now, entity.TaskPending
			doc.ID, ids[i] = modeldb.TaskID(doc.Receiver, doc.Number), strconv.Itoa(doc.Number)
			o.Insert(modeldb.TasksC, doc.ID, doc)
			e.added = append(e.added, doc)
		}
		if len(e.added) == 0 {
			return mongo.ErrNothing
		}
		o.Insert(modeldb.OperationsC, operation, modeldb.Operation{ID: operation, Summary: e.summary(), Enqueued: now})
		for _, name := range slices.Sorted(maps.Keys(e.asserts)) {
			if m, ok := e.machines[name]; ok {
				assertTasked(o, modeldb.MachinesC, name, m.Tasked, e.asserts[name])
			} else {
				assertTasked(o, modeldb.UnitsC, name, e.units[name].Tasked, e.asserts[name])
			}
		}
		return nil
	})
	if len(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })) == 0 {
		operation = ""
	}
	return operation, ids, errs, err
}

// isTaskRefusal reports whether an error concerns only one task.
func isTaskRefusal(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.Invalid) || errors.Is(err, entity.NotAlive)
}

// assertTasked asserts a new task's requirements on its unit or machine, and makes sure that the removal of the unit or
// machine cancels its tasks.
func assertTasked(o *modeltxn.Ops, collection, id string, tasked bool, assert bson.D) {
	if tasked {
		o.Assert(collection, id, assert)
		return
	}
	o.Update(collection, id, assert, bson.D{{"$set", bson.D{{"tasked", true}}}})
}

// enqueueing is one attempt to enqueue tasks.
type enqueueing struct {
	db       *modeltxn.DB
	units    map[string]modeldb.Unit
	machines map[string]modeldb.Machine
	asserts  map[string]bson.D // on the unit or machine
	added    []modeldb.Task
}

func (e *enqueueing) task(ctx context.Context, o *modeltxn.Ops, task NewTask) (modeldb.Task, error) {
	doc, spec, assert, err := e.receiver(ctx, o, task)
	if err != nil {
		return doc, err
	}
	params, err := spec.InsertDefaults(task.Params)
	// As in Juju, the defaults are not checked if the given parameters are valid.
	if err == nil && spec.ValidateParams(task.Params) != nil {
		err = spec.ValidateParams(params)
	}
	if err != nil {
		return doc, entity.Errorf(entity.Invalid, "cannot run %q on %s: %w", task.Name, doc.On(), err)
	}
	text, err := json.Marshal(params)
	if err == nil {
		err = limits.CheckTaskJSON(limits.TaskParams, string(text))
	}
	if err != nil {
		return doc, entity.Errorf(entity.Invalid, "cannot run %q on %s: %w", task.Name, doc.On(), err)
	}
	doc.Params, doc.Parallel, doc.Group = string(text), spec.Parallel, spec.ExecutionGroup
	if task.Parallel != nil {
		doc.Parallel = *task.Parallel
	}
	if task.Group != nil {
		doc.Group = *task.Group
	}
	if was := e.asserts[doc.Receiver]; len(was) < len(assert) {
		e.asserts[doc.Receiver] = assert
	}
	return doc, nil
}

// receiver returns a new document of a task, the specification of its parameters, and the assertions on the unit or
// machine.
func (e *enqueueing) receiver(
	ctx context.Context, o *modeltxn.Ops, task NewTask,
) (doc modeldb.Task, spec charm.ActionSpec, assert bson.D, err error) {
	command := task.Name == entity.CommandTask
	if entity.IsValidMachine(task.Receiver) {
		if !command {
			err = entity.WithHint(entity.Errorf(entity.Invalid,
				"cannot add action %q to a machine; only predefined actions allowed", task.Name),
				"Name a unit, or for a command: juju run --machine %s COMMAND", task.Receiver)
			return doc, spec, nil, err
		}
		m, err := e.machine(ctx, task.Receiver)
		if err != nil {
			return doc, spec, nil, err
		}
		spec = commandSpec
		spec.Parallel = true // as in Juju
		return modeldb.Task{Receiver: m.ID, Name: task.Name}, spec, modeltxn.NotDead, nil
	}
	spec, assert = commandSpec, modeltxn.IsAlive
	u, err := e.unit(ctx, o, task.Receiver)
	if err == nil && !command {
		spec, assert, err = e.action(ctx, o, u, task.Name)
	}
	if err != nil {
		return doc, spec, nil, err
	}
	return modeldb.Task{Receiver: u.Name, Name: task.Name}, spec, assert, nil
}

// machine reads the machine that a task names.
func (e *enqueueing) machine(ctx context.Context, id string) (modeldb.Machine, error) {
	if m, known := e.machines[id]; known {
		return m, nil
	}
	m, err := e.db.Machine(ctx, id)
	if err == nil && m.Life == entity.Dead {
		err = entity.Errorf(entity.NotAlive, "machine %s is dead", id)
	}
	if err == nil {
		e.machines[id] = m
	}
	return m, err
}

// commandSpec specifies the parameters of a user's command.
var commandSpec = charm.ActionSpec{Schema: map[string]any{
	"properties": map[string]any{
		entity.CommandParam: map[string]any{"type": "string"},
		entity.TimeoutParam: map[string]any{"type": "integer", "minimum": int64(0), "default": int64(0)},
	},
	"required": []any{entity.CommandParam}, "additionalProperties": false,
}}

// unit reads the unit that a task names.
func (e *enqueueing) unit(ctx context.Context, o *modeltxn.Ops, name string) (modeldb.Unit, error) {
	if service, ok := strings.CutSuffix(name, leaderOf); ok {
		if _, err := e.db.Service(ctx, service); err != nil {
			return modeldb.Unit{}, err
		}
		leader, _, err := e.db.Leader(ctx, service)
		if err != nil {
			return modeldb.Unit{}, err
		}
		if leader.Holder == "" {
			return modeldb.Unit{}, entity.WithHint(entity.Errorf(entity.NotFound, "could not determine leader for %q", service),
				"No unit leads it at the moment: name a unit, or try again.")
		}
		name = leader.Holder
	}
	if u, known := e.units[name]; known {
		return u, nil
	}
	u, err := e.db.Unit(ctx, name)
	if err == nil && u.Life != entity.Alive { // new tasks would delay the last hooks of a Dying one
		err = entity.Errorf(entity.NotAlive, "unit %q is not alive", name)
		if u.Life == entity.Dying {
			err = entity.WithHint(err, "Until it is removed, work on it with: juju ssh %s, where juju-run works too", name)
		}
	}
	if err == nil {
		e.units[name] = u
	}
	return u, err
}

// action finds an action in the charm of a unit, and returns the assertion that the unit still has it.
func (e *enqueueing) action(
	ctx context.Context, o *modeltxn.Ops, u modeldb.Unit, name string,
) (spec charm.ActionSpec, assert bson.D, err error) {
	url := u.CharmURL
	assert = append(slices.Clone(modeltxn.IsAlive), bson.DocElem{Name: "charm", Value: url})
	if url == "" {
		svc, err := e.db.Service(ctx, u.Service)
		if err != nil {
			return spec, nil, err
		}
		url = svc.CharmURL
		assert[len(assert)-1].Value = bson.D{{"$exists", false}}
		o.Assert(modeldb.ServicesC, svc.Name, bson.D{{"charm", url}})
	}
	ch, err := e.db.Charm(ctx, url)
	if err != nil {
		return spec, nil, err
	}
	spec, ok := ch.Actions.Specs[name]
	switch {
	case len(ch.Actions.Specs) == 0:
		err = entity.Errorf(entity.Invalid, "no actions defined on charm %q", url)
	case !ok:
		err = entity.WithHint(entity.Errorf(entity.NotFound, "action %q not defined on unit %q", name, u.Name),
			"To list the actions: juju actions %s", u.Service)
	}
	return spec, assert, err
}

// summary describes an operation as Juju does: "backup run on unit-mysql-0".
func (e *enqueueing) summary() string {
	var receivers []string
	for _, doc := range e.added {
		receivers = append(receivers, entity.ReceiverTag(doc.Receiver).String())
	}
	name := e.added[0].Name
	if name == entity.CommandTask {
		name = "command"
	}
	return fmt.Sprintf("%s run on %s", name, limits.Name.Cut(strings.Join(receivers, ",")))
}
