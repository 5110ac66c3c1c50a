package controllers_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestCloudsAndTheirCredentials(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	fails := func(code int, line, want string) {
		t.Helper()
		if u.Code != code || !strings.HasPrefix(u.Err.String(), "ERROR "+want+"\n") {
			t.Errorf("juju %s: exit code %d, said\n%s", line, u.Code, u.Err.String())
		}
	}
	for line, want := range map[string]string{
		"clouds": "Cloud  Regions  Default  Type   Source    Description\n" +
			"local  1        default  local  built-in  this host, where a machine is a directory and a process\n" +
			"lxd    1        default  lxd    built-in  LXD, where a machine is a system container\n",
		"show-cloud lxd": "name: lxd\nsummary: Cloud \"lxd\" from controller\ndefined: controller\ntype: lxd\nauth-types: [certificate]\n" +
			"endpoint: https://h:8443\nregions:\n    default: {}\n",
		"regions lxd":               "Region\ndefault\n",
		"regions lxd --format json": `{"controller-cloud-regions":{"default":{}}}` + "\n",
		"credentials":               "Cloud  Credential  Type         Source\nlxd    default*    certificate  controller\n",
		"credentials lxd --format json --show-secrets": `{"controller-credentials":{"lxd":{"default-credential":"default",` +
			`"cloud-credentials":{"default":{"auth-type":"certificate","details":{"client-cert":"C","client-key":"K"}}}}}}` + "\n",
		"show-credential": "controller-credentials:\n    lxd:\n        default:\n            content:\n" +
			"                auth-type: certificate\n                validity-check: valid\n" +
			"                client-cert: C\n            models:\n                default: admin\n",
		"controllers": "Controller  Model    User   Access  Cloud      Models  HA  Version\n" +
			"prod*       default  admin  -       elsewhere  2       -   -\n",
		"controller-config":          "Attribute  Value\napi-port   17070\nca-cert    one …\n",
		"controller-config api-port": "17070\n",
		"model-defaults": "Attribute                  Default  Controller\nautomatically-retry-hooks  false    true\n" +
			"http-proxy                 -        -\n",
	} {
		u.Types(strings.Fields(line)...)
		u.Sees(0, want, "")
	}
	for line, want := range map[string]string{
		"show-cloud aws":            `cloud "aws" not found`,
		"show-credential lxd other": `credential "other" of cloud "lxd" not found`,
		"model-defaults nosuch":     `key "nosuch" not found in model defaults`,
		"controller-config nosuch":  `key "nosuch" not found in controller config`,
	} {
		u.Types(strings.Fields(line)...)
		fails(1, line, want)
	}
	for line, want := range map[string]string{
		"show-cloud":                   `no cloud specified`,
		"show-cloud a b":               `unrecognized args: ["b"]`,
		"regions a/b":                  `cloud name "a/b" not valid`,
		"show-credential lxd":          `both cloud and credential name are needed`,
		"controller-config a b":        `expected one key, or key=value, got ["a" "b"]`,
		"model-defaults a=1 --reset a": `cannot set and reset key "a" simultaneously`,
	} {
		u.Types(strings.Fields(line)...)
		fails(2, line, want)
	}
	u.Types("model-defaults", "http-proxy=http://p:1", "--reset", "automatically-retry-hooks")
	u.Types("unset-model-defaults", "http-proxy")
	u.Types("controller-config", "api-port=1")
	u.Types("add-model", "one", "lxd/default", "--credential", "default", "--no-switch")
	want := "[SetModelDefaults map[http-proxy:http://p:1] ResetModelDefaults [automatically-retry-hooks] " +
		"ResetModelDefaults [http-proxy] SetControllerConfig map[api-port:1] CreateModel one {lxd default default }]"
	if got := fmt.Sprint(u.Controller.Calls); got != want {
		t.Errorf("the controller was asked\n%s\nwant\n%s", got, want)
	}
}
