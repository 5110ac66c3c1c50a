package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/admission"
	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Sixty connections of one unit's agent, each with a frame of which the end never comes, take no more
// memory than one agent may have. Others go on meanwhile. Once others need it, what is held is given back.
func TestUnfinishedFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) {
		l.Memory, l.MemoryShare, l.MemoryGrace = 16<<20, 2<<20, time.Second
	})).populate()
	inside := w.dial(w.adminInfo(w.st.UUID()))
	u0, u1 := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1")
	for range 60 {
		c := w.raw(w.modelPath()).login(u0, w.passwords[u0], nonce)
		out, err := c.ws.NextWriter(websocket.TextMessage)
		if err != nil {
			t.Fatal(err)
		}
		go func() { // until the server ends the connection
			part := []byte(`{"request-id":1,"type":"` + strings.Repeat("x", 16<<10))
			for range 100 {
				if _, err := out.Write(part); err != nil {
					return
				}
			}
		}()
	}
	eventually(t, "the frames take no memory", func() bool { return w.server.budget.Peak() > 1<<20 })
	large := strings.Repeat("x", 1<<20)
	honest := w.raw(w.modelPath()).login(u1, w.passwords[u1], nonce)
	for range 10 {
		if _, err := inside.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := honest.call("Uniter", 1, "SetUnitStatus", map[string]any{"tag": u1.String(), "status": map[string]any{
			"status": "active", "message": large}}).Err(); !errors.Is(err, entity.Invalid) {
			t.Fatal(err)
		}
	}
	// One frame can be larger than its owner's share. Its text is there three times.
	if most := w.server.budget.Peak(); most > 2<<20+2*copies*(2<<20) {
		t.Errorf("requests took %d bytes", most)
	}
}

// JSON of many small values, which takes many times its size once it is decoded, is refused; so is one that
// is nested too deep.
func TestManyValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.Values = 1000 })).populate()
	u0 := entity.UnitTag("mysql/0")
	for args, want := range map[string]string{
		`{"tag":"unit-mysql-0","status":{"status":"active","data":{"a":[` + strings.Repeat("{},", 1000) + `{}]}}}`: "the limit is 1000",
		// Each list counts, besides each comma.
		`{"tag":"unit-mysql-0","status":{"status":"active","data":{"b":[` + strings.Repeat("[],", 600) + `[]]}}}`: "has 1208 values",
		`{"tag":"unit-mysql-0","status":{"status":"active","data":` + strings.Repeat(`{"a":`, 70) + `1` +
			strings.Repeat("}", 70) + `}}`: "more than 64 levels",
		`{"tag":"unit-mysql-0","status":{"status":"active","message":"` + strings.Repeat(`,[\"{`, 2000) + `"}}`: "",
	} {
		c := w.raw(w.modelPath()).login(u0, w.passwords[u0], nonce)
		err := c.do("Uniter", 1, "SetUnitStatus", json.RawMessage(args), nil)
		if want == "" && err != nil || want != "" && (!errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %s", args, err, want)
		}
	}
}

// Clients that ask for much and read nothing lose their connections when others need the memory, and a
// method whose last answer was large begins only when there is memory for the next.
func TestAnswersThatNoOneReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) {
		l.Memory, l.MemoryShare, l.MemoryGrace, l.MemoryWait = 4<<20, 4<<20, time.Second, verify.Patience
	})).populate()
	big := strings.Repeat("x", 3000)
	for i := range 20 {
		w.ok(w.st.Annotations().Set(t.Context(), entity.UnitTag("mysql/0"), map[string]string{fmt.Sprint("k", i): big}))
	}
	w.addUser("eve")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "eve", "read", ""))
	eve := w.info(entity.UserTag("eve"))
	ask := map[string]any{"entities": slices.Repeat([]map[string]string{{"tag": "unit-mysql-0"}}, 20)}
	for range 5 {
		c := w.raw(w.modelPath()).login(eve.Tag, eve.Password, "")
		go func() {
			for range 200 {
				text, _ := json.Marshal(ask)
				c.id++
				if c.ws.WriteJSON(params.Request{RequestID: c.id, Type: "Annotations", Version: 2, Request: "Get", Params: text}) != nil {
					return
				}
			}
		}()
	}
	eventually(t, "the answers take no memory", func() bool { return w.server.budget.Peak() > 1<<20 })
	for range 3 {
		c, err := client.Dial(t.Context(), w.adminInfo(w.st.UUID()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	// An answer is counted before it is known how large it is, or by the answer before it.
	if most := w.server.budget.Peak(); most > 8<<20 {
		t.Errorf("requests took %d bytes", most)
	}
}

// What an answer takes that its client does not read is given to another who needs it, and the client's
// connection ends.
func TestAnUnreadAnswerIsReclaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) {
		l.Memory, l.MemoryShare, l.MemoryGrace, l.MemoryWait = 1<<20, 1<<20, 10*time.Millisecond, verify.Patience
		l.WriteTime = time.Hour // it is not this that ends the connection
	})).populate()
	for i := range 20 {
		w.ok(w.st.Annotations().Set(t.Context(), entity.UnitTag("mysql/0"), map[string]string{fmt.Sprint("k", i): strings.Repeat("x", 3000)}))
	}
	w.addUser("eve")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "eve", "read", ""))
	honest := w.dial(w.adminInfo(w.st.UUID()))
	c := w.rawMemory(w.modelPath()).login(entity.UserTag("eve"), w.info(entity.UserTag("eve")).Password, "") // it has no buffer
	// So often that she holds more than the others on the average, or it would not be eve whose memory they get.
	asked := slices.Repeat([]map[string]string{{"tag": "unit-mysql-0"}}, 3)
	c.send("Annotations", 2, "Get", "", map[string]any{"entities": asked})
	b := w.server.budget
	eventually(t, "the answer takes no memory", func() bool { return b.Used() > 3*2*20*3000 }) // what was read, and the frame
	// Others work on all that is left.
	for range 2 {
		h := b.Open(admission.Member{Tag: entity.UserTag("bob")}, func(err error) { t.Errorf("bob: %v", err) })
		defer h.Close()
		w.ok(h.Grow(t.Context(), min(h.Left(), w.server.limits.Memory-b.Used())))
	}
	if _, err := honest.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := c.ws.ReadMessage(); err == nil {
		t.Error("the connection goes on")
	}
}

// What a task has is counted when it is read, and again in the frame.
func TestMemoryOfATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	url := statetest.Charm(t, w.st, `{name: busy, summary: s, description: d}`, "actions.yaml", "look: {}")
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "busy", CharmURL: url, Units: 1})
	w.ok(err)
	const large = 100_000
	_, ids, errs, err := w.st.Tasks().Enqueue(ctx, []state.NewTask{{Receiver: "busy/0", Name: "look",
		Params: map[string]any{"text": strings.Repeat("x", large)}}})
	w.ok(errors.Join(append(errs, err)...))
	_, err = w.dial(w.adminInfo(w.st.UUID())).Task(ctx, ids[0])
	w.ok(err)
	if most := w.server.budget.Peak(); most < 2*large {
		t.Errorf("a task with %d bytes took %d", large, most)
	}
}

// A method whose last answer was large is expected to give another. Smaller answers lower that slowly, and small ones
// are forgotten in the end.
func TestExpectedAnswers(t *testing.T) {
	var a answers
	method, other := &facades.Route{}, &facades.Route{Method: "Other"}
	const large = 16 * requestMemory
	a.note("model", method, large)
	for _, e := range []struct {
		model  string
		method *facades.Route
		want   int64
	}{{"model", method, copies * large}, {"another", method, 0}, {"model", other, 0}} {
		if got := a.expected(e.model, e.method); got != e.want {
			t.Errorf("%d bytes are expected of %q in %s, want %d", got, e.method.Method, e.model, e.want)
		}
	}
	a.note("model", method, 0)
	if got := a.expected("model", method); got != copies*large*7/8 {
		t.Errorf("after an empty answer %d bytes are expected", got)
	}
	for range 30 {
		a.note("model", method, 0)
	}
	if len(a.sizes) > 0 {
		t.Errorf("it remembers %v", a.sizes)
	}
}

// A text weighs as much as its values, whatever is in its strings: a comma there is none between values, and an escaped quote
// ends no string.
func TestWeightOfARequest(t *testing.T) {
	t.Parallel()
	values := strings.Repeat(",1", 2*freeValues)
	want, err := weigh([]byte(`["x"`+values+`]`), 1<<30)
	if err != nil || want == 0 {
		t.Fatalf("it weighs %d, %v", want, err)
	}
	for _, text := range []string{`\"`, `\\`, `a,b`, `[{`, `\n`, `\",[`} {
		if got, err := weigh([]byte(`["`+text+`"`+values+`]`), 1<<30); got != want || err != nil {
			t.Errorf("with %s it weighs %d, want %d, %v", text, got, want, err)
		}
	}
}
