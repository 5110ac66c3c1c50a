package clitest

import (
	"context"
	"fmt"
	"maps"

	"juju/state/entity"
)

func (f *FakeController) Clouds(context.Context) ([]string, error) { return []string{"lxd"}, nil }

func (f *FakeController) Cloud(_ context.Context, name string) (entity.Cloud, error) {
	if name != "lxd" {
		return entity.Cloud{}, entity.Errorf(entity.NotFound, "cloud %q not found", name)
	}
	return entity.Cloud{Type: "lxd", AuthTypes: []string{"certificate"}, Endpoint: "https://h:8443",
		Regions: []string{"default"}}, nil
}

func (f *FakeController) Credential(
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

func (f *FakeController) CredentialNames(_ context.Context, cloud string) ([]string, error) {
	if cloud == "rack" {
		return []string{"ops"}, nil
	} else if cloud != "lxd" {
		return nil, entity.Errorf(entity.NotFound, "cloud %q not found", cloud)
	}
	return []string{"default"}, nil
}

func (f *FakeController) AddCredential(_ context.Context, cloud, name string, one entity.CloudCredential) error {
	f.Calls = append(f.Calls, fmt.Sprint("AddCredential ", cloud, " ", name, " ", len(one.Attributes)))
	return f.Err
}

func (f *FakeController) UpdateCredential(_ context.Context, cloud, name string, one entity.CloudCredential, force bool) error {
	f.Calls = append(f.Calls, fmt.Sprint("UpdateCredential ", cloud, " ", name, " ", len(one.Attributes), " ", force))
	return f.Err
}

func (f *FakeController) RevokeCredential(_ context.Context, cloud, name string, force bool) error {
	f.Calls = append(f.Calls, fmt.Sprint("RevokeCredential ", cloud, " ", name, " ", force))
	return f.Err
}

func (f *FakeController) SetModelCredential(_ context.Context, model, cloud, name string) error {
	f.Calls = append(f.Calls, fmt.Sprint("SetModelCredential ", model, " ", cloud, " ", name))
	return f.Err
}

func (f *FakeController) ModelDefaults(context.Context) (map[string]entity.ModelDefault, error) {
	return map[string]entity.ModelDefault{"http-proxy": {Default: ""},
		"automatically-retry-hooks": {Default: false, Controller: true}}, nil
}

func (f *FakeController) SetModelDefaults(_ context.Context, config map[string]string) error {
	f.Calls = append(f.Calls, fmt.Sprint("SetModelDefaults ", config))
	return f.Err
}

func (f *FakeController) ResetModelDefaults(_ context.Context, keys ...string) error {
	f.Calls = append(f.Calls, fmt.Sprint("ResetModelDefaults ", keys))
	return f.Err
}

func (f *FakeController) ControllerConfig(context.Context) (map[string]any, error) {
	return map[string]any{"api-port": 17070, "ca-cert": "one\ntwo\n"}, nil
}

func (f *FakeController) SetControllerConfig(_ context.Context, config map[string]any) error {
	f.Calls = append(f.Calls, fmt.Sprint("SetControllerConfig ", maps.Clone(config)))
	return f.Err
}
