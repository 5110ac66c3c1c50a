package models_test

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/cmd/juju/models"
	"juju/state/modelconfig"
)

const validKeys = "Valid keys: apt-ftp-proxy, apt-http-proxy, apt-https-proxy, apt-mirror, apt-no-proxy, " +
	"authorized-keys, automatically-retry-hooks, charmhub-ca-cert, charmhub-url, cloudinit-userdata, default-series, egress-subnets, firewall-mode, ftp-proxy, host-lock, http-proxy, " +
	"https-proxy, juju-ftp-proxy, juju-http-proxy, juju-https-proxy, juju-no-proxy, logging-config, machine-lock-exempt, " +
	"max-action-results-age, max-action-results-size, no-proxy, provisioner-harvest-mode, proxy-ssh, update-status-hook-interval\n"

func TestShowModelConfig(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.ModelConfig = modelconfig.New(map[string]string{modelconfig.RetryHooks: "true"}, "jammy")
	u.Model.Returns.ModelConfig["agent-version"] = modelconfig.Value{Value: "3.6.9", Source: "model"}
	u.Types("model-config")
	u.Asked("ModelConfig")
	u.Sees(0, "Attribute                    From        Value\n"+
		"agent-version                model       3.6.9\n"+
		"apt-ftp-proxy                default\n"+
		"apt-http-proxy               default\n"+
		"apt-https-proxy              default\n"+
		"apt-mirror                   default\n"+
		"apt-no-proxy                 default\n"+
		"automatically-retry-hooks    model       true\n"+
		"charmhub-ca-cert             default\n"+
		"charmhub-url                 default     https://api.charmhub.io\n"+
		"cloudinit-userdata           default\n"+
		"default-series               controller  jammy\n"+
		"egress-subnets               default\n"+
		"firewall-mode                default     instance\n"+
		"ftp-proxy                    default\n"+
		"host-lock                    default\n"+
		"http-proxy                   default\n"+
		"https-proxy                  default\n"+
		"juju-ftp-proxy               default\n"+
		"juju-http-proxy              default\n"+
		"juju-https-proxy             default\n"+
		"juju-no-proxy                default\n"+
		"logging-config               default     <root>=INFO;unit=TRACE\n"+
		"machine-lock-exempt          default\n"+
		"max-action-results-age       default     336h\n"+
		"max-action-results-size      default     5G\n"+
		"no-proxy                     default\n"+
		"provisioner-harvest-mode     default     all\n"+
		"proxy-ssh                    default     false\n"+
		"update-status-hook-interval  default     5m\n", "")
	u.Types("get-model-config", "automatically-retry-hooks")
	u.Sees(0, "true\n", "")
	u.Types("get-env", "--format", "json")
	empty := ""
	apt := ""
	for _, key := range []string{"apt-ftp-proxy", "apt-http-proxy", "apt-https-proxy", "apt-mirror", "apt-no-proxy"} {
		apt += `"` + key + `":{"Value":"","Source":"default"},`
	}
	for _, key := range []string{"ftp-proxy", "host-lock", "http-proxy", "https-proxy", "juju-ftp-proxy", "juju-http-proxy",
		"juju-https-proxy", "juju-no-proxy", "machine-lock-exempt", "no-proxy"} {
		if key == "machine-lock-exempt" {
			empty += `"logging-config":{"Value":"\u003croot\u003e=INFO;unit=TRACE","Source":"default"},`
		}
		if key == "no-proxy" {
			empty += `"max-action-results-age":{"Value":"336h","Source":"default"},` +
				`"max-action-results-size":{"Value":"5G","Source":"default"},`
		}
		empty += `"` + key + `":{"Value":"","Source":"default"},`
	}
	u.Sees(0, `{"agent-version":{"Value":"3.6.9","Source":"model"},`+apt+`"automatically-retry-hooks":{"Value":true,"Source":"model"},`+
		`"charmhub-ca-cert":{"Value":"","Source":"default"},"charmhub-url":{"Value":"https://api.charmhub.io","Source":"default"},"cloudinit-userdata":{"Value":"","Source":"default"},"default-series":{"Value":"jammy",`+
		`"Source":"controller"},"egress-subnets":{"Value":"","Source":"default"},"firewall-mode":{"Value":"instance","Source":"default"},`+empty+`"provisioner-harvest-mode":{"Value":"all","Source":"default"},`+
		`"proxy-ssh":{"Value":false,"Source":"default"},"update-status-hook-interval":{"Value":"5m","Source":"default"}}`+"\n", "")
	u.Types("model-config", "-m", "default", "automatically-retry-hooks", "--format", "yaml")
	u.Sees(0, "automatically-retry-hooks:\n    value: true\n    source: model\n", "")
	u.Types("model-config", "agent-version")
	u.Sees(0, "3.6.9\n", "")
	u.Types("model-config", "retry")
	u.Sees(1, "", "ERROR key \"retry\" not found in model settings\n"+
		validKeys)
	u.Types("model-config", "--format", "oneline")
	u.Asked()
	u.Sees(2, "", "ERROR unknown format \"oneline\"\nValid formats: tabular, yaml, json\n")
}

func TestSetModelConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "model.yaml")
	// Settings as a user writes them, and as --format yaml prints them.
	clitest.Write(t, file, "automatically-retry-hooks: true\nprovisioner-harvest-mode: {value: none, source: model}\n")
	list := filepath.Join(t.TempDir(), "list.yaml")
	clitest.Write(t, list, "default-series: [a, b]\n")
	u := newUser(t)
	for _, c := range []struct {
		args  []string
		asked []string
	}{
		{[]string{"model-config", "extra-info=b=c", "no-proxy="}, []string{"SetModelConfig map[extra-info:b=c no-proxy:]"}},
		{[]string{"set-model-config", "extra-info=b"}, []string{"SetModelConfig map[extra-info:b]"}},
		{[]string{"model-config", "--file", file, "automatically-retry-hooks=false"},
			[]string{"SetModelConfig map[automatically-retry-hooks:false provisioner-harvest-mode:none]"}},
		{[]string{"model-config", "extra-info=b", "--reset", "default-series,provisioner-harvest-mode"},
			[]string{"SetModelConfig map[extra-info:b]", "ResetModelConfig [default-series provisioner-harvest-mode]"}},
		{[]string{"unset-env", "default-series"}, []string{"ResetModelConfig [default-series]"}},
	} {
		u.Types(c.args...)
		u.Asked(c.asked...)
		u.Sees(0, "", "")
	}
	u.Types("model-config", "test-mode=true", "enable-os-upgrade=false", "default-base=ubuntu@24.04", "retry=x", "--reset", "nothing")
	u.Asked("SetModelConfig map[default-base:ubuntu@24.04 enable-os-upgrade:false retry:x test-mode:true]", "ResetModelConfig [nothing]")
	u.Sees(0, "", "WARNING key \"nothing\" is not defined in the current model configuration: possible misspelling; it is ignored\n"+
		"WARNING key \"retry\" is not defined in the current model configuration: possible misspelling; it is ignored\n"+
		"WARNING model config key \"test-mode\" has no effect: nothing is sent to anyone\n")
	u.Types("model-config", "update-status-hook-interval=10s")
	u.Asked("SetModelConfig map[update-status-hook-interval:10s]")
	u.Sees(0, "", "WARNING every unit of the model runs update-status each 10s: below 1m0s is for tests\n")
	for _, c := range []struct {
		code int
		args []string
		said string
	}{
		{2, []string{"model-config", "a=b", "c"}, "expected \"key=value\", got \"c\"\nFor usage: juju help model-config"},
		{2, []string{"model-config", "default-series=x", "--reset", "default-series"},
			"cannot set and reset key \"default-series\" simultaneously\nFor usage: juju help model-config"},
		{2, []string{"model-config", "--reset", "a=b"},
			"--reset accepts a comma delimited set of keys \"a,b,c\", received: \"a=b\"\nFor usage: juju help model-config"},
		{1, []string{"model-config", "--file", list}, "cannot read " + list + ": the value of default-series is not a scalar"},
	} {
		u.Types(c.args...)
		u.Asked()
		u.Sees(c.code, "", "ERROR "+c.said+"\n")
	}
}

// What model-config, model-defaults and constraints print, they read again.
func TestPrintedModelSettingsAreRead(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	for _, format := range []string{"yaml", "json"} {
		const commands = "postruncmd:\n- |\n  a\n  b\n"
		u.Runs("model-config", "no-proxy=a,10.0.0.0/8", "automatically-retry-hooks=false", "cloudinit-userdata="+commands)
		if got := u.Runs("model-config", "cloudinit-userdata"); got != commands {
			t.Errorf("one setting of several lines is printed as\n%s", got)
		}
		want := u.Runs("model-config", "--format", format)
		path := filepath.Join(t.TempDir(), "model")
		clitest.Write(t, path, want)
		u.Runs("model-config", "--reset", "no-proxy,automatically-retry-hooks,cloudinit-userdata")
		u.Runs("model-config", "--file", path)
		if got := u.Runs("model-config", "--format", format); got != want {
			t.Errorf("%s: printed\n%s and then\n%s", format, want, got)
		}
		clitest.Write(t, path, strings.Replace(want, "336h", "24h", 1))
		u.Runs("model-config", "--file", path)
		if got := u.Runs("model-config", "max-action-results-age"); got != "24h\n" {
			t.Errorf("%s: edited, it is %s", format, got)
		}
		u.Runs("model-config", "--reset", "max-action-results-age")

		clitest.Write(t, path, u.Runs("model-defaults", "--format", format)) // of the fake controller
		u.Controller.Calls = nil
		u.Runs("model-defaults", "--file", path)
		if got := strings.Join(u.Controller.Calls, " "); got != "SetModelDefaults map[automatically-retry-hooks:true]" {
			t.Errorf("%s: the controller was asked %s", format, got)
		}
	}
	const all = "arch=amd64 container=lxd cores=2 mem=1024M root-disk=2048M tags=a,^b\n"
	u.Runs(append([]string{"set-model-constraints"}, strings.Fields(all)...)...)
	u.Runs(append([]string{"set-model-constraints"}, strings.Fields(u.Runs("model-constraints"))...)...)
	if got := u.Runs("model-constraints"); got != all {
		t.Errorf("got %s", got)
	}
}

// The help has each setting with what it can be, its default and what it does, in lines that fit a terminal and are full.
func TestHelpOfModelSettings(t *testing.T) {
	t.Parallel()
	const width = 84
	text := models.ModelConfigCommand(&cli.Session{}).Long
	flat := strings.Join(strings.Fields(text), " ")
	for _, s := range modelconfig.Shown {
		about := s.Type
		if len(s.Values) > 0 {
			about = cli.OneOf(s.Values)
		}
		if s.Default != "" {
			about += "; default " + s.Default
		}
		if want := s.Key + " (" + about + ") " + strings.Join(strings.Fields(s.Doc), " ") + "."; !strings.Contains(flat, want) {
			t.Errorf("the help does not say %s", want)
		}
	}
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if indented := strings.HasPrefix(line, "    "); indented && len(line) > width ||
			indented && strings.HasPrefix(before, "    ") && len(before)+1+len(word) <= width {
			t.Errorf("%q follows %q", line, before)
		}
		before = line
	}
}
