package facades_test

import (
	"encoding/json"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/entity"
)

func TestStatusHistoryOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.admin().client()
	ctx := t.Context()
	u, err := w.st.Unit(ctx, "mysql/0")
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"one", "two"} {
		if err := u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: message}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		about string
		q     client.HistoryQuery
		want  []string
	}{
		{"the newest", client.HistoryQuery{Size: 1}, []string{"two"}},
		{"an hour", client.HistoryQuery{Ago: time.Hour}, []string{"waiting for machine", "one", "two"}},
		{"since tomorrow", client.HistoryQuery{From: time.Now().Add(24 * time.Hour)}, nil},
		{"without one", client.HistoryQuery{Size: 2, Exclude: []string{"two"}}, []string{"waiting for machine", "one"}},
	} {
		past, err := c.StatusHistory(ctx, entity.HistoryWorkload, entity.UnitTag("mysql/0"), test.q)
		if err != nil || len(past) != len(test.want) {
			t.Fatalf("%s: %v (%v)", test.about, past, err)
		}
		for i, p := range past {
			if p.Message != test.want[i] || p.Kind != entity.HistoryWorkload || p.Since.IsZero() {
				t.Errorf("%s: %+v, want %s", test.about, p, test.want[i])
			}
		}
	}
	if _, err := c.StatusHistory(ctx, entity.HistoryUnit, entity.UnitTag("mysql/9"),
		client.HistoryQuery{Size: 1}); entity.KindOf(err) != entity.NotFound {
		t.Errorf("a unit that never existed: %v", err)
	}
	ago := -time.Second
	raw := w.admin()
	for about, f := range map[string]params.StatusHistoryFilter{
		"nothing asked": {}, "two ways": {Size: 1, Delta: new(time.Duration)}, "a negative size": {Size: -1},
		"the future": {Delta: &ago},
	} {
		var results params.StatusHistoryResults
		reply := raw.call("Client", 7, "StatusHistory", params.StatusHistoryRequests{Requests: []params.StatusHistoryRequest{
			{Kind: "unit", Tag: params.TagOf(entity.UnitTag("mysql/0")), Filter: f}}})
		if err := reply.Err(); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(reply.Response, &results); err != nil {
			t.Fatal(err)
		}
		if err := params.FromError(results.Results[0].Error); entity.KindOf(err) != entity.Invalid {
			t.Errorf("%s: %v", about, err)
		}
	}
}
