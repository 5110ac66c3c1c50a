package facades

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// An agentFacade is one row of agentFacades: methods for agents of some kinds.
type agentFacade struct {
	name    string
	who     Roles
	methods []agentRoute
}

// An agentRoute is one method of an agentFacade.
type agentRoute struct {
	name   string
	own    OwnCheck
	method agentMethod
}

// agentRoutes returns the routes of all agentFacades.
func agentRoutes() (routes []Route) {
	for _, f := range agentFacades() {
		for _, m := range f.methods {
			routes = append(routes, Route{f.name, 1, m.name, AtModel, f.who, Free, AnyLogin, m.own, m.method.handler()})
		}
	}
	return routes
}

// An agentMethod is a Go method that agents call through the API. Requests and replies are derived from its signature.
// This uses reflection because generics cannot range over the number of arguments.
type agentMethod struct {
	f       reflect.Value
	args    []string     // names in the request of f's arguments after the context
	result  string       // name in the reply of f's result; "" if it is the whole reply
	goneOK  bool         // NotFound counts as success
	watched bool         // reads what the model's watches have reported
	waiting bool         // may wait long for what others do
	known   bool         // reads again what it relies on of its unit or machine
	request reflect.Type // a struct of the arguments; None if there are none
}

// tagArg is the name in the request of the entity it concerns.
const tagArg = "tag"

// receivers find the receiver of a method by its type, the first argument of agentMethod.f.
var receivers = map[reflect.Type]func(ctx context.Context, c *Caller, subject entity.Tag) (any, error){
	reflect.TypeFor[*state.Unit](): func(ctx context.Context, c *Caller, subject entity.Tag) (any, error) {
		return c.Model.Unit(ctx, subject.ID)
	},
	reflect.TypeFor[*state.Machine](): func(ctx context.Context, c *Caller, subject entity.Tag) (any, error) {
		return c.Model.Machine(ctx, subject.ID)
	},
	reflect.TypeFor[*state.Storage](): func(ctx context.Context, c *Caller, subject entity.Tag) (any, error) {
		return c.Model.Storage(ctx, subject.ID)
	},
	reflect.TypeFor[*state.Service](): func(ctx context.Context, c *Caller, subject entity.Tag) (any, error) {
		return c.Model.Service(ctx, subject.ID)
	},
	reflect.TypeFor[state.Provisioning](): func(_ context.Context, c *Caller, _ entity.Tag) (any, error) {
		return c.Model.Provisioning(), nil
	},
	reflect.TypeFor[state.Watches](): func(_ context.Context, c *Caller, _ entity.Tag) (any, error) {
		return c.Model.Watches(), nil
	},
	reflect.TypeFor[state.Agents](): func(_ context.Context, c *Caller, _ entity.Tag) (any, error) {
		return c.Model.Agents(), nil
	},
	reflect.TypeFor[state.Settings](): func(_ context.Context, c *Caller, _ entity.Tag) (any, error) {
		return c.Model.Settings(), nil
	},
	reflect.TypeFor[state.MinUnits](): func(_ context.Context, c *Caller, _ entity.Tag) (any, error) {
		return c.Model.MinUnits(), nil
	},
	reflect.TypeFor[*Caller](): func(_ context.Context, c *Caller, _ entity.Tag) (any, error) { return c, nil },
}

// calls returns the agentMethod that calls f, a method expression of a type in receivers. If the receiver is a unit,
// machine, storage instance or service, the request's tag identifies it. args are the names in the request of f's arguments
// after the context. The argument "tag" is the request's tag, or its id if f takes a string.
//
// A method that returns a channel starts a watch.
func calls(f any, args ...string) agentMethod {
	m := agentMethod{f: reflect.ValueOf(f), args: args, request: reflect.TypeFor[None]()}
	t := m.f.Type()
	if t.NumIn() != 2+len(args) || receivers[t.In(0)] == nil {
		panic(fmt.Sprintf("calls(%v) does not take %q", t, args))
	}
	var fields []reflect.StructField
	addField := func(field, name string, t reflect.Type) {
		tag := reflect.StructTag(fmt.Sprintf("json:%q", name))
		fields = append(fields, reflect.StructField{Name: field, Type: t, Tag: tag})
	}
	onEntity := slices.Contains([]reflect.Type{reflect.TypeFor[*state.Unit](), reflect.TypeFor[*state.Machine](),
		reflect.TypeFor[*state.Storage](), reflect.TypeFor[*state.Service]()}, t.In(0))
	if onEntity || slices.Contains(args, tagArg) {
		addField(tagField, tagArg, reflect.TypeFor[params.Tag]())
	}
	for i, name := range args {
		if name != tagArg {
			addField(argField(i), name, params.WireType(t.In(2+i)))
		}
	}
	if len(fields) > 0 {
		m.request = reflect.StructOf(fields)
	}
	return m
}

// returns sets the name of the result in the reply.
func (m agentMethod) returns(name string) agentMethod {
	m.result = name
	return m
}

// orGone makes the method succeed for an entity that has been removed: an agent that repeats a request because it did
// not get the reply has what it wants.
func (m agentMethod) orGone() agentMethod {
	m.goneOK = true
	return m
}

// asWatched makes a method that only reads use what the model's watches have reported: for what an agent reads because
// of an event, since another event follows if it reads too early. See modeltxn.DB.AsWatched.
func (m agentMethod) asWatched() agentMethod {
	m.watched = true
	return m
}

// ofKnown lets a method use the unit or machine as the model's watches have reported it: one that changes the model, and
// reads again what it relies on.
func (m agentMethod) ofKnown() agentMethod {
	m.known = true
	return m
}

// waits is for methods that wait for what others do, and must not keep them from doing it.
func (m agentMethod) waits() agentMethod {
	m.waiting = true
	return m
}

// knownReceivers are the receivers of methods that are ofKnown.
var knownReceivers = map[reflect.Type]func(ctx context.Context, c *Caller, subject entity.Tag) (any, error){
	reflect.TypeFor[*state.Unit](): func(ctx context.Context, c *Caller, subject entity.Tag) (any, error) {
		return c.Model.Agents().KnownUnit(ctx, subject.ID)
	},
	reflect.TypeFor[*state.Machine](): func(ctx context.Context, c *Caller, subject entity.Tag) (any, error) {
		return c.Model.Agents().KnownMachine(ctx, subject.ID)
	},
}

// tagField is the field for the tag in a request's struct.
const tagField = "Tag"

// argField returns the name of the field for the i-th argument.
func argField(i int) string { return fmt.Sprint("Arg", i) }

// subjectOf returns the entity that an agent's request names, or the zero Tag.
func subjectOf(request any) entity.Tag {
	tag := reflect.ValueOf(request).FieldByName(tagField)
	if !tag.IsValid() {
		return entity.Tag{}
	}
	return tag.Interface().(params.Tag).Tag
}

func (m agentMethod) handler() Handler {
	return Handler{Decode: m.decode, Run: m.run, Waits: m.waiting}
}

func (m agentMethod) decode(raw json.RawMessage) (any, error) {
	p := reflect.New(m.request)
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, p.Interface()); err != nil {
			return nil, unreadable(err)
		}
	}
	return p.Elem().Interface(), nil
}

func (m agentMethod) run(ctx context.Context, c *Caller, p any) (any, error) {
	if t := m.f.Type(); t.Out(0).Kind() == reflect.Chan {
		return c.Request.Watch(c.who, func(ctx context.Context) (Stream, error) {
			events, err := m.call(ctx, c, p)
			if err != nil {
				return Stream{}, err
			}
			return streamOf(events)
		})
	}
	result, err := m.call(ctx, c, p)
	if m.goneOK && errors.Is(err, entity.NotFound) {
		return struct{}{}, nil
	}
	if err == nil && m.result != "" {
		return map[string]any{m.result: result}, nil
	}
	return result, err
}

// call calls the Go method with the arguments of a request. It returns the method's result converted to its type on the
// wire, or struct{}{} if there is none.
func (m agentMethod) call(ctx context.Context, c *Caller, p any) (any, error) {
	t, subject := m.f.Type(), subjectOf(p)
	if m.watched {
		watched := *c
		watched.Model = c.Model.Agents().AsWatched()
		c = &watched
	}
	find := receivers[t.In(0)]
	if m.known {
		find = knownReceivers[t.In(0)]
	}
	receiver, err := find(ctx, c, subject)
	if err != nil {
		return nil, err
	}
	in := []reflect.Value{reflect.ValueOf(receiver), reflect.ValueOf(ctx)}
	for i, name := range m.args {
		switch want := t.In(2 + i); {
		case name != tagArg:
			in = append(in, reflect.ValueOf(p).FieldByName(argField(i)).Convert(want))
		case want.Kind() == reflect.String:
			in = append(in, reflect.ValueOf(subject.ID))
		default:
			in = append(in, reflect.ValueOf(subject))
		}
	}
	call := m.f.Call
	if t.IsVariadic() {
		call = m.f.CallSlice
	}
	out := call(in)
	err, _ = out[len(out)-1].Interface().(error)
	if len(out) == 1 || err != nil {
		return struct{}{}, err
	}
	return out[0].Convert(params.WireType(out[0].Type())).Interface(), nil
}
