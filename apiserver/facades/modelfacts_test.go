package facades_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/apiserver/params"
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
