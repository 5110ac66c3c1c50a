package apiserver

import (
	"context"
	"io"
	"net/http"
	"os"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/budget"
)

// routes lists every method of the API.
func routes() []facades.Route { return append(connRoutes(), facades.Routes()...) }

// connRoutes lists the methods of the connection itself.
func connRoutes() []facades.Route {
	return []facades.Route{
		{"Admin", 3, "Login", facades.AtController | facades.AtModel, facades.Unauthenticated | facades.LoggedIn, facades.Free, facades.AnyLogin, nil, on(adminLogin)},
		{"Admin", 3, "Register", facades.AtController, facades.Unauthenticated, facades.Free, facades.AnyLogin, nil, on(adminRegister)},
		{"Admin", 3, "RedirectInfo", facades.AtController | facades.AtModel, facades.Unauthenticated | facades.LoggedIn, facades.Free, facades.AnyLogin, nil, on(adminRedirectInfo)},
		{"Pinger", 1, "Ping", facades.AtController | facades.AtModel, facades.LoggedIn, facades.Free, facades.AnyLogin, nil, on(pingerPing)},
		{"Pinger", 1, "Stop", facades.AtController | facades.AtModel, facades.LoggedIn, facades.Free, facades.AnyLogin, nil, on(pingerPing)},
		// A watcher's id is only valid on its own connection.
		{"AllWatcher", 3, "Next", facades.AtModel, facades.Reader, facades.Reads, facades.AnyLogin, nil, on(watcherNext)},
		{"AllWatcher", 3, "Stop", facades.AtModel, facades.Reader, facades.Reads, facades.AnyLogin, nil, on(watcherStop)},
		{"ModelSummaryWatcher", 1, "Next", facades.AtController, facades.Reader, facades.Reads, facades.AnyLogin, nil, on(watcherNext)},
		{"ModelSummaryWatcher", 1, "Stop", facades.AtController, facades.Reader, facades.Reads, facades.AnyLogin, nil, on(watcherStop)},
		{"StringsWatcher", 1, "Next", facades.AtModel, facades.Reader, facades.Reads, facades.AnyLogin, nil, on(watcherNext)},
		{"StringsWatcher", 1, "Stop", facades.AtModel, facades.Reader, facades.Reads, facades.AnyLogin, nil, on(watcherStop)},
		{"Watcher", 1, "Next", facades.AtController | facades.AtModel, facades.LoggedIn, facades.Free, facades.AnyLogin, nil, on(watcherNext)},
		{"Watcher", 1, "Stop", facades.AtController | facades.AtModel, facades.LoggedIn, facades.Free, facades.AnyLogin, nil, on(watcherStop)},
	}
}

// on returns the handler of a method of the connection itself.
func on[P, R any](f func(context.Context, *request, P) (R, error)) facades.Handler {
	return facades.Do(func(ctx context.Context, c *facades.Caller, p P) (R, error) {
		return f(ctx, c.Request.(*request), p)
	})
}

// A request is a request on a connection.
type request struct {
	*conn
	frame *params.Request
	hold  *budget.Hold // the memory of the request
}

// Watch starts a watch.
func (r *request) Watch(who facades.Roles, open func(context.Context) (facades.Stream, error)) (params.WatcherID, error) {
	return r.watches.begin(who, open)
}

// Keep reserves memory for that many bytes of the result.
func (r *request) Keep(ctx context.Context, bytes int64) error { return r.hold.Grow(ctx, bytes) }

// HashTurn waits for its turn to hash a password for the user.
func (r *request) HashTurn(ctx context.Context, user string) (release func(), err error) {
	return r.server.hashTurn(ctx, r.netConn, user)
}

// ChangePassword calls change, which ends the user's other connections, but not this one.
func (r *request) ChangePassword(change func() (stamp string, err error)) error {
	r.password.Lock()
	defer r.password.Unlock()
	stamp, err := change()
	if err == nil && stamp != "" {
		session := *r.session.Load()
		session.password = stamp
		r.session.Store(&session)
	}
	return err
}

// Done is closed when the connection ends.
func (r *request) Done() <-chan struct{} { return r.ctx.Done() }

// A transfer is the HTTP request of a visitor.
type transfer struct {
	server *Server
	*visitor
	w http.ResponseWriter
	r *http.Request
}

// Receive receives a file.
func (t *transfer) Receive(limit int64, what string) (*os.File, func(), error) {
	return t.server.receive(t.visitor, t.w, t.r, limit, what)
}

// Send sends a file.
func (t *transfer) Send(file io.Reader, sum, what string) error {
	return t.server.send(t.w, t.r, t.visitor, file, sum, what)
}

// Progress tells the client how much of a file is ready.
func (t *transfer) Progress(bytes int64) { t.server.progress(t.w, bytes) }

// Reply responds with v.
func (t *transfer) Reply(v any) {
	if err := t.visitor.audit(nil); err != nil {
		t.server.writeError(t.w, t.r, err, "")
		return
	}
	t.server.writeJSON(t.w, t.r, http.StatusOK, v)
}
