package facades

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A Path is a path of the API.
type Path uint8

const (
	AtController Path = 1 << iota // /api
	AtModel                       // /model/UUID/api
)

// A Route is one method of a facade.
type Route struct {
	Facade  string
	Version int // one of those in FacadeVersions, if the facade is there
	Method  string
	At      Path
	Who     Roles
	Effect  Effect // which blocks reject it
	Login   Login
	Own     OwnCheck // keeps agents to their own entities; nil if only users may call
	Handler Handler
}

// A Login says with what a user must have logged in. A session of a browser ends, and what begins in it must end with it: so
// what makes or shows a credential, gives rights, copies the store or replaces programs needs a password.
type Login uint8

const (
	Password Login = iota // also where none is given
	AnyLogin              // also in a session
)

// Suits returns Unauthorized if it needs another login than the one that a caller has.
func (l Login) Suits(who Identity) error {
	if l == AnyLogin || !who.InSession {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Unauthorized, "a session of a browser may not do this"),
		"Use juju where you have logged in with your password.")
}

// ForUsers reports whether the method is for users, and not for every connection.
func (r *Route) ForUsers() bool {
	return r.Who&(Reader|Writer|Admin) != 0 && r.Who&LoggedIn != LoggedIn
}

// An OwnCheck returns Unauthorized unless the entity that a request names is the caller's own, or one that the caller
// manages.
type OwnCheck func(ctx context.Context, c *Caller, subject entity.Tag) error

// A Handler calls a method's function.
type Handler struct {
	Decode func(json.RawMessage) (any, error)
	Run    func(ctx context.Context, c *Caller, p any) (any, error)
	Waits  bool // it may wait long for what others do
}

// Do returns the handler of a method with a result.
func Do[P, R any](f func(context.Context, *Caller, P) (R, error)) Handler {
	return Handler{
		Decode: func(raw json.RawMessage) (any, error) {
			var p P
			if len(raw) == 0 {
				return p, nil
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, unreadable(err)
			}
			return p, nil
		},
		Run: func(ctx context.Context, c *Caller, p any) (any, error) { return f(ctx, c, p.(P)) },
	}
}

// Act returns the handler of a method without a result.
func Act[P any](f func(context.Context, *Caller, P) error) Handler {
	return Do(func(ctx context.Context, c *Caller, p P) (struct{}, error) { return struct{}{}, f(ctx, c, p) })
}

// None is the parameter type of methods without parameters. It accepts anything.
type None struct{}

// UnmarshalJSON ignores its input.
func (*None) UnmarshalJSON([]byte) error { return nil }

// Call runs the route for a caller that has one of its roles.
func (r *Route) Call(ctx context.Context, c *Caller, raw json.RawMessage) (any, error) {
	if err := r.Login.Suits(c.Identity); err != nil {
		return nil, err
	}
	p, err := r.Handler.Decode(raw)
	if err != nil {
		return nil, err
	}
	if r.Own != nil {
		if err := r.Own(ctx, c, subjectOf(p)); err != nil {
			return nil, err
		}
	}
	if err := params.Check(p); err != nil {
		return nil, fmt.Errorf("invalid request %s.%s: %w", r.Facade, r.Method, err)
	}
	if err := r.Effect.allowed(ctx, c); err != nil {
		return nil, err
	}
	c.who = r.Who
	return r.Handler.Run(ctx, c, p)
}

// A routeKey identifies a route in a request.
type routeKey struct {
	facade  string
	version int
	method  string
}

// A Table finds routes.
type Table struct {
	routes []Route
	byKey  map[routeKey]*Route
}

// NewTable returns a table of routes, at all versions of their facades.
func NewTable(routes []Route) *Table {
	routes = atAllVersions(routes)
	t := &Table{routes: routes, byKey: make(map[routeKey]*Route, len(routes))}
	for i := range routes {
		r := &routes[i]
		t.byKey[routeKey{r.Facade, r.Version, r.Method}] = r
	}
	return t
}

// Route returns a route, or nil if it does not exist.
func (t *Table) Route(facade string, version int, method string) *Route {
	return t.byKey[routeKey{facade, version, method}]
}

// Find returns the route that a request names, if it is served at this path and a caller with these roles may use it.
// If it returns Denied, it also returns the route. Its errors don't reveal to unauthenticated clients which routes
// exist.
func (t *Table) Find(req *params.Request, at Path, as Roles) (*Route, error) {
	r := t.Route(req.Type, req.Version, req.Request)
	switch {
	case as == Unauthenticated && (r == nil || r.Who&Unauthenticated == 0 || r.At&at == 0):
		return nil, entity.Errorf(entity.Unauthorized, "not logged in")
	case r == nil:
		return nil, t.unknown(req)
	case r.At&at == 0 && at == AtModel:
		return nil, entity.Errorf(entity.NotSupported, "facade %q not supported for model API connection", req.Type)
	case r.At&at == 0:
		return nil, entity.Errorf(entity.NotSupported, "facade %q not supported for controller API connection", req.Type)
	case r.Who&as == 0:
		return r, Denied()
	}
	return r, nil
}

// unknown returns the error for a request that names no route.
func (t *Table) unknown(req *params.Request) error {
	has := func(match func(*Route) bool) bool {
		return slices.ContainsFunc(t.routes, func(r Route) bool { return match(&r) })
	}
	switch {
	case !has(func(r *Route) bool { return r.Facade == req.Type }):
		return entity.Errorf(entity.NotImplemented, "unknown facade type %q", req.Type)
	case !has(func(r *Route) bool { return r.Facade == req.Type && r.Version == req.Version }):
		return entity.Errorf(entity.NotImplemented, "unknown version %d for facade type %q", req.Version, req.Type)
	}
	return entity.Errorf(entity.NotImplemented, "no such request - method %s.%s is not implemented", req.Type, req.Request)
}

// Facades lists the facades that a caller with these roles can use at a path, sorted.
func (t *Table) Facades(at Path, as Roles) []params.FacadeVersions {
	versions := map[string][]int{}
	for _, r := range t.routes {
		if r.At&at != 0 && r.Who&as != 0 && !slices.Contains(versions[r.Facade], r.Version) {
			versions[r.Facade] = append(versions[r.Facade], r.Version)
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

// unreadable returns the error for a request that can't be decoded.
func unreadable(err error) error {
	return entity.Errorf(entity.Invalid, "cannot read the request: %w", plainJSON(err))
}

// plainJSON describes what is wrong with a request, without the names of Go types.
func plainJSON(err error) error {
	var mismatch *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &mismatch):
		where := "it"
		if mismatch.Field != "" {
			where = mismatch.Field
		}
		article := "a"
		if mismatch.Value == "array" || mismatch.Value == "object" {
			article = "an"
		}
		return fmt.Errorf("%s can't be %s %s", where, article, mismatch.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("invalid JSON at byte %d", syntax.Offset)
	}
	return err
}
