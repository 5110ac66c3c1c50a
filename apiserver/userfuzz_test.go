package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/juju/loggo"

	"juju/agent/controller/rehearsal"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/provider/dummytest"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// What one request may cost at most: far more than any needs, so that neither a busy machine nor the race detector reaches it.
const (
	mostCPU   = 2 * time.Minute // of the whole process; a plan that destroys a hundred entities takes 3 s, and ten times that with the detector
	mostBytes = 16 << 30        // that are allocated, one after the other
)

// ending are the methods that can end the world of a user: a model or a connection. They are called last.
var ending = []string{"SetPassword", "ResetPassword", "RemoveUser", "DisableUser", "ModifyModelAccess", "ModifyControllerAccess", "DestroyModels",
	"DestroyController"}

// userRoutesOf are the methods that users can call, and those of every connection.
func userRoutesOf() (all []*facades.Route) {
	for i := range allRoutes {
		if r := &allRoutes[i]; r.Own == nil && (r.Who&(facades.Reader|facades.Writer|facades.Admin) != 0) {
			all = append(all, r)
		}
	}
	return all
}

// A userWorld is a server whose users send random requests: an administrator, and bob, who can only read.
type userWorld struct {
	*world
	conns   map[string]*rawConn // by user and path
	offer   string
	archive string // of a charm
	token   string // that identifies the model as it began
	writes  *statetest.WriteLog
	log     *errorLog
	made    int // calls
}

func newUserWorld(t testing.TB) *userWorld {
	cloud := dummytest.New(nil)
	cloud.SetSeries("jammy", "noble")
	w := &userWorld{conns: map[string]*rawConn{}, log: watchErrors(t)}
	w.world = newWorld(t, func(c *Config) {
		facadestest.OnCloud(&c.Config, cloud)
		c.ManualHosts = facadestest.Hosts{}
		c.Plans = &rehearsal.Stage{Store: statetest.StoreOf(c.Controller), Controller: c.Controller, Temp: t.TempDir()}
		c.Upgrades = &facadestest.Upgrades{Installed: map[entity.Binaries]string{}}
		c.Controllers = &facadestest.Controllers{All: []entity.ControllerNode{{Machine: "0", Up: true}}}
		c.API = func() ([]string, string) { return []string{"192.0.2.1:17070"}, pki().ca.Cert }
		c.DestroyController = func(context.Context) error { return nil }
	})
	ctx := w.Context()
	(&fuzzWorld{world: w.populate()}).give()
	w.archive = statetest.CharmArchive(t, statetest.MySQL)
	w.offer = facadestest.OfferMySQL(w, w.st)
	_, err := w.controller.NewConsumer(ctx, statetest.Admin, w.st.UUID(), w.offer) // the first one makes a key
	w.ok(err)
	w.ok(w.st.Settings().Networks().AddSpace(ctx, "db", nil))
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", controller.AccessRead, ""))
	w.passwords[entity.UserTag(statetest.Admin)] = statetest.Password
	for _, name := range []string{statetest.Admin, "bob"} {
		for _, path := range []string{"/api", w.modelPath()} {
			w.conns[name+path] = w.user(name, path)
		}
	}
	w.token, err = w.st.Transactions().Token(ctx)
	w.ok(err)
	w.writes = statetest.WatchWrites(t, statetest.StoreOf(w.controller))
	return w
}

// say makes one call as a user, and checks what came of it. It returns false if the connection has ended for good reason.
func (w *userWorld) say(user string, r *facades.Route, path string, raw []byte) bool {
	w.Helper()
	conn, what := w.conns[user+path], fmt.Sprintf("%s.%s as %s at %.12s\nparams %.1500q", r.Facade, r.Method, user, path, raw)
	conn.id++
	w.made++
	id := "x"
	if r.Method == "Stop" {
		id = strconv.Itoa(w.made % 3)
	}
	frame := fmt.Appendf(nil, `{"request-id":%d,"type":%q,"version":%d,"id":%q,"request":%q,"params":%s}`, conn.id, r.Facade, r.Version, id,
		r.Method, raw)
	text, err := w.exchange(conn, frame, what)
	if err != nil {
		if !json.Valid(raw) || slices.Contains(ending, r.Method) { // or one before it, of the other user
			return false
		}
		w.Fatalf("%s\nends the connection: %v\n%s", what, err, w.log.read())
	}
	var reply params.Response
	if err := json.Unmarshal(text, &reply); err != nil || reply.RequestID != conn.id {
		w.Fatalf("%s\nanswer %.500q: %v", what, text, err)
	}
	failed, done := outcomes(text)
	for _, e := range failed {
		if fault := faultOf(e); fault != "" {
			w.Errorf("%s\nanswer %.1000q\n%s\n%s", what, e.Message, fault, w.log.read())
		}
	}
	if logged := w.log.read(); logged != "" {
		w.Errorf("%s\nlogs %s", what, logged)
	}
	refused := reply.Err() != nil || len(failed) > 0 && done == 0
	reads := user == "bob" && r.Method != "SetPassword" && r.Facade != "Tokens"
	if written := w.writes.Read(); len(written) > 0 && (refused || r.Effect == facades.Reads || reads && !w.promoted()) {
		w.Errorf("%s\nanswer %.1000q\nwrites %s", what, text, strings.Join(written, "\n"))
	}
	w.switchBlocksOff(r)
	return true
}

// promoted reports whether a request of the administrator has made bob more than a reader.
func (w *userWorld) promoted() bool {
	w.Helper()
	bob, err := w.controller.User(w.Context(), "bob")
	if entity.IsNotFound(err) {
		return false
	}
	w.ok(err)
	users, err := w.controller.ModelUsers(w.Context(), w.st.UUID())
	w.ok(err)
	return bob.Access == controller.AccessSuperuser || slices.ContainsFunc(users, func(u controller.ModelUser) bool {
		return u.Name == "bob" && u.Access != controller.AccessRead
	})
}

// exchange sends a frame and reads the reply.
func (w *userWorld) exchange(conn *rawConn, frame []byte, what string) (text []byte, err error) {
	w.Helper()
	if err := conn.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
		return nil, err
	}
	_ = conn.ws.SetReadDeadline(time.Now().Add(verify.Patience))
	replied, spent, allocated := make(chan struct{}), cpuTime(w), allocatedBytes()
	go func() {
		defer close(replied)
		_, text, err = conn.ws.ReadMessage()
	}()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-replied:
			if ne, ok := err.(interface{ Timeout() bool }); ok && ne.Timeout() {
				w.give(what + "\nis not answered")
			}
			return text, err
		case <-look.C:
			if time, bytes := cpuTime(w)-spent, allocatedBytes()-allocated; time > mostCPU || bytes > mostBytes {
				w.give(fmt.Sprintf("%s\nis not answered after %v of work and %d MiB", what, time, bytes>>20))
			}
		}
	}
}

// give fails the test because of a request that does not end, and does not wait for its end.
func (w *userWorld) give(what string) {
	w.Helper()
	w.stop(nil)
	w.stop = nil
	w.Fatalf("%s\n%s", what, strings.Join(running(), "\n\n"))
}

// switchBlocksOff lets changes be made again after a request that may have blocked them.
func (w *userWorld) switchBlocksOff(r *facades.Route) {
	w.Helper()
	if !strings.HasPrefix(r.Method, "SwitchBlock") && r.Facade != "Plans" {
		return
	}
	for _, kind := range entity.BlockTypes() {
		if err := w.st.Blocks().SwitchOff(w.Context(), kind); !entity.IsNotFound(err) {
			w.ok(err)
		}
	}
	w.writes.Read()
}

// outcomes returns the errors in an answer, and how many of its results have none.
func outcomes(text []byte) (failed []params.Error, done int) {
	var reply struct {
		Error    string
		Code     string `json:"error-code"`
		Response any
	}
	if err := json.Unmarshal(text, &reply); err == nil && reply.Error != "" {
		return []params.Error{{Message: reply.Error, Code: reply.Code}}, 0
	}
	var walk func(v any, entry bool)
	walk = func(v any, entry bool) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one, true)
			}
		case map[string]any:
			e, _ := v["error"].(map[string]any)
			message, _ := e["message"].(string)
			code, _ := e["code"].(string)
			if message+code != "" { // Juju's Annotations.Get always has an error, which may be empty
				failed = append(failed, params.Error{Message: message, Code: code})
			} else if entry {
				done++
			}
			for _, one := range v {
				if _, list := one.([]any); list || message == "" {
					walk(one, false)
				}
			}
		}
	}
	walk(reply.Response, false)
	return failed, done
}

// ofGo are what only a programmer understands.
var ofGo = regexp.MustCompile(`\b(params|entity|state|facades|json|bson|mgo|mongo|strconv|reflect|controller|runtime|constraints|url|x509|pem|charm)\.[A-Z]\w+\b` +
	`|\bGo (value|struct|type)|[uU]nmarshal|<nil>|%!|strconv|invalid character '|runtime error|nil pointer|\bmap\[|\binterface ?\{|0xc0|&\{|goroutine|netip?\.`)

// faultOf returns what is wrong with an error that a user gets.
func faultOf(e params.Error) string {
	text := quotation.ReplaceAllString(e.Message, "")
	switch {
	case e.Message == params.Internal || e.Code == "":
		return "is an internal error"
	case strings.TrimSpace(e.Message) == "" || strings.HasSuffix(e.Message, ": "):
		return "says nothing"
	case ofGo.MatchString(text):
		return fmt.Sprintf("is not for users: %q", ofGo.FindString(text))
	}
	return ""
}

// quotation is what an error quotes from a request.
var quotation = regexp.MustCompile(`"(\\.|[^"\\])*"?`)

// allocatedBytes returns how much the process has allocated since it began.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// An errorLog has the errors that were logged.
type errorLog struct {
	sync.Mutex
	lines []string
}

// watchErrors keeps what is logged as an error until the test ends.
func watchErrors(t testing.TB) *errorLog {
	l := &errorLog{}
	_ = loggo.RegisterWriter("fuzz", l) // if another world has it, that world ends before
	t.Cleanup(func() { _, _ = loggo.RemoveWriter("fuzz") })
	return l
}

// Write implements loggo.Writer.
func (l *errorLog) Write(e loggo.Entry) {
	if e.Level >= loggo.ERROR {
		l.Lock()
		defer l.Unlock()
		l.lines = append(l.lines, fmt.Sprintf("%s: %.4000s", e.Module, e.Message))
	}
}

// read returns what was logged since it was called last.
func (l *errorLog) read() string {
	l.Lock()
	defer l.Unlock()
	defer func() { l.lines = nil }()
	return strings.Join(l.lines, "\n")
}

// whole checks that everything in the world is as it may be, and that nothing is kept for requests that are over.
func (w *userWorld) whole() {
	w.Helper()
	ctx := w.Context()
	found, err := w.controller.Check(ctx, false)
	w.ok(err)
	models, err := w.controller.Models(ctx)
	w.ok(err)
	for _, m := range models {
		st, err := w.controller.Model(ctx, m.UUID)
		if entity.IsNotFound(err) {
			continue
		}
		w.ok(err)
		more, err := st.Check(ctx, false)
		w.ok(err)
		_, err = st.Status(ctx)
		w.ok(err)
		found = append(found, more...)
	}
	for _, f := range found {
		w.Errorf("check finds %s: %s", f.Where, f.What)
	}
	eventually(w, "memory is kept for requests that are over", func() bool { return w.server.budget.Used() == 0 })
}

// live sends each method requests with each flaw: first those that remove nothing, and last those that end the world.
func (w *userWorld) live(g *garbage) {
	w.Helper()
	g.users = newUserGarbage(w)
	rank := func(r *facades.Route) int {
		switch {
		case slices.Contains(ending, r.Method):
			return 2
		case r.Effect == facades.Removes || strings.HasPrefix(r.Method, "Destroy") || strings.HasPrefix(r.Method, "Remove"):
			return 1
		}
		return 0
	}
	type call struct {
		*facades.Route
		flaw
	}
	var calls [3][]call
	for _, r := range userRoutesOf() {
		for with := range flaws {
			at := rank(r)
			if at < 2 && g.IntN(20) == 0 {
				at = 1 - at
			}
			calls[at] = append(calls[at], call{r, with})
		}
	}
	for part, some := range calls {
		g.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		for _, c := range some {
			user := statetest.Admin
			if c.Who&facades.Reader != 0 && g.IntN(3) == 0 || g.IntN(20) == 0 {
				user = "bob"
			}
			path := w.modelPath()
			if c.At&facades.AtModel == 0 || c.At&facades.AtController != 0 && g.IntN(2) == 0 {
				path = "/api"
			}
			ok := w.say(user, c.Route, path, g.userRequest(c.Route, c.flaw))
			switch {
			case w.Failed(), !ok && part == 2:
				return
			case !ok:
				w.conns[user+path].ws.Close()
				w.conns[user+path] = w.user(user, path)
			}
		}
		w.whole()
	}
}

// fuzzSeed returns the seed of a random test, which it logs.
func fuzzSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("JUJU_FUZZ_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("JUJU_FUZZ_SEED=%d", seed)
	return seed
}

// Whatever users send to whatever method, the reply is a result or an error for users. What is refused, and what a user
// calls who can only read, changes nothing. No request leaves anything running, or anything broken.
func TestRandomRequestsOfUsers(t *testing.T) {
	randomRequestsOfUsers(t, 1, 1) // of one seed: what others find is found by make verify
}

func TestManyRandomRequestsOfUsers(t *testing.T) {
	verify.Only(t, "takes minutes")
	worlds := 15
	if os.Getenv("JUJU_SOAK") != "" {
		worlds = 200
	}
	randomRequestsOfUsers(t, fuzzSeed(t), worlds)
}

func randomRequestsOfUsers(t *testing.T, seed uint64, worlds int) {
	g := &garbage{Rand: rand.New(rand.NewPCG(seed, 0))}
	before, heap := len(running()), int64(0)
	for i := range worlds {
		if !t.Run(strconv.Itoa(i), func(t *testing.T) { newUserWorld(t).live(g) }) {
			return
		}
		eventually(t, "goroutines remain", func() bool { return len(running()) <= before })
		if now := liveBytes(); i == 0 {
			heap = now
		} else if now > heap+64<<20 {
			t.Fatalf("the heap grows from %d to %d MiB", heap>>20, now>>20)
		}
	}
}

// liveBytes returns the size of all that can be reached in memory.
func liveBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// FuzzUserMethods is TestRandomRequestsOfUsers with requests made by a fuzzer.
func FuzzUserMethods(f *testing.F) {
	seeds := newUserWorld(f)
	g := &garbage{Rand: rand.New(rand.NewPCG(1, 1)), users: newUserGarbage(seeds)}
	all := userRoutesOf()
	for i, r := range all {
		f.Add(uint(i), i%4 == 0, g.userRequest(r, sound))
	}
	f.Fuzz(func(t *testing.T, n uint, reads bool, raw []byte) {
		if len(raw) > 1<<20 || !json.Valid(raw) {
			return // not a valid frame
		}
		w, r, user := newUserWorld(t), all[n%uint(len(all))], statetest.Admin
		if reads {
			user = "bob"
		}
		for _, path := range []string{"/api", w.modelPath()} {
			if r.At&facades.AtController != 0 == (path == "/api") && !w.say(user, r, path, raw) {
				return
			}
		}
		w.whole()
	})
}
