package state_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// A damaged status of one agent, stored by an older program or edited by hand,
// hides nothing of the others. Every answer can still be encoded, and shows the
// status as damaged.
func TestDamagedStatusIsShownAsDamaged(t *testing.T) {
	year10000 := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, damage := range map[string]struct {
		change bson.D
		shown  string
	}{
		"time": {set("since", year10000), "(damaged: since: the year 10000)"},
		"long": {set("message", strings.Repeat("x",
			1<<20)), "bytes cut] (damaged: status message: 1048576 bytes, the limit is 16384)"},
		"not a number":  {set("data", bson.M{"deep": bson.M{"er": math.NaN()}}), "(damaged: status data: NaN is not a number)"},
		"an odd type":   {set("data", bson.M{"a": bson.NewObjectId()}), "(damaged: status data: a value is of type bson.ObjectId)"},
		"an empty word": {set("status", ""), "(damaged: status: it is empty)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy("mysql", statetest.MySQL, 1)
			w.ok(w.unit("mysql/0").SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
			w.ok(w.st.Write(t.Context(), "statuses", func(c *mgo.Collection) error { return c.UpdateId("u#mysql/0", damage.change) }))
			w.ok(w.st.Write(t.Context(), "statushistory", func(c *mgo.Collection) error {
				return c.Insert(bson.M{"_id": bson.NewObjectId(), "key": "u#mysql/0", "status": "idle", "message": "",
					"since": year10000})
			}))
			w.ok(w.st.Write(t.Context(), "machines", func(c *mgo.Collection) error { return c.UpdateId("0", set("since", year10000)) }))

			status, err := w.st.Status(w.ctx)
			w.ok(err)
			w.writable(status)
			agent := status.Services[0].Units[0].Agent
			if !strings.HasSuffix(agent.Message, damage.shown) {
				t.Errorf("status shows %.100q, want %q", agent.Message, damage.shown)
			}
			if err := limits.CheckStatus(agent); err != nil {
				t.Errorf("status shows a value that cannot be set: %v", err)
			}
			_, err = w.st.Dump(w.ctx)
			w.ok(err)
			past, err := w.st.StatusHistory(w.ctx, entity.HistoryUnit, "mysql/0", entity.HistoryFilter{Size: 100})
			w.ok(err)
			w.writable(past)
			for _, tag := range []entity.Tag{entity.UnitTag("mysql/0"), entity.MachineTag("0")} {
				explained, err := w.st.Explainer().Explain(w.ctx, tag)
				w.ok(err)
				w.writable(explained)
			}
		})
	}
}

func (w *world) writable(v any) {
	w.Helper()
	if _, err := json.Marshal(v); err != nil {
		w.Errorf("cannot encode %T: %v", v, err)
	}
}

// Any string can be a key in status data, and is read back unchanged.
func TestEscapedKeysRoundTrip(t *testing.T) {
	keys := []string{"", ".", "$", "$set", "a.b", "a\x00b", "\xff\xfe", "\ufdd0", "．", "\ufffd", "plain", "ü"}
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	data := map[string]any{}
	for _, key := range keys {
		one := map[string]any{key: map[string]any{key: []any{map[string]any{key: "x"}}}}
		if limits.CheckStatus(entity.Status{Status: entity.StatusActive, Data: one}) == nil {
			data[key] = one[key]
		}
	}
	w.ok(w.unit("mysql/0").SetStatus(w.ctx, entity.Status{Status: entity.StatusActive, Data: data}))
	got, err := w.unit("mysql/0").Status(w.ctx)
	w.ok(err)
	want, err := json.Marshal(data)
	w.ok(err)
	if text, err := json.Marshal(got.Data); err != nil || string(text) != string(want) {
		t.Errorf("got  %s (%v)\nwant %s", text, err, want)
	}
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	for _, doc := range dump["statuses"] {
		if strings.Contains(string(doc), `"a.b"`) || strings.Contains(string(doc), `"$set"`) {
			t.Errorf("the stored document is %s", doc)
		}
	}
}
