package apiserver

import (
	"strings"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// Every version that clients decide by is the Juju's whose API this is, whatever the model's agents run, and can't be
// changed; the settings as they were shown can be given back. The release is in fields of its own.
func TestOneVersionIsShownEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.ok(w.st.Settings().SetBinaries(ctx, entity.Binaries{Version: "1.2.0", SHA256: strings.Repeat("34", 32)}))
	info := w.info(entity.UnitTag("mysql/0"))
	info.Nonce, info.Binaries = "", entity.Binaries{Version: "1.1.0"}
	w.dial(info)
	user := w.dial(w.adminInfo(w.st.UUID()))
	shows := func(want string) {
		t.Helper()
		config, err := user.ModelConfig(ctx)
		w.ok(err)
		if got := config["agent-version"]; got != (modelconfig.Value{Value: want, Source: "model"}) {
			t.Errorf("the settings show %v, want %s", got, want)
		}
	}
	shows(entity.JujuVersion)
	if user.ServerVersion() != entity.JujuVersion || user.Release() != "1.2.3" {
		t.Errorf("the server has versions %s and %s", user.ServerVersion(), user.Release())
	}
	said := func(where, version, release, wantRelease string) {
		t.Helper()
		if version != entity.JujuVersion || release != wantRelease {
			t.Errorf("%s has version %q and release %q, want %s and %s", where, version, release, entity.JujuVersion, wantRelease)
		}
	}
	var status params.FullStatus
	w.ok(w.admin().do("Client", 7, "FullStatus", params.StatusParams{}, &status))
	said("the model", status.Model.Version, status.Model.Release, "1.2.0")
	agent := status.Applications["mysql"].Units["mysql/0"].AgentStatus
	said("an agent", agent.Version, agent.Release, "1.1.0")
	if away := status.Applications["mysql"].Units["mysql/1"].AgentStatus; away.Version != "" || away.Release != "" {
		t.Errorf("an agent that has not connected has version %q and release %q", away.Version, away.Release)
	}
	w.admin().watchesAll().until("unit mysql/0", func(d map[string]any) bool {
		return at(d, "agent-status", "version") == entity.JujuVersion && at(d, "agent-status", "release") == "1.1.0"
	})
	for what, err := range map[string]error{
		"set":   user.SetModelConfig(ctx, map[string]string{"agent-version": "1.2.3"}),
		"reset": user.ResetModelConfig(ctx, "agent-version"),
	} {
		if err == nil || err.Error() != "agent-version cannot be changed" || entity.KindOf(err) != entity.Invalid ||
			!strings.Contains(entity.Hint(err), "juju upgrade-juju") {
			t.Errorf("%s: %v %q", what, err, entity.Hint(err))
		}
	}
	w.ok(user.SetModelConfig(ctx, map[string]string{"agent-version": entity.JujuVersion, "automatically-retry-hooks": "true"}))
	shows(entity.JujuVersion)
	config, err := user.ModelConfig(ctx)
	w.ok(err)
	if config[modelconfig.RetryHooks].Value != "true" {
		t.Errorf("the settings are %v", config)
	}
}
