package facades

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// Plans plans changes of models.
type Plans interface {
	// Plan makes a user's change in a copy of a model, and returns what it would lead to. If the change fails, so does Plan.
	// lost reports whether the agent of a unit is lost, and will not act.
	Plan(ctx context.Context, user, model string, lost func(unit string) bool,
		change func(ctx context.Context, ctrl *controller.Controller, st *state.State) error) (entity.Plan, error)
}

// planned finds the route of a request that is to be planned.
func (c *Caller) planned(p params.PlannedCall) (*Route, error) {
	if !params.IsPlannable(p.Facade, p.Method) {
		return nil, entity.Errorf(entity.NotSupported, "cannot plan %s.%s", p.Facade, p.Method)
	}
	return c.Table.Find(&params.Request{Type: p.Facade, Version: p.Version, Request: p.Method}, AtModel, c.Roles)
}

// Guarded returns the request that one makes if the model is unchanged, with its route; others as they are.
func (t *Table) Guarded(r *Route, req *params.Request) (*Route, *params.Request) {
	if r.Facade != "Plans" || r.Method != "IfUnchanged" {
		return r, req
	}
	p, err := r.Handler.Decode(req.Params)
	if err != nil {
		return r, req
	}
	call := p.(params.PlannedCall)
	made := t.Route(call.Facade, call.Version, call.Method)
	if made == nil {
		return r, req
	}
	inner := *req
	inner.Type, inner.Version, inner.Request, inner.Params = call.Facade, call.Version, call.Method, call.Params
	return made, &inner
}

// plansDryRun plans a request, or several: it runs their methods on a copy of the model. Without any it checks the token.
func plansDryRun(ctx context.Context, c *Caller, p params.PlannedCall) (entity.Plan, error) {
	if p.Method == "" && len(p.Charm)+len(p.Then) == 0 && p.Resource == nil {
		token, err := c.Model.Transactions().Token(ctx)
		if err == nil && p.Token != "" {
			_, err = c.Model.Transactions().IfUnchanged(ctx, p.Token)
		}
		return entity.Plan{Token: token}, err
	}
	calls := append([]params.PlannedCall{p}, p.Then...)
	changes := 0
	for _, call := range calls {
		if call.Method == "" && (len(call.Charm) > 0 || call.Resource != nil) {
			continue
		}
		if len(call.Uploads) == 0 {
			changes++
		}
		if _, err := c.planned(call); err != nil {
			return entity.Plan{}, err
		}
	}
	if c.Plans == nil {
		return entity.Plan{}, entity.Errorf(entity.NotSupported, "this controller cannot plan changes")
	}
	var made plannedCalls
	lost := func(unit string) bool {
		_, _, missing := c.Presence.Missing(c.Model.UUID(), entity.UnitTag(unit))
		return missing
	}
	plan, err := c.Plans.Plan(ctx, c.Tag.String(), c.Model.UUID(), lost,
		func(ctx context.Context, ctrl *controller.Controller, st *state.State) error {
			backend := *c.Backend
			backend.Controller = ctrl
			made = plannedCalls{Caller: Caller{Identity: c.Identity, Backend: &backend, Request: c.Request, Model: st, others: c.Controller}}
			for _, call := range calls {
				err := made.call(ctx, call)
				if err != nil && changes < 2 {
					return err
				} else if err != nil {
					made.refuse(err)
				}
				if len(made.refused) > 0 {
					return nil
				}
			}
			return nil
		})
	plan.Refused, plan.Hints, plan.Warnings = made.refused, made.hints, made.warnings
	return plan, err
}

// plans reports whether the caller's changes are only planned.
func (c *Caller) plans() bool { return c.others != nil }

// plannedCalls are made one after the other, on a copy of the model.
type plannedCalls struct {
	Caller
	stands   []string // pairs of what stands for something in parameters, and what it stands for
	refused  []string // why
	hints    []string // what to do about it
	warnings []string
}

// refuse notes why a change would be refused.
func (m *plannedCalls) refuse(err error) {
	m.refused = append(m.refused, err.Error())
	if hint := entity.Hint(err); hint != "" && !slices.Contains(m.hints, hint) {
		m.hints = append(m.hints, hint)
	}
}

func (m *plannedCalls) call(ctx context.Context, p params.PlannedCall) error {
	if len(p.Charm) > 0 {
		url, err := addPlannedCharm(ctx, m.Model, p)
		if err != nil {
			return err
		}
		m.stands = append(m.stands, quoted(p.CharmURL), quoted(url))
	}
	if p.Resource != nil {
		if err := m.upload(ctx, *p.Resource); err != nil {
			return err
		}
	}
	if p.Method == "" {
		return nil
	}
	route, err := m.planned(p)
	if err != nil {
		return err
	}
	result, err := route.Call(ctx, &m.Caller, json.RawMessage(strings.NewReplacer(m.stands...).Replace(string(p.Params))))
	for _, e := range params.Failures(result) {
		m.refuse(params.FromError(e))
	}
	for _, w := range warningsOf(reflect.ValueOf(result), nil) {
		if !slices.Contains(m.warnings, w) {
			m.warnings = append(m.warnings, w)
		}
	}
	if err != nil {
		return err
	}
	if uploads, ok := result.(params.AddPendingResourcesResult); ok {
		for i, id := range uploads.PendingIDs[:min(len(uploads.PendingIDs), len(p.Uploads))] {
			m.stands = append(m.stands, quoted(p.Uploads[i]), quoted(id))
		}
	}
	return m.meet(ctx, p.Machines, result)
}

// upload stores the sum of a resource's file, and gives it to its service if that has it attached.
func (m *plannedCalls) upload(ctx context.Context, p params.PlannedResource) error {
	to := state.Upload{Service: p.Application, Resource: p.Name, Known: entity.ResourceFile{SHA256: p.SHA256}}
	if p.Upload != "" {
		to.ID = strings.Trim(strings.NewReplacer(m.stands...).Replace(quoted(p.Upload)), `"`)
		return m.Model.Resources().Store(ctx, to, nil)
	}
	if err := Changes.allowed(ctx, &m.Caller); err != nil {
		return err
	}
	svc, err := m.Model.Service(ctx, p.Application)
	if err != nil {
		return err
	}
	ids, err := m.Model.Resources().AddPending(ctx, state.PendingResources{Service: p.Application, User: m.Tag.ID, Names: []string{p.Name}})
	if err != nil {
		return err
	}
	to.ID = ids[0]
	if err := m.Model.Resources().Store(ctx, to, nil); err != nil {
		return err
	}
	return svc.SetResources(ctx, map[string]string{p.Name: to.ID})
}

// meet notes which machines a call has added, or on which its units are.
func (m *plannedCalls) meet(ctx context.Context, planned []params.PlannedMachine, result any) error {
	var ids []string
	switch r := result.(type) {
	case params.AddMachinesResults:
		for _, one := range r.Machines {
			ids = append(ids, one.Machine)
		}
	case params.AddApplicationUnitsResults:
		for _, name := range r.Units {
			u, err := m.Model.Unit(ctx, name)
			if err != nil {
				return err
			}
			ids = append(ids, u.Machine())
		}
	}
	for i, p := range planned[:min(len(planned), len(ids))] {
		if !entity.IsValidMachine(p.ID) || !entity.IsValidMachine(p.Host) {
			return entity.Errorf(entity.Invalid, "invalid machine %q or %q in a plan", p.ID, p.Host)
		}
		_, host := entity.ContainerOf(ids[i])
		m.stands = append(m.stands, p.ID, ids[i], p.Host, host)
	}
	return nil
}

func quoted(text string) string { return strconv.Quote(text) }

// addPlannedCharm adds the charm of a plan to the copy of the model, and returns its URL.
func addPlannedCharm(ctx context.Context, st *state.State, p params.PlannedCall) (string, error) {
	file, err := os.CreateTemp("", "juju-plan-*.zip")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(p.Charm); err != nil {
		return "", err
	}
	return st.Charms().Add(ctx, file.Name(), p.Series)
}

// warningsOf returns the warnings in a result.
func warningsOf(v reflect.Value, all []string) []string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return warningsOf(v.Elem(), all)
	case reflect.Slice:
		for i := range v.Len() {
			all = warningsOf(v.Index(i), all)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case !f.IsExported(): // such as those of a time
			case f.Name == "Warnings" && f.Type == reflect.TypeFor[[]string]():
				all = append(all, v.Field(i).Interface().([]string)...)
			default:
				all = warningsOf(v.Field(i), all)
			}
		}
	}
	return all
}

// plansIfUnchanged makes a request if the model is in the state of a plan.
func plansIfUnchanged(ctx context.Context, c *Caller, p params.PlannedCall) (any, error) {
	route, err := c.planned(p)
	if err != nil {
		return nil, err
	}
	if ctx, err = c.Model.Transactions().IfUnchanged(ctx, p.Token); err != nil {
		return nil, err
	}
	return route.Call(ctx, c, json.RawMessage(p.Params))
}
