package apiserver

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// A client that follows tasks gets each line that they log once, in order.
func TestWatchActionsProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	u, err := w.st.Unit(ctx, "mysql/0")
	w.ok(err)
	_, ids, _, err := w.st.Tasks().Enqueue(ctx, []state.NewTask{{Receiver: "mysql/0", Name: entity.CommandTask,
		Params: map[string]any{entity.CommandParam: "true", entity.TimeoutParam: 0}}})
	w.ok(err)
	_, err = u.BeginTask(ctx, ids[0])
	w.ok(err)
	w.ok(u.LogTask(ctx, ids[0], "one"))
	c := w.admin()
	var started params.StringsWatchResults
	w.ok(c.do("Action", 7, "WatchActionsProgress", params.Entities{Entities: []params.Entity{
		{Tag: params.TagOf(entity.TaskTag(ids[0]))}, {Tag: params.TagOf(entity.TaskTag("99"))}, {Tag: params.TagOf(entity.UnitTag("mysql/0"))}}}, &started))
	if r := started.Results; len(r) != 3 || r[0].Error != nil || r[1].Error == nil || r[2].Error == nil {
		t.Fatalf("the watches are %+v", started)
	}
	a := &allWatcher{rawConn: c, id: started.Results[0].ID}
	next := func() (lines []string) {
		t.Helper()
		a.asks("StringsWatcher", 1, "Next", "Id")
		var event struct{ Changes []string }
		w.ok(json.Unmarshal(a.read().Response, &event))
		for _, text := range event.Changes {
			var m params.ActionMessage
			w.ok(json.Unmarshal([]byte(text), &m))
			if time.Since(m.Timestamp).Abs() > 10*365*24*time.Hour {
				t.Errorf("%s was logged at %s", m.Message, m.Timestamp)
			}
			lines = append(lines, m.Message)
		}
		return lines
	}
	if got := next(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("first it gets %q", got)
	}
	w.ok(u.LogTask(ctx, ids[0], "two"))
	w.ok(u.LogTask(ctx, ids[0], "three"))
	var got []string
	for len(got) < 2 {
		got = append(got, next()...)
	}
	if !slices.Equal(got, []string{"two", "three"}) {
		t.Errorf("then it gets %q", got)
	}
	a.asks("StringsWatcher", 1, "Stop", "Id")
	w.ok(a.read().Err())
}
