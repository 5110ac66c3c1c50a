package main

import (
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A user who completes names has one of each kind.
func newCompleter(t *testing.T) *clitest.User {
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{
		Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0"}}}},
		Machines: []entity.MachineStatus{{ID: "8"}}, Remotes: []entity.RemoteStatus{{Name: "saas"}}}}
	u.Model.Returns.Config = client.ServiceConfig{Settings: map[string]entity.ConfigSetting{"title": {}},
		Own: map[string]entity.ConfigSetting{"trust": {}}}
	u.Model.Returns.Actions = map[string]client.ActionInfo{"go": {}}
	u.Model.Returns.Tasks = []entity.Task{{ID: "2"}}
	u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0"}}
	u.Model.Returns.Spaces = []entity.Space{{Name: "dmz", Subnets: []entity.Subnet{{CIDR: "10.0.0.0/24"}}}}
	u.Model.Returns.Resources = entity.ResourcesOf{Resources: []entity.Resource{{Name: "blob"}}}
	u.Model.Returns.ModelConfig = modelconfig.Config{"http-proxy": {}}
	return u
}

// ofKind are the names of newCompleter, by words in usage lines and by nouns in the names of commands.
var ofKind = map[string]string{
	"SERVICE": "web", "UNIT": "web/0", "MACHINE": "8", "TARGET": "web/0 8", "PATTERN": "web web/0 8", "ACTION": "go", "SPACE": "dmz",
	"STORAGE": "data/0", "CIDR": "10.0.0.0/24", "USER": "admin bob eve", "LEVEL": "login add-model superuser read write admin consume",
	"MODEL": "default controller", "CONTROLLER": "prod", "OFFER": "store admin/default.store", "URL": "admin/default.store",
	"CLOUD": "local lxd", "CREDENTIAL": "ops default", "SET": "all destroy-model remove-object", "TOOL": "*", "COMMAND": "*", "TOPIC": "*",
	"POOL": "loop lxd tmpfs rootfs fast local", "FILE": "",
	"user": "admin bob eve", "task": "2", "action": "2", "operation": "1", "space": "dmz", "pool": "*", "relation": "4", "saas": "saas",
	"environment": "prod", "resource": "blob=", "config": "title trust http-proxy", "get": "title trust", "set": "title= trust=",
	"unset": "title trust", "defaults": "http-proxy", "controller": "prod api-port ca-cert",
}

// What shells offer for an argument is of the kind that the usage line, or the name of the command, says.
func TestCommandsCompleteTheirOwnKind(t *testing.T) {
	t.Parallel()
	u := newCompleter(t)
	for _, cmd := range commands.New(u.Session).Commands() {
		if cmd.Hidden || cmd.Name() == "completion" {
			continue
		}
		name, usage, _ := strings.Cut(cmd.Use, " ")
		allowed := allowedNames(name, usage)
		for _, before := range []string{"", "web ", "web/0 ", "web/0 web/0 "} {
			for _, got := range completions(u, name+" "+before) {
				if !slices.Contains(allowed, got) && !slices.Contains(allowed, "*") {
					t.Errorf("juju %s| completes %q, whose kind is not in %q", name+" "+before, got, usage)
				}
			}
		}
	}
}

func allowedNames(name, usage string) (allowed []string) {
	nouns := strings.FieldsFunc(usage, func(r rune) bool { return r < 'A' || r > 'Z' })
	if strings.Contains(usage, "NAME") || strings.Contains(usage, "ID") || strings.Contains(usage, "KEY") {
		nouns = append(nouns, strings.Split(name, "-")...)
	}
	if name == "run" {
		nouns = append(nouns, "ACTION")
	}
	for _, noun := range nouns {
		allowed = append(allowed, strings.Fields(ofKind[noun])...)
	}
	return allowed
}

func TestShellsCompleteWhatCommandsTake(t *testing.T) {
	t.Parallel()
	u := newCompleter(t)
	for line, want := range map[string]string{
		"config web ":                 "title trust",
		"config --reset ":             "title trust",
		"config web --reset ti":       "title",
		"set web ":                    "title= trust=",
		"run web/0 ":                  "go",
		"run-action web/0 ":           "go",
		"show-action web ":            "go",
		"show-task ":                  "2",
		"cancel-task 2 ":              "",
		"show-operation ":             "1",
		"show-storage ":               "data/0",
		"attach-storage web/0 ":       "data/0",
		"show-offer ":                 "admin/default.store store",
		"consume ":                    "admin/default.store",
		"bind ":                       "web",
		"bind web ":                   "dmz",
		"move-to-space ":              "dmz",
		"move-to-space dmz ":          "10.0.0.0/24",
		"attach-resource web ":        "blob=",
		"grant ":                      "admin bob eve",
		"revoke bob r":                "read",
		"grant bob read ":             "admin/default.store controller default",
		"remove-user b":               "bob",
		"model-config ":               "http-proxy",
		"help depl":                   "deploy",
		"help pl":                     "placement plugins",
		"debug-log --include ":        "8 web/0",
		"remove-saas ":                "saas",
		"suspend-relation ":           "4",
		"disable-command ":            "all destroy-model remove-object",
		"destroy-environment ":        "prod",
		"add-space ":                  "",
		"deploy ./web ":               "",
		"import-filesystem lxd vol-1": "",
	} {
		if got := strings.Join(completions(u, line), " "); got != want {
			t.Errorf("juju %s| completes %q, want %q", line, got, want)
		}
	}
	u.Types("__complete", "show-unit", "-m", "prod:")
	if !strings.HasPrefix(u.Out.String(), "prod:controller\nprod:default\n:") {
		t.Errorf("the models of a controller complete as %q", u.Out.String())
	}
	u.Types("__complete", "attach-resource", "web", "blob=./")
	if u.Out.String() != ":0\n" {
		t.Errorf("the file of a resource completes %q", u.Out.String())
	}
}
