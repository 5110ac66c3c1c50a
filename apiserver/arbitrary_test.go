package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// fuzzWorld is a server with a model whose agents send random requests.
type fuzzWorld struct {
	*world
	agents []*fuzzAgent
	admin  *client.Conn
	root   *client.Conn // the same user at the controller
	models int
	taken  map[string]int // by method: how many calls had no error
}

// A fuzzAgent is an agent with the methods that it may call.
type fuzzAgent struct {
	tag     entity.Tag
	conn    *rawConn
	methods []*facades.Route
}

func newFuzzWorld(t testing.TB) *fuzzWorld {
	w := &fuzzWorld{world: newWorld(t), taken: map[string]int{}}
	w.root = w.dial(w.adminInfo(""))
	w.fresh()
	return w
}

// fresh gives the agents a new model, in which all of them are alive.
func (w *fuzzWorld) fresh() {
	w.Helper()
	if w.models++; w.models > 1 {
		for _, a := range w.agents {
			a.conn.ws.Close()
		}
		w.admin.Close()
		var err error
		w.st, err = w.controller.AddModel(w.Context(),
			controller.AddModelParams{Name: fmt.Sprint("m", w.models), Owner: statetest.Admin, Series: "jammy"})
		if err != nil {
			w.Fatal(err)
		}
	}
	w.populate()
	w.give()
	for unit, service := range map[string]string{"mysql/0": "mysql", "wordpress/0": "wordpress"} {
		u, err := w.st.Unit(w.Context(), unit)
		if err == nil {
			err = u.SetAgentStatus(w.Context(), entity.Status{Status: entity.StatusIdle})
		}
		if err == nil {
			err = u.EnterScope(w.Context(), 0)
		}
		if err != nil {
			w.Fatalf("%s of %s: %v", unit, service, err)
		}
	}
	w.admin = w.dial(w.adminInfo(w.st.UUID()))
	w.agents = nil
	for _, tag := range []entity.Tag{entity.UnitTag("mysql/0"), entity.MachineTag("0"), entity.MachineTag("1")} {
		w.agents = append(w.agents, &fuzzAgent{tag: tag, conn: w.raw(w.modelPath()).login(tag, w.passwords[tag], nonce)})
	}
	w.agents = append(w.agents, &fuzzAgent{tag: entity.MachineTag("0"),
		conn: w.rawMemory(w.modelPath()).login(entity.MachineTag("0"), w.manager, "controller")})
	for i, a := range w.agents {
		as := facades.UnitAgent
		if a.tag.Kind == entity.KindMachine {
			as = facades.MachineAgent
		}
		if i == len(w.agents)-1 {
			as = facades.ControllerAgent
		}
		for j := range allRoutes {
			if r := &allRoutes[j]; r.Own != nil && r.Who&as != 0 {
				a.methods = append(a.methods, r)
			}
		}
	}
}

// give gives the model storage, and its agents tasks.
func (w *fuzzWorld) give() {
	w.Helper()
	ctx := w.Context()
	url := statetest.Charm(w, w.st,
		`{name: disk, summary: s, description: d, storage: {data: {type: filesystem, multiple: {range: 0+}}}}`)
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "disk", CharmURL: url, Units: 2,
		Placement: statetest.To("0", "1"), Storage: map[string]entity.StorageConstraints{"data": {Count: 2}}})
	if err != nil {
		w.Fatal(err)
	}
	// data/0 is as its cloud has made it, and data/1 is being destroyed.
	fs := entity.Filesystem{ID: "fs-0", Size: 1024}
	for _, id := range []string{"data/0", "data/1"} {
		s, err := w.st.Storage(ctx, id)
		if err == nil {
			err = s.SetFilesystem(ctx, fs)
		}
		if err == nil && id == "data/1" {
			err = s.Destroy(ctx, entity.Destruction{Strength: entity.Force}, false)
		}
		if err != nil {
			w.Fatal(err)
		}
		fs.ID = "fs-9"
	}
	var tasks []state.NewTask
	for _, receiver := range []string{"mysql/0", "0", "1", "mysql/0", "0"} {
		tasks = append(tasks, state.NewTask{Receiver: receiver, Name: entity.CommandTask,
			Params: map[string]any{entity.CommandParam: "true"}})
	}
	_, _, errs, err := w.st.Tasks().Enqueue(ctx, tasks)
	if err = errors.Join(append(errs, err)...); err != nil {
		w.Fatal(err)
	}
}

// ends are methods that can end the agent. They are mostly called with requests that must be
// refused.
var ends = []string{"EnsureDead", "RemoveMachine", "RemoveUnit", "DestroyUnit", "LeaveScope", "LoseInstance",
	"NewPassword", "EnsureStorageDead", "RemoveStorage", "RemoveAttachment"}

// say makes one call. It returns false if the call has cost the agent its connection.
func (w *fuzzWorld) say(a *fuzzAgent, r *facades.Route, raw []byte) bool {
	w.Helper()
	name := r.Facade + "." + r.Method
	if r.Method == "BlockUntilLeadershipReleased" {
		for _, unit := range []string{"mysql/0", "mysql/1"} {
			if u, err := w.st.Unit(w.Context(), unit); err == nil {
				_ = u.ReleaseLeadership(w.Context())
			}
		}
	}
	a.conn.id++
	frame := fmt.Appendf(nil, `{"request-id":%d,"type":%q,"version":%d,"request":%q,"params":%s}`, a.conn.id, r.Facade,
		r.Version, r.Method, raw)
	if err := a.conn.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
		return false
	}
	_ = a.conn.ws.SetReadDeadline(time.Now().Add(verify.Patience))
	_, text, err := a.conn.ws.ReadMessage()
	if err != nil {
		if websocket.IsCloseError(err, params.CloseRevoked) {
			return false // it was removed, or given another password
		}
		if ce, ok := err.(*websocket.CloseError); !ok || !json.Valid(raw) &&
			ce.Code == websocket.CloseInvalidFramePayloadData {
			return false
		}
		w.Fatalf("%s as %s: %v\nparams %.500q", name, a.tag, err, raw)
	}
	var reply params.Response
	if err := json.Unmarshal(text, &reply); err != nil {
		w.Fatalf("%s as %s answers %.500q: %v", name, a.tag, text, err)
	}
	switch err := reply.Err(); {
	case err != nil && entity.KindOf(err) == "":
		w.Fatalf("%s as %s: %v\nparams %.500q", name, a.tag, err, raw)
	case err == nil && w.foreign(a, r, raw):
		w.Fatalf("%s as %s accepts another entity\nparams %.500q\nanswer %.500q", name, a.tag, raw, text)
	}
	if reply.Err() == nil {
		w.taken[name]++
	}
	return true
}

// foreign reports whether a request is about an entity that is not the agent's.
func (w *fuzzWorld) foreign(a *fuzzAgent, r *facades.Route, raw []byte) bool {
	p, err := r.Handler.Decode(raw)
	if err != nil {
		return true // not a request of this method
	}
	var subject entity.Tag
	if tag := reflect.ValueOf(p).FieldByName("Tag"); tag.IsValid() {
		subject = tag.Interface().(params.Tag).Tag
	}
	switch own := ownCheck(r); {
	case own == "everything":
		return false
	case subject.IsZero():
		return true
	case own == "self":
		return subject != a.tag
	case own == "deployed", own == "deployedOrGone":
		u, err := w.st.Unit(w.Context(), subject.ID)
		if err != nil {
			return own == "deployed"
		}
		return u.Deployer() != a.tag
	case own == "machines":
		return subject.Kind != entity.KindMachine
	case own == "services":
		return subject.Kind != entity.KindService
	case own == "storages":
		return subject.Kind != entity.KindStorage
	}
	w.Fatalf("%s.%s: this test does not know its ownCheck", r.Facade, r.Method)
	return true
}

// allRoutes are the routes that the worlds ask for.
var allRoutes = routes()

// ownCheck returns the name of the check that keeps agents of a method to their own entities.
func ownCheck(r *facades.Route) string {
	name := runtime.FuncForPC(reflect.ValueOf(r.Own).Pointer()).Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}

// answers makes every query about the model. None may fail, or find anything wrong.
func (w *fuzzWorld) answers() {
	w.Helper()
	ctx := w.Context()
	must := func(what string, err error) {
		w.Helper()
		if err != nil {
			w.Fatalf("%s: %v", what, err)
		}
	}
	_, err := w.admin.Status(ctx)
	must("status", err)
	_, err = w.root.DumpModel(ctx, w.st.UUID())
	must("dump-db", err)
	found, err := w.root.CheckModel(ctx, w.st.UUID(), false)
	must("check", err)
	for _, f := range found {
		w.Errorf("check finds %s: %s", f.Where, f.What)
	}
	_, _, err = w.admin.Explain(ctx)
	must("explain-all", err)
	for _, of := range []struct {
		kind entity.HistoryKind
		tag  entity.Tag
	}{{entity.HistoryUnit, entity.UnitTag("mysql/0")}, {entity.HistoryMachine, entity.MachineTag("0")},
		{entity.HistoryMachine, entity.MachineTag("1")}} {
		if _, err := w.admin.StatusHistory(ctx, of.kind, of.tag, client.HistoryQuery{Size: 100}); err != nil &&
			entity.KindOf(err) != entity.NotFound {
			must("show-status-log", err)
		}
		if _, _, err := w.admin.Explain(ctx, of.tag.ID); err != nil && entity.KindOf(err) != entity.NotFound {
			must("explain "+of.tag.ID, err)
		}
	}
}

// Whatever agents send to whatever method, no reply is an internal error, nothing of another
// entity is revealed or changed, and every query about the model succeeds.
func TestRandomRequestsOfAgents(t *testing.T) {
	calls := 2000
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		calls = 100_000
	case testing.Short():
		calls = 300
	}
	g := &garbage{Rand: rand.New(rand.NewPCG(fuzzSeed(t), 0))}
	w := newFuzzWorld(t)
	for i := range calls {
		// Any method of any agent. A unit's agent has more methods than the others together.
		n := 0
		for _, a := range w.agents {
			n += len(a.methods)
		}
		n = g.IntN(n)
		lost := false
		for _, a := range w.agents {
			if n >= 0 && n < len(a.methods) {
				r := a.methods[n]
				lost = !w.say(a, r, g.request(r, a.tag))
			}
			n -= len(a.methods)
		}
		if lost || i%250 == 249 || i == calls-1 {
			w.answers()
			w.fresh()
		}
	}
	t.Logf("taken: %v", w.taken)
	for _, r := range routes() {
		// Otherwise the code behind the checks would not be tested. Ends need a whole life before
		// them, and take nothing but a tag. This world has no resource, no secret and no trust, its server has
		// addresses of nobody, and no other model consumes an offer of it.
		lacking := []string{"Uniter.Resource", "Uniter.Secret", "Uniter.CloudSpec", "APIAddresser.WatchAPIHostPorts"}
		if name := r.Facade + "." + r.Method; r.Own != nil && !slices.Contains(ends, r.Method) && w.taken[name] == 0 &&
			!slices.Contains(lacking, name) && r.Facade != "CrossModelRelations" && calls >= 100_000 {
			t.Errorf("%s was never taken", name)
		}
	}
}

// FuzzAgentMethods is TestRandomRequestsOfAgents with requests made by a fuzzer.
func FuzzAgentMethods(f *testing.F) {
	g := &garbage{Rand: rand.New(rand.NewPCG(1, 1))}
	for i, r := range routes() {
		if slices.Contains([]string{"CommitHook", "SetUnitStatus", "SetInstanceStatus", "SetProvisioned"}, r.Method) {
			f.Add(uint(i), g.request(&r, entity.UnitTag("mysql/0")))
			f.Add(uint(i), g.request(&r, entity.MachineTag("0")))
		}
	}
	w := newFuzzWorld(f)
	f.Fuzz(func(t *testing.T, n uint, raw []byte) {
		if len(raw) > 1<<20 || !json.Valid(raw) {
			return // not a valid frame
		}
		w.TB = t
		defer func() { w.TB = f }()
		w.root = w.dial(w.adminInfo(""))
		w.fresh()
		asked := &allRoutes[int(n%uint(len(allRoutes)))]
		for _, a := range w.agents {
			if slices.Contains(a.methods, asked) {
				w.say(a, asked, raw)
			}
		}
		w.answers()
	})
}
