package apiserver

import (
	"strings"
	"testing"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// A model's settings say which version its agents are to run. Only an upgrade changes that; the settings as
// they were shown can be given back.
func TestAgentVersionIsShownAndFixed(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	user := w.dial(w.adminInfo(w.st.UUID()))
	shows := func(want string) {
		t.Helper()
		config, err := user.ModelConfig(ctx)
		w.ok(err)
		if got := config["agent-version"]; got != (modelconfig.Value{Value: want, Source: "model"}) {
			t.Errorf("the settings show %v, want %s", got, want)
		}
	}
	shows("1.2.3") // the controller's
	w.ok(w.st.Settings().SetBinaries(ctx, entity.Binaries{Version: "1.2.0", SHA256: strings.Repeat("34", 32)}))
	shows("1.2.0")
	for what, err := range map[string]error{
		"set":   user.SetModelConfig(ctx, map[string]string{"agent-version": "1.2.3"}),
		"reset": user.ResetModelConfig(ctx, "agent-version"),
	} {
		if err == nil || err.Error() != "agent-version cannot be changed" || entity.KindOf(err) != entity.Invalid ||
			!strings.Contains(entity.Hint(err), "juju upgrade-juju") {
			t.Errorf("%s: %v %q", what, err, entity.Hint(err))
		}
	}
	w.ok(user.SetModelConfig(ctx, map[string]string{"agent-version": "1.2.0", "automatically-retry-hooks": "true"}))
	shows("1.2.0")
	config, err := user.ModelConfig(ctx)
	w.ok(err)
	if config[modelconfig.RetryHooks].Value != "true" {
		t.Errorf("the settings are %v", config)
	}
}
