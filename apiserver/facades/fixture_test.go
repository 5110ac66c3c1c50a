package facades_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/juju/loggo"

	"juju/apiserver/client"
	"juju/apiserver/deltas"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/doc/tools/verify"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// TestMain silences the log: many tests provoke errors.
func TestMain(m *testing.M) {
	if _, err := loggo.RemoveWriter(loggo.DefaultWriterName); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// A world is a controller on a real state, whose methods are called without a server: no connections, no passwords, and no
// audit log. What these add is tested in package apiserver.
type world struct {
	testing.TB
	backend    *facades.Backend
	controller *controller.Controller
	st         *state.State      // the model "default"
	charms     map[string]string // name → URL
	ahead      atomic.Int64      // by which agents have been awaited, or have not answered, for longer
}

// newWorld returns the API of a controller with an empty model.
func newWorld(t testing.TB, adjust ...func(*facades.Config)) *world {
	t.Helper()
	c, st := statetest.Controller(t)
	return newWorldOf(t, c, st, adjust...)
}

// newWorldOf returns the API of a controller, of which st is a model.
func newWorldOf(t testing.TB, c *controller.Controller, st *state.State, adjust ...func(*facades.Config)) *world {
	t.Helper()
	own, err := c.Model(t.Context(), modelNamed(t, c, state.ControllerModel))
	if err != nil {
		t.Fatal(err)
	}
	w, importing := &world{TB: t, controller: c, st: st, charms: map[string]string{}}, make(chan struct{}, 1)
	connected := presence.New(func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) })
	w.backend = &facades.Backend{
		Config: facades.Config{Controller: c, Version: "1.2.3", Series: "jammy", Meter: unmetered{}},
		Table:  facades.NewTable(facades.Routes()), ControllerModel: own, Presence: connected, Deltas: deltas.New(connected), Hub: hub.New(t.TempDir()),
		Limits: facades.Limits{CloudTime: verify.Patience, Charm: 1 << 20, Resource: 1 << 20, Binaries: 1 << 20},
		ImportTurn: func(context.Context) (func(), error) {
			importing <- struct{}{}
			return func() { <-importing }, nil
		},
	}
	for _, f := range adjust {
		f(&w.backend.Config)
	}
	return w
}

// modelNamed returns the UUID of a controller's model.
func modelNamed(t testing.TB, c *controller.Controller, name string) string {
	t.Helper()
	all, err := c.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Name == name {
			return m.UUID
		}
	}
	t.Fatalf("there is no model %q", name)
	return ""
}

type unmetered struct{}

func (unmetered) HookRan(string, string, time.Duration) {}
func (unmetered) HookFailed(string, string)             {}
func (unmetered) LoginRefused(string)                   {}

// onCloud makes the API ask a cloud.
func onCloud(cloud *dummytest.Cloud) func(*facades.Config) {
	return func(c *facades.Config) { facadestest.OnCloud(c, cloud) }
}

// populate adds two related services with two units each, on four machines with instances.
func (w *world) populate() *world {
	w.Helper()
	ctx := w.Context()
	w.charms["mysql"] = statetest.Charm(w, w.st, statetest.MySQL, "config.yaml", "{options: {size: {type: int, default: 5}}}")
	w.charms["wordpress"] = statetest.Charm(w, w.st, statetest.Wordpress)
	for _, name := range []string{"mysql", "wordpress"} {
		_, err := w.st.AddService(ctx, state.AddServiceParams{Name: name, CharmURL: w.charms[name], Units: 2})
		w.ok(err)
	}
	_, err := w.st.AddRelation(ctx, "wordpress", "mysql")
	w.ok(err)
	machines, err := w.st.Machines(ctx)
	w.ok(err)
	for i, m := range machines {
		w.ok(m.SetProvisioned(ctx, entity.Instance{ID: "i-" + m.ID(), Nonce: "nonce", Addresses: []string{fmt.Sprintf("127.0.1.%d", i)}}))
	}
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// addUser adds a user, who may log in to the controller.
func (w *world) addUser(name string) {
	w.Helper()
	_, err := w.controller.AddUser(w.Context(), controller.AddUserParams{Name: name, Password: "a long password", Creator: statetest.Admin})
	w.ok(err)
}

// guests adds the users bob and eve, and returns a model of bob's.
func (w *world) guests() *state.State {
	w.Helper()
	w.addUser("bob")
	w.addUser("eve")
	mine, err := w.controller.AddModel(w.Context(), controller.AddModelParams{Name: "mine", Owner: "bob", Series: "jammy"})
	w.ok(err)
	return mine
}

// life returns the life of the model "default".
func (w *world) life() entity.Life {
	w.Helper()
	life, err := w.st.Life(w.Context())
	w.ok(err)
	return life
}

// stored returns all that the store has of the model, except charms, which are uploaded before.
func (w *world) stored() string {
	w.Helper()
	all, err := w.st.Dump(w.Context())
	w.ok(err)
	var text strings.Builder
	for _, name := range []string{"model", "machines", "services", "units", "constraints", "settings", "counts", "cleanups", "sequence"} {
		for _, doc := range all[name] {
			text.Write(doc)
		}
	}
	return text.String()
}

// A caller calls methods at a model, or at the controller itself.
type caller struct {
	*world
	model string // "" for the controller
	id    facades.Identity

	ctx     context.Context // ends with the test, or with the connection of client
	end     context.CancelFunc
	mu      sync.Mutex
	watches map[string]openWatch
}

type openWatch struct {
	facades.Stream
	stop context.CancelFunc
}

func (w *world) as(model string, id facades.Identity) *caller {
	ctx, end := context.WithCancel(context.Background())
	w.Cleanup(end)
	return &caller{world: w, model: model, id: id, ctx: ctx, end: end, watches: map[string]openWatch{}}
}

// admin is the user who may do everything, at the model "default"; root is the same user at the controller.
func (w *world) admin() *caller { return w.user(statetest.Admin, w.st.UUID()) }
func (w *world) root() *caller  { return w.user(statetest.Admin, "") }

// user is a user, whose rights are looked up for each call.
func (w *world) user(name, model string) *caller {
	return w.as(model, facades.Identity{Tag: entity.UserTag(name)})
}

// agent is the agent of a machine or unit of the model "default".
func (w *world) agent(tag entity.Tag) *caller {
	role := facades.UnitAgent
	if tag.Kind == entity.KindMachine {
		role = facades.MachineAgent
	}
	return w.as(w.st.UUID(), facades.Identity{Tag: tag, Roles: role})
}

// arrive connects an agent, as far as its presence is concerned, until leave is called.
func (w *world) arrive(tag entity.Tag) (leave func()) { return w.arriveBy(tag, &presence.Line{}) }

func (w *world) arriveBy(tag entity.Tag, line *presence.Line) (leave func()) {
	return w.backend.Presence.Arrive(w.st.UUID(), tag, line, entity.Binaries{})
}

// uniter is the API of a unit's agent.
func (w *world) uniter(unit entity.Tag) client.UniterFacade {
	w.Helper()
	return client.UniterFacade{Caller: w.agent(unit).client()}
}

// manager is the agent of the controller's machine, at the model "default".
func (w *world) manager() *caller {
	return w.as(w.st.UUID(), facades.Identity{Tag: entity.MachineTag("0"), Roles: facades.ControllerAgent})
}

// who returns the caller's present rights, and the model.
func (c *caller) who(ctx context.Context) (id facades.Identity, st *state.State, err error) {
	if c.model != "" {
		if st, err = c.controller.Model(ctx, c.model); err != nil {
			return id, nil, err
		}
	}
	if c.id.Tag.Kind != entity.KindUser {
		return c.id, st, nil
	}
	rights, err := c.controller.Rights(ctx, c.id.Tag.ID, c.model)
	return facades.IdentityOf(c.id.Tag, c.model, rights), st, err
}

// handle finds the route of a request and calls it, as a connection does.
func (c *caller) handle(ctx context.Context, req *params.Request) (any, error) {
	id, st, err := c.who(ctx)
	if err != nil {
		return nil, err
	}
	at := facades.AtController
	if st != nil {
		at = facades.AtModel
	}
	r, err := c.backend.Table.Find(req, at, id.Roles)
	if r != nil && err != nil && id.Tag.Kind == entity.KindUser {
		err = facades.Lacks(id, st, r.Who)
	}
	if err != nil {
		return nil, err
	}
	return r.Call(ctx, &facades.Caller{Identity: id, Backend: c.backend, Request: c, Model: st}, req.Params)
}

// answer returns the frame that answers a request.
func (c *caller) answer(ctx context.Context, req *params.Request) ([]byte, error) {
	var result any
	var err error
	switch req.Request {
	case "Login":
		result = params.LoginResult{ServerVersion: entity.JujuVersion}
	case "Next":
		result, err = c.next(ctx, req.ID)
	case "Stop":
		c.stop(req.ID)
	default:
		result, err = c.handle(ctx, req)
	}
	if err != nil {
		return params.EncodeFailure(req.RequestID, facades.WireError(c.String(), err))
	}
	return params.EncodeSuccess(req.RequestID, result, params.Trace{})
}

// call makes a request and returns the reply, both as JSON.
func (c *caller) call(facade string, version int, method string, args any) (reply params.Response) {
	c.Helper()
	text, err := json.Marshal(args)
	c.ok(err)
	frame, err := c.answer(c.ctx, &params.Request{RequestID: 1, Type: facade, Version: version, Request: method, Params: text})
	c.ok(err)
	c.ok(json.Unmarshal(frame, &reply))
	return reply
}

// do is call for requests with a result, a pointer or nil, which it reads from the reply.
func (c *caller) do(facade string, version int, method string, args, result any) error {
	c.Helper()
	reply := c.call(facade, version, method, args)
	if err := reply.Err(); err != nil || result == nil {
		return err
	}
	c.ok(json.Unmarshal(reply.Response, result))
	return nil
}

// String implements facades.Request, as do the methods below.
func (c *caller) String() string { return "a test" }

// Watch implements facades.Request.
func (c *caller) Watch(_ facades.Roles, open func(context.Context) (facades.Stream, error)) (params.WatcherID, error) {
	ctx, stop := context.WithCancel(c.ctx)
	s, err := open(ctx)
	if err != nil {
		stop()
		return params.WatcherID{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := strconv.Itoa(len(c.watches) + 1)
	c.watches[id] = openWatch{s, stop}
	return params.WatcherID{ID: id}, nil
}

// next waits for a watch's next event.
func (c *caller) next(ctx context.Context, id string) (params.Event, error) {
	c.mu.Lock()
	s := c.watches[id]
	c.mu.Unlock()
	chosen, value, open := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: s.Ch},
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}})
	if chosen > 0 || !open {
		return params.Event{}, entity.Errorf(entity.Stopped, "watcher has been stopped")
	}
	return s.Event(value)
}

func (c *caller) stop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.watches[id]; ok {
		s.stop()
	}
}

// Keep implements facades.Request.
func (c *caller) Keep(context.Context, int64) error { return nil }

// HashTurn implements facades.Request.
func (c *caller) HashTurn(context.Context, string) (func(), error) { return func() {}, nil }

// ChangePassword implements facades.Request.
func (c *caller) ChangePassword(change func() (string, error)) error {
	_, err := change()
	return err
}

// Done implements facades.Request.
func (c *caller) Done() <-chan struct{} { return c.ctx.Done() }

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// A step is a request, as "Facade version Method" and its arguments in JSON, and what is answered, as outcome shows it. A want
// that ends in "…" is the beginning.
type step struct{ request, args, want string }

// says makes requests, one after another.
func (c *caller) says(steps ...step) {
	c.Helper()
	for _, s := range steps {
		words := strings.Fields(s.request)
		version, err := strconv.Atoi(words[1])
		c.ok(err)
		got := c.outcome(c.call(words[0], version, words[2], json.RawMessage(s.args)))
		begin, cut := strings.CutSuffix(s.want, "…")
		if got != s.want && !(cut && strings.HasPrefix(got, begin)) {
			c.Errorf("%s %s:\n%s\nwant\n%s", s.request, s.args, got, s.want)
		}
	}
}

// outcome shows a reply: its error with the hint after " → ", or its results, a line each, of which each is an error or JSON.
func (c *caller) outcome(reply params.Response) string {
	c.Helper()
	told := func(err error) string {
		if hint := entity.Hint(err); hint != "" {
			return err.Error() + " → " + hint
		}
		return err.Error()
	}
	if err := reply.Err(); err != nil {
		return told(err)
	}
	var all struct{ Results []json.RawMessage }
	c.ok(json.Unmarshal(reply.Response, &all))
	if all.Results == nil {
		all.Results = []json.RawMessage{reply.Response}
	}
	var lines []string
	for _, one := range all.Results {
		var r params.ErrorResult
		if c.ok(json.Unmarshal(one, &r)); r.Error != nil {
			lines = append(lines, told(params.FromError(r.Error)))
		} else {
			lines = append(lines, string(one))
		}
	}
	return strings.Join(lines, "\n")
}
