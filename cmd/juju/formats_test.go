package main

import (
	"encoding/json"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/agent"
	"juju/state/entity"
)

// Every command with --format prints a document of that format.
func TestFormats(t *testing.T) {
	t.Parallel()
	lines := map[string][]string{
		"status": {""}, "machines": {""}, "show-machine": {""},
		"show-status-log": {"web/0"}, "explain": {""}, "get": {"web", "web title"},
		"config": {"web", "web title"},
		"models": {""}, "show-model": {"default"}, "users": {"", "default"}, "show-user": {""},
		"disabled-commands": {"", "--all"},
		"check":             {""}, "whoami": {""}, "constraints": {"web"}, "model-constraints": {""},
		"version":      {"", "--all"},
		"model-config": {"", "default-series"},
		"actions":      {"web", "web --schema"}, "run-action": {"web/0 go", "web/0 go --wait"},
		"run": {"--unit web/0 FORMAT x"}, "operations": {""}, "show-operation": {"1"}, "show-task": {"2"}, "cancel-task": {"2"},
		"show-action-output": {"2"}, "show-action-status": {""},
		"storage": {""}, "show-storage": {"data/0"}, "storage-pools": {""},
		"resources": {"web", "web --details", "web/0"},
	}
	// They need a controller that can't be played here, and a machine; a script tests the latter.
	untried := map[string]bool{"dump-db": true, "charm-history": true}
	u := newUser(t)
	newCheckedController(u)
	for _, cmd := range newRoot(u.session).Commands() {
		if cmd.Flags().Lookup("format") == nil || untried[cmd.Name()] {
			continue
		}
		if lines[cmd.Name()] == nil {
			t.Errorf("juju %s --format is not tried", cmd.Name())
		}
		for _, args := range lines[cmd.Name()] {
			u.fake.config.Settings = map[string]entity.ConfigSetting{"title": {Value: "a: b"}}
			u.fake.tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted}}
			u.fake.resources = entity.ResourcesOf{Resources: []entity.Resource{{Name: "site", File: &entity.ResourceFile{Size: 1}}},
				Units: map[string]map[string]entity.ResourceFile{"web/0": {"site": {Size: 1}}}}
			u.fake.explain = func() entity.Explanation { return entity.Explanation{Name: "web"} }
			for format, read := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
				line, ok := strings.CutSuffix(args, " FORMAT x")
				words := append([]string{cmd.Name()}, strings.Fields(line)...)
				if words = append(words, "--format", format); ok { // the rest of the line is a command
					words = append(words, "x")
				}
				u.types(words...)
				var v any
				if err := read(u.out.Bytes(), &v); u.code != 0 || u.out.Len() == 0 || err != nil {
					t.Errorf("juju %s %s --format %s: exit code %d, %v\n%s%s", cmd.Name(), args, format, u.code, err, u.out.String(),
						u.err.String())
				}
			}
		}
	}
	u.types("version", "--format", "json")
	u.sees(0, `"`+agent.Version+"\"\n", "")
	u.types("version")
	u.sees(0, agent.Version+"\n", "")
	u.types("get", "web", "title", "--format", "json")
	u.sees(0, "\"a: b\"\n", "")
	u.types("get", "web", "title")
	u.sees(0, "a: b\n", "")
}
