package facades_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// Clients read a model's sequences, superusers the settings of all models and models as YAML, without secrets.
func TestFactsAboutModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	w.ok(w.st.Annotations().Set(t.Context(), entity.UnitTag("mysql/0"), map[string]string{"x": "y"}))
	var next params.ModelSequencesResult
	w.ok(w.admin().do("ModelConfig", 3, "Sequences", nil, &next))
	if next.Sequences["application-mysql"] != 2 || next.Sequences["machine"] != 4 {
		t.Errorf("the sequences are %v", next.Sequences)
	}
	top := w.root()
	var hosted params.HostedModelConfigsResults
	w.ok(top.do("Controller", 9, "HostedModelConfigs", nil, &hosted))
	if len(hosted.Models) != 1 || hosted.Models[0].Name != "default" || hosted.Models[0].Config["default-series"] != "jammy" ||
		hosted.Models[0].Owner.Tag != entity.UserTag("admin") || hosted.Models[0].CloudSpec == nil {
		t.Errorf("the models' settings are %+v", hosted)
	}
	for _, simplified := range []bool{false, true} {
		var dump params.StringResults
		w.ok(top.do("ModelManager", 10, "DumpModels", params.DumpModelsRequest{Simplified: simplified,
			Entities: []params.Entity{{Tag: params.TagOf(entity.ModelTag(w.st.UUID()))}, {Tag: params.TagOf(entity.ModelTag("11111111-2222-4333-8444-555555555555"))}}}, &dump))
		if dump.Results[1].Error == nil {
			t.Error("a model that is not there is dumped")
		}
		var docs map[string][]map[string]any
		w.ok(yaml.Unmarshal([]byte(dump.Results[0].Result), &docs))
		if len(docs["units"]) != 4 || len(docs["annotations"]) > 0 == simplified || strings.Contains(dump.Results[0].Result, "$argon") {
			t.Errorf("simplified %t: the dump has %d units and %d annotations", simplified, len(docs["units"]), len(docs["annotations"]))
		}
	}
}

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
	next := func() (lines []string) {
		t.Helper()
		event, err := c.next(ctx, started.Results[0].ID)
		w.ok(err)
		for _, text := range event.Names {
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
}
