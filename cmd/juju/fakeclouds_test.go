package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"juju/state/entity"
)

func (f *fakeController) Clouds(context.Context) ([]string, error) { return []string{"lxd"}, nil }

func (f *fakeController) Cloud(_ context.Context, name string) (entity.Cloud, error) {
	if name != "lxd" {
		return entity.Cloud{}, entity.Errorf(entity.NotFound, "cloud %q not found", name)
	}
	return entity.Cloud{Type: "lxd", AuthTypes: []string{"certificate"}, Endpoint: "https://h:8443",
		Regions: []string{"default"}}, nil
}

func (f *fakeController) Credential(
	_ context.Context, cloud, name string, secrets bool,
) (entity.CloudCredential, map[string]string, error) {
	if cloud != "lxd" || name != "default" {
		return entity.CloudCredential{}, nil, entity.Errorf(entity.NotFound, "credential %q of cloud %q not found", name, cloud)
	}
	attributes := map[string]string{"client-cert": "C"}
	if secrets {
		attributes["client-key"] = "K"
	}
	return entity.CloudCredential{AuthType: "certificate", Attributes: attributes}, map[string]string{"default": "admin"}, nil
}

func (f *fakeController) CredentialNames(_ context.Context, cloud string) ([]string, error) {
	if cloud == "rack" {
		return []string{"ops"}, nil
	} else if cloud != "lxd" {
		return nil, entity.Errorf(entity.NotFound, "cloud %q not found", cloud)
	}
	return []string{"default"}, nil
}

func (f *fakeController) AddCredential(_ context.Context, cloud, name string, one entity.CloudCredential) error {
	f.calls = append(f.calls, fmt.Sprint("AddCredential ", cloud, " ", name, " ", len(one.Attributes)))
	return f.err
}

func (f *fakeController) UpdateCredential(_ context.Context, cloud, name string, one entity.CloudCredential, force bool) error {
	f.calls = append(f.calls, fmt.Sprint("UpdateCredential ", cloud, " ", name, " ", len(one.Attributes), " ", force))
	return f.err
}

func (f *fakeController) RevokeCredential(_ context.Context, cloud, name string, force bool) error {
	f.calls = append(f.calls, fmt.Sprint("RevokeCredential ", cloud, " ", name, " ", force))
	return f.err
}

func (f *fakeController) SetModelCredential(_ context.Context, model, cloud, name string) error {
	f.calls = append(f.calls, fmt.Sprint("SetModelCredential ", model, " ", cloud, " ", name))
	return f.err
}

func (f *fakeController) ModelDefaults(context.Context) (map[string]entity.ModelDefault, error) {
	return map[string]entity.ModelDefault{"http-proxy": {Default: ""},
		"automatically-retry-hooks": {Default: false, Controller: true}}, nil
}

func (f *fakeController) SetModelDefaults(_ context.Context, config map[string]string) error {
	f.calls = append(f.calls, fmt.Sprint("SetModelDefaults ", config))
	return f.err
}

func (f *fakeController) ResetModelDefaults(_ context.Context, keys ...string) error {
	f.calls = append(f.calls, fmt.Sprint("ResetModelDefaults ", keys))
	return f.err
}

func (f *fakeController) ControllerConfig(context.Context) (map[string]any, error) {
	return map[string]any{"api-port": 17070, "ca-cert": "one\ntwo\n"}, nil
}

func (f *fakeController) SetControllerConfig(_ context.Context, config map[string]any) error {
	f.calls = append(f.calls, fmt.Sprint("SetControllerConfig ", maps.Clone(config)))
	return f.err
}

func (h hostileController) Clouds(context.Context) ([]string, error) {
	return planted[[]string](), h.err
}

func (h hostileController) CredentialNames(context.Context, string) ([]string, error) {
	return planted[[]string](), h.err
}

func (h hostileController) AddCredential(context.Context, string, string, entity.CloudCredential) error {
	return h.err
}

func (h hostileController) UpdateCredential(context.Context, string, string, entity.CloudCredential, bool) error {
	return h.err
}

func (h hostileController) RevokeCredential(context.Context, string, string, bool) error {
	return h.err
}

func (h hostileController) SetModelCredential(context.Context, string, string, string) error {
	return h.err
}

func (h hostileController) Cloud(context.Context, string) (entity.Cloud, error) {
	return planted[entity.Cloud](), h.err
}

func (h hostileController) Credential(
	context.Context, string, string, bool,
) (entity.CloudCredential, map[string]string, error) {
	return planted[entity.CloudCredential](), planted[map[string]string](), h.err
}

func (h hostileController) ModelDefaults(context.Context) (map[string]entity.ModelDefault, error) {
	return map[string]entity.ModelDefault{hostile: {Default: hostile, Controller: hostile}}, h.err
}

func (h hostileController) ControllerConfig(context.Context) (map[string]any, error) {
	return map[string]any{hostile: hostile}, h.err
}

func TestCloudsAndTheirCredentials(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	fails := func(code int, line, want string) {
		t.Helper()
		if u.code != code || !strings.HasPrefix(u.err.String(), "ERROR "+want+"\n") {
			t.Errorf("juju %s: exit code %d, said\n%s", line, u.code, u.err.String())
		}
	}
	for line, want := range map[string]string{
		"clouds": "Cloud  Regions  Default  Type   Source    Description\n" +
			"local  1        default  local  built-in  this host, where a machine is a directory and a process\n" +
			"lxd    1        default  lxd    built-in  LXD, where a machine is a system container\n",
		"show-cloud lxd": "lxd:\n    defined: controller\n    type: lxd\n    auth-types: [certificate]\n" +
			"    endpoint: https://h:8443\n    regions:\n        - default\n",
		"regions lxd": "Region\ndefault\n",
		"credentials": "Cloud  Credential  Type         Source\nlxd    default*    certificate  controller\n",
		"credentials lxd --format json --show-secrets": `{"controller-credentials":{"lxd":{"default-credential":"default",` +
			`"cloud-credentials":{"default":{"auth-type":"certificate","attributes":{"client-cert":"C","client-key":"K"}}}}}}` + "\n",
		"show-credential": "controller-credentials:\n    lxd:\n        default:\n            content:\n" +
			"                auth-type: certificate\n                validity-check: valid\n                attributes:\n" +
			"                    client-cert: C\n            models:\n                default: admin\n",
		"controllers": "Controller  Model    User   Access  Cloud      Models  HA  Version\n" +
			"prod*       default  admin  -       elsewhere  2       -   -\n",
		"controller-config":          "Attribute  Value\napi-port   17070\nca-cert    one …\n",
		"controller-config api-port": "17070\n",
		"model-defaults": "Attribute                  Default  Controller\nautomatically-retry-hooks  false    true\n" +
			"http-proxy                 -        -\n",
	} {
		u.types(strings.Fields(line)...)
		u.sees(0, want, "")
	}
	for line, want := range map[string]string{
		"show-cloud aws":            `cloud "aws" not found`,
		"show-credential lxd other": `credential "other" of cloud "lxd" not found`,
		"model-defaults nosuch":     `key "nosuch" not found in model defaults`,
		"controller-config nosuch":  `key "nosuch" not found in controller config`,
	} {
		u.types(strings.Fields(line)...)
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
		u.types(strings.Fields(line)...)
		fails(2, line, want)
	}
	u.types("model-defaults", "http-proxy=http://p:1", "--reset", "automatically-retry-hooks")
	u.types("unset-model-defaults", "http-proxy")
	u.types("controller-config", "api-port=1")
	u.types("add-model", "one", "lxd/default", "--credential", "default", "--no-switch")
	want := "[SetModelDefaults map[http-proxy:http://p:1] ResetModelDefaults [automatically-retry-hooks] " +
		"ResetModelDefaults [http-proxy] SetControllerConfig map[api-port:1] CreateModel one {lxd default default }]"
	if got := fmt.Sprint(u.ctrl.calls); got != want {
		t.Errorf("the controller was asked\n%s\nwant\n%s", got, want)
	}
}
