package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A watch costs nothing while the client does not ask: many changes become few events, and the
// last change is in one of them.
func TestWatchWithASlowReader(t *testing.T) {
	t.Parallel()
	const changes = 50
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	r := w.raw(w.modelPath()).login(u0, w.passwords[u0], "")
	var id params.WatcherID
	reply := r.call("Uniter", 1, "WatchUnit", params.Entity{Tag: params.TagOf(u0)})
	if err := json.Unmarshal(reply.Response, &id); err != nil {
		t.Fatal(err)
	}
	r.send("Watcher", 1, "Next", id.ID, nil)
	if err := r.read().Err(); err != nil {
		t.Fatal(err)
	}
	svc, err := w.st.Service(t.Context(), "mysql")
	if err != nil {
		t.Fatal(err)
	}
	for i := range changes {
		if err := svc.SetConfig(t.Context(), map[string]any{"size": i}); err != nil {
			t.Fatal(err)
		}
	}
	events, next := 0, uint64(0)
	for {
		next = r.send("Watcher", 1, "Next", id.ID, nil)
		r.send("Pinger", 1, "Ping", "", nil)
		if r.read().RequestID != next {
			break // Next waits
		}
		events++
		r.read()
	}
	if events > changes/5 {
		t.Errorf("%d changes came as %d events", changes, events)
	}
	if err := svc.SetConfig(t.Context(), map[string]any{"size": -1}); err != nil {
		t.Fatal(err)
	}
	if reply := r.read(); reply.RequestID != next || reply.Err() != nil {
		t.Errorf("the last change: %+v", reply)
	}
}

// A watcher's id is valid on its connection. Only one Next can wait. Stop ends the watch and
// a waiting Next.
func TestNextAndStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events := make(chan struct{})
	ended := make(chan struct{})
	w.with(map[string]facades.Handler{
		"Watch": facades.Watch(func(ctx context.Context, _ *facades.Caller, _ facades.None) (facades.Stream, error) {
			context.AfterFunc(ctx, func() { close(ended) })
			return facades.Notify(events, nil)
		}),
		"WatchNothing": facades.Watch(func(context.Context, *facades.Caller, facades.None) (facades.Stream, error) {
			return facades.Stream{}, entity.Errorf(entity.NotFound, "nothing to watch")
		}),
		"WatchThatEnds": facades.Watch(func(context.Context, *facades.Caller, facades.None) (facades.Stream, error) {
			ch := make(chan []string)
			close(ch)
			return facades.Names(ch, nil)
		}),
	})
	r, other := w.admin(), w.admin()
	var id params.WatcherID
	if err := json.Unmarshal(r.call("Test", 1, "Watch", nil).Response, &id); err != nil {
		t.Fatal(err)
	}
	other.send("Watcher", 1, "Next", id.ID, nil)
	if err := other.read().Err(); !errors.Is(err, entity.NotFound) || err.Error() != "unknown watcher id" {
		t.Errorf("on another connection: %v", err)
	}
	next := r.send("Watcher", 1, "Next", id.ID, nil)
	events <- struct{}{}
	if reply := r.read(); reply.RequestID != next || reply.Err() != nil {
		t.Errorf("an event: %+v", reply)
	}
	// One of two concurrent Nexts is refused, whichever came second.
	two := map[uint64]bool{r.send("Watcher", 1, "Next", id.ID, nil): true, r.send("Watcher", 1, "Next", id.ID, nil): true}
	reply := r.read()
	if !two[reply.RequestID] || !errors.Is(reply.Err(), entity.Invalid) {
		t.Errorf("the second of two: %+v", reply)
	}
	delete(two, reply.RequestID)
	stop := r.send("Watcher", 1, "Stop", id.ID, nil)
	for range 2 {
		reply := r.read()
		if two[reply.RequestID] && !errors.Is(reply.Err(), entity.Stopped) || reply.RequestID == stop && reply.Err() != nil {
			t.Errorf("after Stop: %+v", reply)
		}
	}
	closes(t, ended)
	for _, method := range []string{"Next", "Stop"} {
		r.send("Watcher", 1, method, id.ID, nil)
		if err := r.read().Err(); !errors.Is(err, entity.NotFound) {
			t.Errorf("%s after Stop: %v", method, err)
		}
	}
	if err := r.call("Test", 1, "WatchNothing", nil).Err(); !errors.Is(err, entity.NotFound) {
		t.Error(err)
	}
	if err := json.Unmarshal(r.call("Test", 1, "WatchThatEnds", nil).Response, &id); err != nil {
		t.Fatal(err)
	}
	r.send("Watcher", 1, "Next", id.ID, nil)
	if err := r.read().Err(); !errors.Is(err, entity.Stopped) {
		t.Errorf("a watch that ended by itself: %v", err)
	}
}

// The number of watches of a connection is limited.
func TestLimitOfWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.Watches = 3 })).populate()
	u0 := entity.UnitTag("mysql/0")
	r := w.raw(w.modelPath()).login(u0, w.passwords[u0], "")
	for i := range 4 {
		err := r.call("Uniter", 1, "WatchUnit", params.Entity{Tag: params.TagOf(u0)}).Err()
		if i < 3 && err != nil || i == 3 && !errors.Is(err, entity.Invalid) {
			t.Errorf("watch %d: %v", i, err)
		}
	}
	r.send("Watcher", 1, "Stop", "2", nil)
	if err := r.read().Err(); err != nil {
		t.Error(err)
	}
	if err := r.call("Uniter", 1, "WatchUnit", params.Entity{Tag: params.TagOf(u0)}).Err(); err != nil {
		t.Errorf("in place of one that was stopped: %v", err)
	}
}

// One user, or one agent, can have a limited number of watches on all of its connections together.
func TestLimitOfAMembersWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.MemberWatches = 3 })).populate()
	u0 := w.info(entity.UnitTag("mysql/0"))
	watch := func(c *client.Conn) error {
		_, err := client.UniterFacade{Caller: c}.WatchUnit(t.Context(), c.Tag())
		return err
	}
	first, second := w.dial(u0), w.dial(u0)
	for _, c := range []*client.Conn{first, first, second} {
		if err := watch(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := watch(second); !errors.Is(err, entity.Unavailable) || !strings.HasPrefix(err.Error(), "unit-mysql-0 has 3 watchers") {
		t.Errorf("one too many: %v", err)
	}
	if err := watch(w.dial(w.info(entity.UnitTag("mysql/1")))); err != nil {
		t.Errorf("another unit: %v", err)
	}
	first.Close()
	eventually(t, "those of a closed connection are still counted", func() bool { return watch(second) == nil })

	third := w.dial(w.info(entity.UnitTag("wordpress/0")))
	for range 3 {
		if _, err := (client.UniterFacade{Caller: third}).WatchRelationUnits(t.Context(), third.Tag(), 99); !errors.Is(err, entity.NotFound) {
			t.Errorf("a watch of a relation that does not exist: %v", err)
		}
	}
	eventually(t, "those that did not begin are still counted", func() bool { return watch(third) == nil })
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(verify.Patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s\n%s", what, strings.Join(running(), "\n\n"))
		}
		time.Sleep(time.Millisecond)
	}
}

// running returns the goroutines of the API and of state's watches. Those of the store come and
// go with its own connections.
func running() (stacks []string) {
	buf := make([]byte, 16<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "juju/apiserver") || strings.Contains(g, "juju/state/watcher") ||
			strings.Contains(g, "juju/state.") {
			stacks = append(stacks, g)
		}
	}
	return stacks
}

// Nothing that was begun for a connection outlives it, however it ends.
func TestConnectionsLeaveNothing(t *testing.T) {
	w := newWorld(t).populate()
	u0, m0 := entity.UnitTag("mysql/0"), entity.MachineTag("0")
	relations := func(c *client.Conn) int {
		t.Helper()
		infos, err := client.UniterFacade{Caller: c}.Relations(t.Context(), u0)
		if err != nil || len(infos) != 1 {
			t.Fatal(infos, err)
		}
		return infos[0].ID
	}
	open := func(info client.Info) *client.Conn {
		t.Helper()
		c, err := client.Dial(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		uniter := client.UniterFacade{Caller: c}
		switch info.Tag {
		case u0:
			if _, err := uniter.WatchUnit(t.Context(), u0); err != nil {
				t.Fatal(err)
			}
			ch, err := uniter.WatchRelationUnits(t.Context(), u0, relations(c))
			if err != nil {
				t.Fatal(err)
			}
			facadestest.Receive(t, ch) // and no one reads the next
		case m0:
			ch, err := client.DeployerFacade{Caller: c}.WatchDeployed(t.Context(), m0)
			if err != nil {
				t.Fatal(err)
			}
			facadestest.Receive(t, ch)
		}
		return c
	}
	memory := w.info(u0)
	memory.Dial = w.server.Dial
	machines, err := w.st.Watches().Machines(t.Context()) // so that the model's log is always followed
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, machines)
	before := running()
	var conns []*client.Conn
	for range 10 {
		conns = append(conns, open(w.info(u0)), open(w.info(m0)), open(memory))
	}
	for i, c := range conns {
		if i%2 == 0 {
			c.Close()
			continue
		}
		c.Close() // closing again does nothing
		c.Close()
	}
	w.raw(w.modelPath()).ws.Close()
	// A few goroutines may have begun meanwhile, such as the follower of the log. A leak of
	// each connection would be there thirty times.
	eventually(t, "goroutines are left", func() bool { return len(running()) < len(before)+8 })
	eventually(t, "strangers are left", func() bool { return w.server.limiter.Count() == 0 })
}

// A user of a model can watch its status. An event comes at once, and then one for each
// change: of a document, or of which agents are lost. Otherwise none comes.
func TestWatchStatus(t *testing.T) {
	var clock atomic.Int64 // of the server, ahead of the host's
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
	}).populate()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u0 := entity.UnitTag("mysql/0")
	user, agent := w.dial(w.adminInfo(w.st.UUID())), w.uniter(u0)
	events, err := user.WatchStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		what string
		make func() error
	}{
		{"nothing yet", func() error { return nil }},
		{"a unit's status", func() error {
			return agent.SetUnitStatus(ctx, u0, entity.Status{Status: entity.StatusActive})
		}},
		{"a unit's life", func() error {
			_, _, err := user.DestroyUnits(ctx, entity.Destruction{}, "mysql/1")
			return err
		}},
		{"a machine's constraints", func() error {
			_, _, err := user.AddMachine(ctx, client.MachineArgs{})
			return err
		}},
		{"a charm to upgrade to", func() error {
			statetest.Charm(t, w.st, statetest.MySQL+"\n# another\n")
			return nil
		}},
		{"lost agents", func() error {
			clock.Store(int64(presence.LostAfter))
			return nil
		}},
	} {
		if err := change.make(); err != nil {
			t.Fatal(change.what, err)
		}
		facadestest.Receive(t, events)
		for quiet := false; !quiet; { // one change may be several transactions
			select {
			case <-events:
			case <-time.After(200 * time.Millisecond):
				quiet = true
			}
		}
	}
	cancel()
	closes(t, events)
}

// A client of others watches a model's status, or an operation, by the id of a watcher, which tells once how things are
// and then of each change.
func TestRequestsToWatchStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	operation, ids, _, err := w.st.Tasks().Enqueue(ctx, []state.NewTask{{Receiver: "mysql/0", Name: entity.CommandTask,
		Params: map[string]any{entity.CommandParam: "true", entity.TimeoutParam: 0}}})
	w.ok(err)
	r := w.admin()
	var status, tasks params.WatcherID
	w.ok(r.do("Status", 1, "WatchStatus", nil, &status))
	w.ok(r.do("Status", 1, "WatchOperation", params.Entity{Tag: params.TagOf(entity.OperationTag(operation))}, &tasks))
	for _, id := range []params.WatcherID{status, tasks} {
		r.send("Watcher", 1, "Next", id.ID, nil)
		w.ok(r.read().Err())
	}
	svc, err := w.st.Service(ctx, "mysql")
	w.ok(err)
	changed := r.send("Watcher", 1, "Next", status.ID, nil)
	w.ok(svc.SetMinUnits(ctx, 1))
	if reply := r.read(); reply.RequestID != changed || reply.Err() != nil {
		t.Errorf("the service changes: %+v", reply)
	}
	changed = r.send("Watcher", 1, "Next", tasks.ID, nil)
	w.ok(w.st.Tasks().Cancel(ctx, ids[0]))
	if reply := r.read(); reply.RequestID != changed || reply.Err() != nil {
		t.Errorf("the task is cancelled: %+v", reply)
	}
}

// A watch has the Next and Stop of its own facade, and no others.
func TestWatchesHaveTheirOwnFacades(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u, err := w.st.Unit(t.Context(), "mysql/0")
	w.ok(err)
	_, ids, _, err := w.st.Tasks().Enqueue(t.Context(), []state.NewTask{{Receiver: "mysql/0", Name: entity.CommandTask,
		Params: map[string]any{entity.CommandParam: "true", entity.TimeoutParam: 0}}})
	w.ok(err)
	_, err = u.BeginTask(t.Context(), ids[0])
	w.ok(err)
	w.ok(u.LogTask(t.Context(), ids[0], "one"))
	model, root := w.admin(), w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	var log params.StringsWatchResults
	w.ok(model.do("Action", 7, "WatchActionsProgress", params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.TaskTag(ids[0]))}}}, &log))
	var summaries params.WatcherID
	w.ok(root.do("Controller", 12, "WatchModelSummaries", struct{}{}, &summaries))
	ask := func(c *rawConn, facade, method, id string) params.Response {
		t.Helper()
		c.send(facade, 1, method, id, nil)
		return c.read()
	}
	for _, watch := range []struct {
		conn       *rawConn
		id, facade string
		has        string // in the first event
	}{{model, log.Results[0].ID, "StringsWatcher", `\"one\"`}, {root, summaries.ID, "ModelSummaryWatcher", `"default"`}} {
		if err := ask(watch.conn, "Watcher", "Next", watch.id).Err(); !errors.Is(err, entity.NotFound) {
			t.Errorf("the Next of other watches: %v", err)
		}
		if reply := ask(watch.conn, watch.facade, "Next", watch.id); reply.Err() != nil || !strings.Contains(string(reply.Response), watch.has) {
			t.Errorf("the first event of %s is %s, %v", watch.facade, reply.Response, reply.Err())
		}
		w.ok(ask(watch.conn, watch.facade, "Stop", watch.id).Err())
		if err := ask(watch.conn, watch.facade, "Next", watch.id).Err(); !errors.Is(err, entity.NotFound) {
			t.Errorf("the Next of %s after its Stop: %v", watch.facade, err)
		}
	}
	for _, r := range []struct {
		conn           *rawConn
		facade, method string
	}{{model, "StringsWatcher", "Next"}, {model, "StringsWatcher", "Stop"}, {root, "ModelSummaryWatcher", "Next"}, {root, "ModelSummaryWatcher", "Stop"}} {
		if err := ask(r.conn, r.facade, r.method, "none").Err(); !errors.Is(err, entity.NotFound) {
			t.Errorf("%s.%s of no watch: %v", r.facade, r.method, err)
		}
	}
}
