package apiserver

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// An allWatcher adds up the deltas that a client gets, as published clients do.
type allWatcher struct {
	*rawConn
	id  string
	has map[string]map[string]any // by kind and name
}

// watchesAll starts to watch everything.
func (r *rawConn) watchesAll() *allWatcher {
	r.Helper()
	var id params.WatcherID
	if err := r.do("Client", 7, "WatchAll", struct{}{}, &id); err != nil {
		r.Fatal(err)
	}
	return &allWatcher{r, id.ID, map[string]map[string]any{}}
}

// asks sends a request to the watcher, with its id in the given key, and returns the request's number.
func (a *allWatcher) asks(facade string, version int, method, key string) uint64 {
	a.Helper()
	a.rawConn.id++
	if err := a.ws.WriteJSON(map[string]any{"request-id": a.rawConn.id, "type": facade, "version": version, "request": method,
		"params": struct{}{}, key: a.id}); err != nil {
		a.Fatal(err)
	}
	return a.rawConn.id
}

// next asks for what has changed, and adds it.
func (a *allWatcher) next(version int) []params.Delta {
	a.Helper()
	a.asks("AllWatcher", version, "Next", "Id")
	reply := a.read()
	if err := reply.Err(); err != nil {
		a.Fatal(err)
	}
	var event params.Event
	if err := json.Unmarshal(reply.Response, &event); err != nil {
		a.Fatal(err)
	}
	for _, d := range event.Deltas {
		var data map[string]any
		if err := json.Unmarshal(d.Data, &data); err != nil {
			a.Fatal(err)
		}
		name, _ := data["name"].(string)
		if name == "" || d.Kind == "model" || d.Kind == "action" {
			name, _ = data["id"].(string)
		}
		if d.Kind == "applicationOffer" {
			name, _ = data["offer-name"].(string)
		}
		if d.Removed {
			delete(a.has, d.Kind+" "+name)
		} else {
			a.has[d.Kind+" "+name] = data
		}
	}
	return event.Deltas
}

// waits returns the number of a Next that waits: of two, the server refuses the one that comes second.
func (a *allWatcher) waits() uint64 {
	a.Helper()
	sent := []uint64{a.asks("AllWatcher", 3, "Next", "Id"), a.asks("AllWatcher", 3, "Next", "Id")}
	reply := a.read()
	if !errors.Is(reply.Err(), entity.Invalid) {
		a.Fatalf("the second of two: %+v", reply)
	}
	if reply.RequestID == sent[0] {
		return sent[1]
	}
	return sent[0]
}

// until asks until an entity is as it should be.
func (a *allWatcher) until(entity string, ok func(map[string]any) bool) map[string]any {
	a.Helper()
	for range 100 {
		if now, exists := a.has[entity]; exists && ok(now) || !exists && ok(nil) {
			return now
		}
		a.next(3)
	}
	a.Fatalf("%s stays %v", entity, a.has[entity])
	return nil
}

func at(data map[string]any, path ...string) any {
	var v any = data
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

// A client that watches everything gets all entities first, then each change: of statuses, of connections of agents, of
// settings, actions and annotations, and the ends of entities.
func TestWatchAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	a := w.admin().watchesAll()
	if first := a.next(3); first[0].Kind != "model" {
		t.Errorf("the first delta is a %s", first[0].Kind)
	}
	kinds := map[string]int{}
	for key := range a.has {
		kind, _, _ := strings.Cut(key, " ")
		kinds[kind]++
	}
	for kind, want := range map[string]int{"model": 1, "application": 2, "unit": 4, "machine": 4, "relation": 1, "charm": 1} {
		if kinds[kind] != want {
			t.Errorf("first there are %d of kind %s, want %d", kinds[kind], kind, want)
		}
	}
	model, unit, machine := a.has["model "], a.has["unit mysql/0"], a.has["machine 0"]
	if model["owner"] != "admin" || model["model-uuid"] != w.st.UUID() || at(model, "config", "default-series") != "jammy" ||
		at(model, "status", "current") != "available" {
		t.Errorf("the model is %v", model)
	}
	if unit["application"] != "mysql" || unit["machine-id"] != "0" || unit["public-address"] != "127.0.1.0" ||
		unit["base"] != "ubuntu@22.04/stable" || at(unit, "agent-status", "current") != "allocating" || unit["subordinate"] != false {
		t.Errorf("the unit is %v", unit)
	}
	if machine["instance-id"] != "i-0" || machine["base"] != "ubuntu@22.04/stable" || at(machine, "agent-status", "current") != "pending" {
		t.Errorf("the machine is %v", machine)
	}

	u, err := w.st.Unit(ctx, "mysql/0")
	w.ok(err)
	w.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: "ready"}))
	got := a.until("unit mysql/0", func(u map[string]any) bool { return at(u, "workload-status", "current") == "active" })
	if at(got, "workload-status", "message") != "ready" || at(got, "workload-status", "since") == nil {
		t.Errorf("the unit is %v", got)
	}
	host, err := w.st.Machine(ctx, "3")
	w.ok(err)
	w.ok(host.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
	a.until("unit wordpress/1", func(u map[string]any) bool { return at(u, "workload-status", "message") == "installing agent" })
	agent := entity.UnitTag("mysql/1") // it connects, and says its version
	w.ok(w.raw(w.modelPath()).call("Admin", 3, "Login", params.LoginRequest{AuthTag: params.TagOf(agent),
		Credentials: w.passwords[agent], ClientVersion: "1.2.3"}).Err())
	a.until("unit mysql/1", func(u map[string]any) bool { return at(u, "agent-status", "release") == "1.2.3" })
	svc, err := w.st.Service(ctx, "mysql")
	w.ok(err)
	w.ok(svc.SetConfig(ctx, map[string]any{"size": 7}))
	a.until("application mysql", func(s map[string]any) bool { return at(s, "config", "size") == 7.0 })
	_, ids, _, err := w.st.Tasks().Enqueue(ctx, []state.NewTask{{Receiver: "mysql/0", Name: entity.CommandTask,
		Params: map[string]any{entity.CommandParam: "true", entity.TimeoutParam: 0}}})
	w.ok(err)
	action := a.until("action "+ids[0], func(task map[string]any) bool { return task != nil })
	if action["status"] != "pending" || action["receiver"] != "mysql/0" || at(action, "parameters", "command") != "true" {
		t.Errorf("the action is %v", action)
	}
	w.ok(w.st.Tasks().Cancel(ctx, ids[0]))
	a.until("action "+ids[0], func(task map[string]any) bool { return task["status"] == "cancelled" })
	w.ok(w.st.Annotations().Set(ctx, entity.UnitTag("mysql/0"), map[string]string{"x": "y"}))
	a.until("annotation ", func(note map[string]any) bool {
		return note["tag"] == "unit-mysql-0" && at(note, "annotations", "x") == "y"
	})

	m, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	a.until("machine "+m.ID(), func(m map[string]any) bool { return m != nil })
	w.ok(m.Destroy(ctx, entity.Destruction{Strength: entity.Force}))
	_, _, err = w.st.Cleaner().Cleanup(ctx)
	w.ok(err)
	a.until("machine "+m.ID(), func(m map[string]any) bool { return m == nil || m["life"] != "alive" })

	// Before version 3 there are series instead of bases.
	w.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: "again"}))
	for a.has["unit mysql/0"]["series"] == nil {
		a.next(2)
	}
	if old := a.has["unit mysql/0"]; old["series"] != "jammy" || old["base"] != nil {
		t.Errorf("version 2 has the unit %v", old)
	}
}

// A client that watches everything is told of the model's offers, with the relations that use them, and of the remote services
// that it uses, and of their ends.
func TestWatchAllAcrossModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	const elsewhere = "11111111-2222-4333-8444-555555555555"
	ctx, x := t.Context(), w.st.CrossModel()
	a := w.admin().watchesAll()
	a.next(3)
	w.ok(x.AddOffer(ctx, entity.NewOffer{Name: "db", Service: "mysql", Endpoints: []string{"server"}}))
	offer := a.until("applicationOffer db", func(o map[string]any) bool { return o != nil })
	if offer["application-name"] != "mysql" || offer["charm-name"] != "mysql" || offer["total-connected-count"] != 0.0 {
		t.Errorf("the offer is %v", offer)
	}
	end := entity.RemoteEndpoint{Name: "db", Role: "requirer", Interface: "mysql"}
	w.ok(x.Connect(ctx, elsewhere, entity.Connection{Relation: 7, Offer: offer["offer-uuid"].(string), User: "bob", Far: "server",
		Near: entity.NearEnd{Service: "blog", RemoteEndpoint: end}}))
	a.until("applicationOffer db", func(o map[string]any) bool {
		return o["total-connected-count"] == 1.0 && o["active-connected-count"] == 1.0
	})
	far, err := x.Counterpart(ctx, elsewhere, 7)
	w.ok(err)
	w.ok(x.SuspendRelation(ctx, far.Relation, true, ""))
	a.until("applicationOffer db", func(o map[string]any) bool {
		return o["total-connected-count"] == 1.0 && o["active-connected-count"] == 0.0
	})

	w.ok(x.Consume(ctx, entity.Consumed{Name: "far", Model: elsewhere, Offer: "o", URL: "bob/shop.db", User: "bob",
		Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}}))
	remote := a.until("remoteApplication far", func(r map[string]any) bool { return r != nil })
	if remote["offer-url"] != "bob/shop.db" || remote["offer-uuid"] != "o" || remote["life"] != "alive" ||
		at(remote, "status", "current") != "unknown" {
		t.Errorf("the remote service is %v", remote)
	}
	w.ok(x.Show(ctx, "far", entity.Status{Status: entity.StatusActive, Message: "ready"}))
	a.until("remoteApplication far", func(r map[string]any) bool { return at(r, "status", "message") == "ready" })
	service, err := x.Remote(ctx, "far")
	w.ok(err)
	w.ok(service.Destroy(ctx, entity.Destruction{}))
	a.until("remoteApplication far", func(r map[string]any) bool { return r == nil })
	gone, err := x.Offer(ctx, "db")
	w.ok(err)
	w.ok(gone.Destroy(ctx, entity.Destruction{Strength: entity.Force}))
	_, _, err = w.st.Cleaner().Cleanup(ctx)
	w.ok(err)
	a.until("applicationOffer db", func(o map[string]any) bool { return o == nil })
}

// The watcher's id is for AllWatcher alone, in "Id" or "id". When the watch is stopped, a waiting Next says so in the
// words that published clients compare; then there is no such watcher.
func TestStopAWatchOfEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	a := w.admin().watchesAll()
	for _, method := range []string{"Next", "Stop"} {
		a.asks("Watcher", 1, method, "id")
		if err := a.read().Err(); err == nil || err.Error() != "unknown watcher id" {
			t.Errorf("Watcher.%s of another facade's watch: %v", method, err)
		}
	}
	a.next(3)
	waits := a.waits()
	stop := a.asks("AllWatcher", 3, "Stop", "Id")
	for range 2 {
		switch reply := a.read(); reply.RequestID {
		case waits:
			if err := reply.Err(); !errors.Is(err, entity.Stopped) || err.Error() != "watcher was stopped" {
				t.Errorf("the waiting Next: %v", err)
			}
		case stop:
			if err := reply.Err(); err != nil {
				t.Error(err)
			}
		}
	}
	a.asks("AllWatcher", 3, "Next", "id")
	if err := a.read().Err(); err == nil || err.Error() != "unknown watcher id" {
		t.Errorf("Next after Stop: %v", err)
	}
}

// A user sees only models that the user may read: a watch ends with the right.
func TestWatchAllOnlyWhatOneMayRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "read", ""))
	a := w.user("bob", w.modelPath()).watchesAll()
	a.next(3)
	a.waits()
	w.ok(w.controller.RevokeModel(ctx, w.st.UUID(), "bob", "read"))
	if code := a.ended(); code != params.CloseRevoked {
		t.Errorf("the connection ends with code %d", code)
	}
	if err := w.raw(w.modelPath()).call("Admin", 3, "Login", params.LoginRequest{
		AuthTag: params.TagOf(entity.UserTag("bob")), Credentials: statetest.Password}).Err(); err == nil {
		t.Error("bob logs in to a model that is not bob's")
	}
}

// A damaged document fails each watch of everything, and neither the controller nor the next watch hangs on it.
func TestADamagedModelFailsEachWatchOfEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	statetest.DamageRelations(t, w.controller, w.st)
	a := w.admin()
	for range 2 {
		if err := a.do("Client", 7, "WatchAll", struct{}{}, nil); err == nil || err.Error() != params.Internal {
			t.Errorf("a watch of a damaged model begins with %v", err)
		}
	}
}
