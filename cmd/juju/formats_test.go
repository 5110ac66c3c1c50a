package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
	"juju/state/entity"
)

// Every command with --format prints a document of that format, in JSON with times in one format.
func TestFormats(t *testing.T) {
	t.Parallel()
	lines := map[string][]string{
		"status": {""}, "machines": {""}, "show-machine": {""},
		"show-status-log": {"web/0"}, "explain": {""}, "get": {"web", "web title"},
		"config": {"web", "web title"},
		"clouds": {""}, "show-cloud": {"lxd"}, "regions": {"lxd"}, "credentials": {""}, "show-credential": {""},
		"controllers": {""}, "controller-config": {"", "api-port"}, "model-defaults": {""},
		"show-controller": {""}, "audit-log": {"", "--user bob"}, "models": {""}, "show-model": {"default"}, "users": {"", "default"}, "show-user": {""}, "tokens": {""},
		"disabled-commands": {"", "--all"},
		"check":             {""}, "whoami": {""}, "constraints": {"web"}, "model-constraints": {""},
		"version":      {"", "--all"},
		"model-config": {"", "default-series"},
		"actions":      {"web", "web --schema"}, "run-action": {"web/0 go", "web/0 go --wait"},
		"run": {"--unit web/0 FORMAT x", "web/0 go"}, "exec": {"--unit web/0 FORMAT x"}, "show-unit": {"web/0"}, "show-application": {"web"}, "operations": {""}, "show-action": {"web go"}, "switch": {"", "default"}, "diff-bundle": {"testdata/bundle.yaml"}, "show-operation": {"1"}, "show-task": {"2"}, "cancel-task": {"2"},
		"show-action-output": {"2"}, "show-action-status": {""},
		"payloads": {"", "web/0 docker"}, "secrets": {""}, "show-secret": {"shop", "shop --revisions"}, "storage": {""}, "show-storage": {"data/0"}, "storage-pools": {""},
		"spaces": {"", "--short"}, "show-space": {"db"}, "subnets": {""}, "move-to-space": {"db 10.0.0.0/24"},
		"offers": {""}, "show-offer": {"store"}, "find-offers": {""},
		"resources": {"web", "web --details", "web/0"}, "pending-resources": {"", "web"},
		"add-unit": {"web --dry-run"}, "add-relation": {"web store --dry-run"}, "destroy-relation": {"web store --dry-run"},
		"set": {"web title=x --dry-run"}, "unset": {"web title --dry-run"}, "trust": {"web --dry-run"}, "bind": {"web db --dry-run"}, "set-application-base": {"web noble --dry-run"}, "resolved": {"web/0 --dry-run"},
		"set-min-units": {"web 2 --dry-run"}, "expose": {"web --dry-run"}, "unexpose": {"web --dry-run"},
		"add-storage": {"web/0 data --dry-run"}, "attach-storage": {"web/0 data/0 --dry-run"}, "detach-storage": {"data/0 --dry-run"},
		"remove-storage": {"data/0 --dry-run"}, "set-model-constraints": {"mem=2G --dry-run"},
		"offer": {"web:db --dry-run"}, "remove-offer": {"web --dry-run"}, "consume": {"bob/shop.db --dry-run"}, "remove-saas": {"db --dry-run"},
		"suspend-relation": {"4 --dry-run"}, "resume-relation": {"4 --dry-run"}, "retry-provisioning": {"1 --dry-run"},
		"add-space": {"db --dry-run"}, "remove-space": {"db --dry-run"}, "rename-space": {"db data --dry-run"}, "reload-spaces": {"--dry-run"},
		"create-storage-pool": {"fast local --dry-run"}, "update-storage-pool": {"fast a=b --dry-run"}, "remove-storage-pool": {"fast --dry-run"},
		"import-filesystem": {"local x data --dry-run"}, "attach-resource": {"web site=testdata/bundle.yaml --dry-run"},
		"disable-command": {"all --dry-run"}, "enable-command": {"all --dry-run"}, "import-ssh-key": {"testdata/alice.pub --dry-run"},
		"remove-ssh-key": {"alice --dry-run"},
		"apply":          {"testdata/bundle.yaml --dry-run"}, "diff": {"testdata/bundle.yaml"},
		"add-machine": {"--dry-run"}, "destroy-unit": {"web/0 --dry-run"}, "destroy-service": {"web --dry-run"},
		"destroy-machine": {"1 --dry-run"}, "destroy-model": {"default --dry-run"}, "set-constraints": {"web mem=2G --dry-run"},
	}
	// They need a controller that can't be played here, a charm, a charm store, and a machine, which scripts test; debug-log prints
	// objects; a key has spaces, and import-ssh-key does the same.
	untried := map[string]bool{"add-ssh-key": true, "dump-db": true, "debug-log": true, "charm-history": true, "deploy": true, "upgrade-charm": true,
		"verify-backup": true, "info": true, "find": true, "charm-resources": true}
	timed := map[string]bool{} // the commands that printed times
	u := newUser(t)
	clitest.NewCheckedController(u)
	for _, cmd := range commands.New(u.Session).Commands() {
		if cmd.Flags().Lookup("format") == nil || untried[cmd.Name()] {
			continue
		}
		if lines[cmd.Name()] == nil {
			t.Errorf("juju %s --format is not tried", cmd.Name())
		}
		for _, args := range lines[cmd.Name()] {
			u.Model.Returns.Config.Settings = map[string]entity.ConfigSetting{"title": {Value: "a: b"}}
			if cmd.Name() == "show-application" || cmd.Name() == "status" {
				u.Model.Returns.Statuses = []*entity.ModelStatus{{At: clitest.SomeTime, Services: []entity.ServiceStatus{{Name: "web",
					Status: entity.Status{Status: entity.StatusActive, Since: clitest.SomeTime}}}}}
			}
			u.Model.Returns.Spaces = []entity.Space{{ID: "1", Name: "db", Subnets: []entity.Subnet{{CIDR: "10.0.0.0/24"}}}}
			u.Model.Returns.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Status: entity.TaskCompleted, Enqueued: clitest.SomeTime,
				Started: clitest.SomeTime, Completed: clitest.SomeTime, Log: []entity.TaskMessage{{At: clitest.SomeTime, Message: "half"}}}}
			u.Model.Returns.Actions = map[string]client.ActionInfo{"go": {Description: "goes"}}
			u.Model.Returns.Secrets = []client.Secret{{SecretInfo: entity.SecretInfo{ID: "a", Created: clitest.SomeTime, Updated: clitest.SomeTime}}}
			u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0", Status: entity.Status{Since: clitest.SomeTime}}}
			u.Model.Returns.Resources = entity.ResourcesOf{Resources: []entity.Resource{{Name: "site", File: &entity.ResourceFile{Size: 1, Uploaded: clitest.SomeTime}}},
				Units: map[string]map[string]entity.ResourceFile{"web/0": {"site": {Size: 1}}}}
			u.Model.Returns.Explain = func() entity.Explanation { return entity.Explanation{Name: "web", Since: clitest.SomeTime} }
			for format, read := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
				line, ok := strings.CutSuffix(args, " FORMAT x")
				words := append([]string{cmd.Name()}, strings.Fields(line)...)
				if words = append(words, "--format", format); ok { // the rest of the line is a command
					words = append(words, "x")
				}
				u.Types(words...)
				var v any
				code := 0
				if cmd.Name() == "diff" {
					code = 1 // there are differences
				}
				if err := read(u.Out.Bytes(), &v); u.Code != code || u.Out.Len() == 0 || err != nil {
					t.Errorf("juju %s %s --format %s: exit code %d, %v\n%s%s", cmd.Name(), args, format, u.Code, err, u.Out.String(),
						u.Err.String())
				}
				if format == "json" {
					timed[cmd.Name()] = checkTimes(t, cmd.Name()+" "+args, v) || timed[cmd.Name()]
				}
			}
		}
	}
	for _, name := range []string{"status", "show-user", "users", "show-task", "run", "show-action-output", "show-action-status",
		"operations", "secrets", "show-secret", "storage", "show-storage", "audit-log", "resources", "explain"} {
		if !timed[name] {
			t.Errorf("juju %s was not seen to print a time", name)
		}
	}
	u.Types("version", "--format", "json")
	u.Sees(0, `"`+commands.Version+"\"\n", "")
	u.Types("version")
	u.Sees(0, commands.Version+"\n", "")
	u.Types("get", "web", "title", "--format", "json")
	u.Sees(0, "\"a: b\"\n", "")
	u.Types("get", "web", "title")
	u.Sees(0, "a: b\n", "")
}

// moment is a time in the format of RFC 3339. clock is what all times have, whatever their format.
var (
	moment = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})(\b| |$)`)
	clock  = regexp.MustCompile(`\b[0-9]{2}:[0-9]{2}\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b| ago$|\b(UTC|GMT)\b`)
)

// checkTimes checks that the times in a JSON document, also those within texts, are in the format of RFC 3339, and reports
// whether there are any.
func checkTimes(t *testing.T, line string, v any) (found bool) {
	t.Helper()
	switch v := v.(type) {
	case string:
		rest := moment.ReplaceAllString(v, "")
		if found = rest != v; clock.MatchString(rest) {
			t.Errorf("juju %s --format json: a time in %q", line, v)
		}
	case map[string]any:
		for _, one := range v {
			found = checkTimes(t, line, one) || found
		}
	case []any:
		for _, one := range v {
			found = checkTimes(t, line, one) || found
		}
	}
	return found
}

// A command without --format has a reason.
func TestCommandsWithoutFormat(t *testing.T) {
	t.Parallel()
	reasons := map[string]string{
		"changes something, and prints only messages": "add-cloud add-credential add-model autoload-credentials bootstrap " +
			"change-user-password default-credential default-region destroy-environment disable-user enable-destroy-controller " +
			"enable-ha enable-user grant grant-secret login logout migrate-store register remove-cloud remove-credential remove-secret remove-user " +
			"restore-backup revoke revoke-secret revoke-token set-credential unregister update-cloud update-credential update-secret " +
			"upgrade-controller upgrade-machine upgrade-model",
		"prints one line, the new secret's URI":          "add-secret",
		"prints a secret, which is for one person":       "add-user create-token dashboard",
		"prints what another program or file has":        "debug-hooks scp ssh ssh-keys",
		"prints text for people or for a shell":          "completion documentation help help-tool",
		"writes a file, and its summary is for people":   "create-backup download",
		"prints a bundle, which is YAML":                 "export-bundle",
		"prints events as they happen, and no document":  "wait-for",
		"is for the programs of this repository, hidden": "keeper",
	}
	without := map[string]bool{}
	for _, names := range reasons {
		for _, name := range strings.Fields(names) {
			without[name] = true
		}
	}
	u := newUser(t)
	for _, cmd := range commands.New(u.Session).Commands() {
		if has := cli.Formats(cmd) != nil; has == without[cmd.Name()] {
			t.Errorf("juju %s: has --format: %v; has a reason to have none: %v", cmd.Name(), has, without[cmd.Name()])
		}
		delete(without, cmd.Name())
	}
	delete(without, "help") // which cobra adds when it runs
	if len(without) > 0 {
		t.Errorf("these are no commands: %v", without)
	}
}
