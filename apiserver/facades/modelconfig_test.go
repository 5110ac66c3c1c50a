package facades_test

import (
	"context"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// Settings that Juju lists and that can't be changed are refused in its words, and so is what is no setting, or no value of one.
func TestSettingsOfModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const version = "agent-version cannot be changed → To upgrade the model's agents: juju upgrade-juju"
	w.admin().says(
		step{"ModelConfig 3 ModelSet", `{"config":{"agent-version":"9.9"}}`, version},
		step{"ModelConfig 3 ModelSet", `{"config":{"agent-version":"` + entity.JujuVersion + `","update-status-hook-interval":"7m"}}`, `{}`},
		step{"ModelConfig 3 ModelSet", `{"config":{"name":"x"}}`, `cannot change name from "default" to "x"`},
		step{"ModelConfig 3 ModelSet", `{"config":{"uuid":null}}`, `cannot change uuid from "` + w.st.UUID() + `" to null`},
		step{"ModelConfig 3 ModelSet", `{"config":{"type":[1]}}`, `cannot change type from "dummy" to a list`},
		step{"ModelConfig 3 ModelSet", `{"config":{"update-status-hook-interval":{}}}`,
			"cannot change model config: update-status-hook-interval: the value can't be an object"},
		step{"ModelConfig 3 ModelSet", `{"config":{"nosuch":"x","test-mode":true}}`, `{}`},
		step{"ModelConfig 3 ModelUnset", `{"keys":["agent-version"]}`, version},
		step{"ModelConfig 3 ModelUnset", `{"keys":["nosuch"]}`, `{}`},
	)
	c := w.admin().client()
	has := func(want, source string) {
		t.Helper()
		config, err := c.ModelConfig(t.Context())
		w.ok(err)
		if got := config["update-status-hook-interval"]; got.Value != want || got.Source != source {
			t.Errorf("the interval is %+v, want %s of the %s", got, want, source)
		}
		if got := config["test-mode"]; got != (modelconfig.Value{Value: "true", Source: "model"}) {
			t.Errorf("a setting without an effect is kept as %+v", got)
		}
		if got := config["agent-version"]; got != (modelconfig.Value{Value: entity.JujuVersion, Source: "model"}) {
			t.Errorf("the version is %+v", got)
		}
	}
	has("7m", "model")
	w.admin().says(step{"ModelConfig 3 ModelUnset", `{"keys":["update-status-hook-interval"]}`, `{}`})
	has("5m", "default")
}

// What cloud-init is told can be long. It may hold secrets, so only the provisioner reads it, and no agent of a machine or unit.
func TestUserDataOfMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	m0, u0 := entity.MachineTag("0"), entity.UnitTag("wordpress/0")
	told := "packages: [curl]\n# " + strings.Repeat("-", limits.Name.Max)
	w.ok(w.admin().client().SetModelConfig(t.Context(), map[string]string{modelconfig.UserData: told}))
	err := w.admin().client().SetModelConfig(t.Context(), map[string]string{modelconfig.UserData: "users: []"})
	if err == nil || err.Error() != "cannot change model config: cloudinit-userdata: users not allowed" {
		t.Errorf("users: %v", err)
	}
	for who, read := range map[string]func(context.Context) (modelconfig.Config, error){
		"the provisioner": client.ProvisionerFacade{Caller: w.manager().client()}.ModelConfig,
		"a user":          w.admin().client().ModelConfig,
	} {
		if config, err := read(t.Context()); err != nil || config[modelconfig.UserData].Value != told {
			t.Errorf("%s reads %q, %v", who, config[modelconfig.UserData], err)
		}
	}
	for agent, read := range map[entity.Tag]func(context.Context, entity.Tag) (modelconfig.Config, error){
		m0: client.MachinerFacade{Caller: w.agent(m0).client()}.ModelConfig, u0: w.uniter(u0).ModelConfig,
	} {
		config, err := read(t.Context(), agent)
		if _, ok := config[modelconfig.UserData]; ok || err != nil || len(config) == 0 {
			t.Errorf("%s reads %d settings, cloud-init's too or none: %v", agent, len(config), err)
		}
	}
}

// Defaults are those of the controller's one cloud and region. What a request has before and after a wrong part takes effect.
func TestDefaultsOfModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const moon = `cloud "moon" not found → All models of this controller are on its cloud, dummy. For another cloud, another controller is needed: juju bootstrap`
	const west = `cannot change model defaults of region "west" alone → A cloud has one region. Leave it out.`
	root := w.root()
	has := func(want any) {
		t.Helper()
		all, err := w.root().client().ModelDefaults(t.Context())
		w.ok(err)
		if got := all["update-status-hook-interval"]; got.Default != "5m" || got.Controller != want {
			t.Errorf("the defaults of the interval are %+v, want %v", got, want)
		}
		if got := all["test-mode"]; got.Controller != true {
			t.Errorf("a default without an effect is kept as %+v", got)
		}
		if _, ok := all["authorized-keys"]; ok {
			t.Error("keys have a default")
		}
	}
	root.says(step{"ModelManager 10 SetModelDefaults", `{"config":[{"config":{"update-status-hook-interval":"9m"}},{"cloud-tag":"cloud-moon","config":{}},
		{"cloud-region":"west","config":{}},{"config":{"nosuch":1,"test-mode":true}}]}`, "{}\n" + moon + "\n" + west + "\n{}"},
		step{"ModelManager 10 ModelDefaultsForClouds", `{"entities":[{"tag":"cloud-moon"}]}`, moon})
	has("9m")
	root.says(step{"ModelManager 10 UnsetModelDefaults", `{"keys":[{"cloud-tag":"cloud-moon","keys":["update-status-hook-interval"]},
		{"cloud-region":"west","keys":["update-status-hook-interval"]}]}`, moon + "\n" + west})
	has("9m")
	root.says(step{"ModelManager 10 UnsetModelDefaults", `{"keys":[{"cloud-tag":"cloud-dummy","keys":["update-status-hook-interval"]}]}`, "{}"})
	has(nil)
}
