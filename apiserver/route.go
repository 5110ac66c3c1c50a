package apiserver

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

// A place is a path of the API.
type place uint8

const (
	atController place = 1 << iota // /api
	atModel                        // /model/UUID/api
)

// A route is one method of a facade.
type route struct {
	facade  string
	version int
	method  string
	at      place
	who     roles
	effect  effect   // what it does to the model, and so which blocks refuse it
	own     ownCheck // keeps agents to their own entities; nil if only users may call
	handler handler
}

// An ownCheck returns Unauthorized unless the entity that a request is about is the caller's
// own, or one that the caller looks after.
type ownCheck func(ctx context.Context, c *caller, subject entity.Tag) error

// A caller is what a method may need to know about its request.
type caller struct {
	identity
	server  *Server
	conn    *conn
	model   *state.State // nil on the controller's path
	request uint64       // the request's id
	id      string       // the request's watcher, for Next and Stop
	who     roles        // all who may call the method
	hold    *hold        // the memory of the request
}

// keep makes room for a part of the result. Methods that answer for each entry of a list use it: a
// short list can have a long answer.
func (c *caller) keep(ctx context.Context, part any) error {
	return c.hold.grow(ctx, sizeOf(reflect.ValueOf(part), 0))
}

// A handler calls a method's function.
type handler struct {
	decode func(json.RawMessage) (any, error)
	run    func(ctx context.Context, c *caller, p any) (any, error)
}

// do returns the handler of a method with a result.
func do[P, R any](f func(context.Context, *caller, P) (R, error)) handler {
	return handler{
		decode: func(raw json.RawMessage) (any, error) {
			var p P
			if len(raw) == 0 {
				return p, nil
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, unreadable(err)
			}
			return p, nil
		},
		run: func(ctx context.Context, c *caller, p any) (any, error) { return f(ctx, c, p.(P)) },
	}
}

// act returns the handler of a method without a result.
func act[P any](f func(context.Context, *caller, P) error) handler {
	return do(func(ctx context.Context, c *caller, p P) (struct{}, error) { return struct{}{}, f(ctx, c, p) })
}

// none is the parameter of methods that take nothing. It accepts anything.
type none struct{}

// UnmarshalJSON reads nothing.
func (*none) UnmarshalJSON([]byte) error { return nil }

// call runs the route for a caller that has one of its roles.
func (r *route) call(ctx context.Context, c *caller, raw json.RawMessage) (any, error) {
	p, err := r.handler.decode(raw)
	if err != nil {
		return nil, err
	}
	if r.own != nil {
		if err := r.own(ctx, c, subjectOf(p)); err != nil {
			return nil, err
		}
	}
	if err := params.Check(p); err != nil {
		return nil, fmt.Errorf("cannot take %s.%s: %w", r.facade, r.method, err)
	}
	if err := r.effect.allowed(ctx, c); err != nil {
		return nil, err
	}
	c.who = r.who
	return r.handler.run(ctx, c, p)
}

// A routeKey is how a request names a route.
type routeKey struct {
	facade  string
	version int
	method  string
}

// A table finds routes.
type table struct {
	routes []route
	byKey  map[routeKey]*route
}

func newTable(routes []route) *table {
	t := &table{routes: routes, byKey: make(map[routeKey]*route, len(routes))}
	for i := range routes {
		r := &routes[i]
		t.byKey[routeKey{r.facade, r.version, r.method}] = r
	}
	return t
}

// find returns the route that a request names, if it is at this place and a caller with these
// roles may use it; with the denial the route too. Its errors tell a stranger nothing about what there is.
func (t *table) find(req *params.Request, at place, as roles) (*route, error) {
	r := t.byKey[routeKey{req.Type, req.Version, req.Request}]
	switch {
	case as == stranger && (r == nil || r.who&stranger == 0 || r.at&at == 0):
		return nil, entity.Errorf(entity.Unauthorized, "not logged in")
	case r == nil:
		return nil, t.unknown(req)
	case r.at&at == 0 && at == atModel:
		return nil, entity.Errorf(entity.NotSupported, "facade %q not supported for model API connection", req.Type)
	case r.at&at == 0:
		return nil, entity.Errorf(entity.NotSupported, "facade %q not supported for controller API connection", req.Type)
	case r.who&as == 0:
		return r, denied()
	}
	return r, nil
}

// unknown is the error for a request that names no route.
func (t *table) unknown(req *params.Request) error {
	has := func(match func(*route) bool) bool {
		return slices.ContainsFunc(t.routes, func(r route) bool { return match(&r) })
	}
	switch {
	case !has(func(r *route) bool { return r.facade == req.Type }):
		return entity.Errorf(entity.NotImplemented, "unknown facade type %q", req.Type)
	case !has(func(r *route) bool { return r.facade == req.Type && r.version == req.Version }):
		return entity.Errorf(entity.NotImplemented, "unknown version %d for facade type %q", req.Version, req.Type)
	}
	return entity.Errorf(entity.NotImplemented, "no such request - method %s.%s is not implemented", req.Type, req.Request)
}

// facades lists the facades that a caller with these roles can use at a place, sorted.
func (t *table) facades(at place, as roles) []params.FacadeVersions {
	versions := map[string][]int{}
	for _, r := range t.routes {
		if r.at&at != 0 && r.who&as != 0 && !slices.Contains(versions[r.facade], r.version) {
			versions[r.facade] = append(versions[r.facade], r.version)
		}
	}
	all := make([]params.FacadeVersions, 0, len(versions))
	for name, vs := range versions {
		slices.Sort(vs)
		all = append(all, params.FacadeVersions{Name: name, Versions: vs})
	}
	slices.SortFunc(all, func(a, b params.FacadeVersions) int { return entity.CompareNatural(a.Name, b.Name) })
	return all
}

// unreadable is the error for a request that is not what the method takes.
func unreadable(err error) error {
	return entity.Errorf(entity.Invalid, "cannot read the request: %w", plainJSON(err))
}

// plainJSON returns what is wrong with a request, without the names of Go types.
func plainJSON(err error) error {
	var mismatch *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &mismatch):
		where := "it"
		if mismatch.Field != "" {
			where = mismatch.Field
		}
		return fmt.Errorf("%s can't be a %s", where, mismatch.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON, from byte %d on", syntax.Offset)
	}
	return err
}
