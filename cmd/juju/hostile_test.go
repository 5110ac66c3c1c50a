package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
	"juju/cmd/juju/store"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// hostile is what a charm or another user might put into any text: a window title, cursor
// movements, right-to-left overrides, invisible characters, and a line that could pass for
// juju's own.
const hostile = "a\x1b]0;t\x07b\x1b[2J\u009bc\u202ed\u2066e\u200ff\u061cg\u200bh\ufeff" +
	"i\u2028j\u2029k\x7fl\x00m\x85n\xffo\rp\tq\nFORGED"

// hostileJSON are the results of a hostile task.
var hostileJSON = func() json.RawMessage {
	text, err := json.Marshal(map[string]any{hostile: hostile, "stdout": hostile, "stderr": hostile})
	if err != nil {
		panic(err)
	}
	return text
}()

// planted returns a T in which every string is hostile.
func planted[T any]() T { return filled[T](filler{text: hostile}) }

// For every command: text from charms, agents, other users and controllers is escaped before
// it reaches a terminal, and begins no line.
func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	lines := map[string][]string{ // by command
		"status": {"status", "status --color", "status --format oneline", "status --format oneline --color",
			"status --format summary",
			"status --format yaml", "status --format json", "status --relations", "status --storage", "status web"},
		"machines":     {"machines", "machines --format yaml", "machines --format json"},
		"show-machine": {"show-machine", "show-machine --format tabular", "show-machine --format json"},
		"show-status-log": {"show-status-log web/0", "show-status-log web/0 --format yaml",
			"show-status-log web/0 --format json"},
		"debug-log":  {"debug-log -T", "debug-log -T --location --date", "debug-log -T --format json"},
		"explain":    {"explain", "explain --format yaml", "explain --format json"},
		"get":        {"get web", "get web --format json"},
		"config":     {"config web", "config web --format json", "config web a=b", "config web --reset b"},
		"models":     {"models", "models --format yaml", "models --format json"},
		"show-model": {"show-model default", "show-model default --format json"},
		"users":      {"users", "users --format yaml", "users --format json", "users default"},
		"show-user":  {"show-user", "show-user --format json"},
		"disabled-commands": {"disabled-commands", "disabled-commands --format yaml", "disabled-commands --format json",
			"disabled-commands --all",
			"disabled-commands --all --format json"},
		"check":               {"check", "check --format yaml", "check --format json"},
		"whoami":              {"whoami"},
		"tokens":              {"tokens", "tokens --format yaml", "tokens --format json"},
		"create-token":        {"create-token ci"},
		"dashboard":           {"dashboard"},
		"revoke-token":        {"revoke-token ci"},
		"show-controller":     {"show-controller", "show-controller --format json"},
		"audit-log":           {"audit-log", "audit-log --format json"},
		"controllers":         {"controllers --refresh", "controllers --refresh --format yaml", "controllers --refresh --format json"},
		"show-cloud":          {"show-cloud lxd"},
		"regions":             {"regions lxd"},
		"credentials":         {"credentials lxd --format yaml"},
		"show-credential":     {"show-credential lxd default"},
		"update-credential":   {"update-credential lxd default -c prod"},
		"remove-credential":   {"remove-credential lxd default -c prod"},
		"set-credential":      {"set-credential lxd default"},
		"controller-config":   {"controller-config", "controller-config --format json", "controller-config a=b"},
		"model-defaults":      {"model-defaults", "model-defaults --format yaml", "model-defaults http-proxy=x"},
		"enable-ha":           {"enable-ha"},
		"wait-for":            {"wait-for web", "wait-for"},
		"add-unit":            {"add-unit web", "add-unit web --dry-run", "add-unit web --dry-run --format json"},
		"destroy-unit":        {"destroy-unit web/0", "destroy-unit web/0 --force", "destroy-unit web/0 --wait=1ms"},
		"destroy-service":     {"destroy-service web", "destroy-service web --force"},
		"destroy-machine":     {"destroy-machine 0", "destroy-machine 0 --force"},
		"destroy-relation":    {"destroy-relation web store"},
		"destroy-model":       {"destroy-model -y default --force"},
		"add-relation":        {"add-relation web store -v"},
		"offers":              {"offers", "offers --format yaml"},
		"show-offer":          {"show-offer store", "show-offer store --format json"},
		"find-offers":         {"find-offers", "find-offers --format yaml"},
		"offer":               {"offer web:db"},
		"remove-offer":        {"remove-offer store --force"},
		"consume":             {"consume bob/shop.db"},
		"remove-saas":         {"remove-saas db --force"},
		"suspend-relation":    {"suspend-relation 4"},
		"resume-relation":     {"resume-relation 4"},
		"resources":           {"resources web", "resources web --details", "resources web/0 --format yaml"},
		"pending-resources":   {"pending-resources", "pending-resources --format yaml"},
		"attach-resource":     {"attach-resource web site=hostile_test.go"},
		"secrets":             {"secrets", "secrets --format yaml", "secrets --format json"},
		"show-secret":         {"show-secret shop", "show-secret shop --format json", "show-secret shop --revisions", "show-secret shop --reveal"},
		"add-secret":          {"add-secret shop key=x"},
		"update-secret":       {"update-secret shop key=x"},
		"remove-secret":       {"remove-secret shop"},
		"grant-secret":        {"grant-secret shop web"},
		"revoke-secret":       {"revoke-secret shop web"},
		"payloads":            {"payloads", "payloads --format yaml", "payloads --format json"},
		"storage":             {"storage", "storage --format yaml", "storage --format json"},
		"show-storage":        {"show-storage data/0", "show-storage data/0 --format json"},
		"storage-pools":       {"storage-pools", "storage-pools --format yaml"},
		"create-storage-pool": {"create-storage-pool fast local"},
		"update-storage-pool": {"update-storage-pool fast a=b"},
		"remove-storage-pool": {"remove-storage-pool fast"},
		"bind":                {"bind web db"},
		"spaces":              {"spaces", "spaces --short", "spaces --format yaml"},
		"show-space":          {"show-space db"},
		"subnets":             {"subnets"},
		"add-space":           {"add-space db 10.0.0.0/24"},
		"rename-space":        {"rename-space db data"},
		"remove-space":        {"remove-space db"},
		"move-to-space":       {"move-to-space db 10.0.0.0/24", "move-to-space db 10.0.0.0/24 --format tabular"},
		"reload-spaces":       {"reload-spaces"},
		"add-storage":         {"add-storage web/0 data"},
		"import-filesystem":   {"import-filesystem lxd a:b data"},
		"attach-storage":      {"attach-storage web/0 data/0"},
		"detach-storage":      {"detach-storage data/0"},
		"remove-storage":      {"remove-storage data/0 --force"},
		"add-machine":         {"add-machine"},
		"add-model":           {"add-model x"},
		"set":                 {"set web a=b"},
		"unset":               {"unset web a"},
		"constraints":         {"constraints web", "constraints web --format yaml", "constraints web --format json"},
		"model-constraints":   {"model-constraints"},
		"model-config": {"model-config", "model-config --format yaml", "model-config --format json",
			"model-config default-series",
			"model-config default-series=x", "model-config --reset default-series"},
		"set-constraints":       {"set-constraints web mem=1G"},
		"set-model-constraints": {"set-model-constraints mem=1G"},
		"trust":                 {"trust web"},
		"set-application-base":  {"set-application-base web noble"},
		"set-min-units":         {"set-min-units web 1"},
		"expose":                {"expose web"},
		"unexpose":              {"unexpose web"},
		"resolved":              {"resolved web/0", "resolved --all", "resolved 0 --constraints mem=1G"},
		"retry-provisioning":    {"retry-provisioning 0", "retry-provisioning --all"},
		"upgrade-machine":       {"upgrade-machine 0 prepare noble -y --timeout 1ms", "upgrade-machine 0 complete --timeout 1ms"},
		"deploy": {"deploy ../../doc/examples/charms/keyvalue", "deploy testdata/bundle.yaml",
			"deploy testdata/bundle.yaml --dry-run"},
		"actions":            {"actions web", "actions web --schema", "actions web --format json"},
		"show-action":        {"show-action web " + hostile[:1]},
		"run-action":         {"run-action web/0 go", "run-action web/0 go --wait=1ms"},
		"operations":         {"operations", "operations --format yaml"},
		"show-operation":     {"show-operation 1", "show-operation 1 --format json"},
		"show-task":          {"show-task 2", "show-task 2 --format json"},
		"cancel-task":        {"cancel-task 2"},
		"show-action-output": {"show-action-output 2"},
		"show-action-status": {"show-action-status"},
		"run": {"run --unit web/0 --format yaml x", "run --unit web/0 --format json x",
			"run --unit web/0 --background x", "run web/0 go"},
		"exec":                      {"exec --unit web/0 --format yaml x", "exec --unit web/0 --format json x"},
		"show-unit":                 {"show-unit web/0", "show-unit web/0 --format json"},
		"show-application":          {"show-application web"},
		"apply":                     {"apply testdata/bundle.yaml --prune --force", "apply testdata/bundle.yaml --dry-run"},
		"diff":                      {"diff testdata/bundle.yaml", "diff testdata/bundle.yaml --format json"},
		"diff-bundle":               {"diff-bundle testdata/bundle.yaml --annotations"},
		"upgrade-charm":             {"upgrade-charm web --path ../../doc/examples/charms/keyvalue"},
		"upgrade-controller":        {"upgrade-controller", "upgrade-controller --dry-run"},
		"upgrade-model":             {"upgrade-model", "upgrade-model --dry-run"},
		"export-bundle":             {"export-bundle"},
		"ssh":                       {"ssh 0", "ssh web/0"},
		"ssh-keys":                  {"ssh-keys", "ssh-keys --full"},
		"add-ssh-key":               {"add-ssh-key x"},
		"import-ssh-key":            {"import-ssh-key testdata/alice.pub"},
		"remove-ssh-key":            {"remove-ssh-key x"},
		"charm-history":             {"charm-history web/0", "charm-history web/0 --format json"},
		"debug-hooks":               {"debug-hooks web/0", "debug-hooks web/0 start"},
		"scp":                       {"scp 0:x y", "scp web/0:x y"},
		"add-user":                  {"add-user bob"},
		"enable-user":               {"enable-user bob"},
		"disable-user":              {"disable-user bob"},
		"remove-user":               {"remove-user -y bob"},
		"change-user-password":      {"change-user-password bob --reset"},
		"grant":                     {"grant bob read default"},
		"revoke":                    {"revoke bob read default"},
		"disable-command":           {"disable-command all"},
		"enable-command":            {"enable-command all"},
		"enable-destroy-controller": {"enable-destroy-controller"},
		"switch":                    {"switch default", "switch nope"},
	}
	// These commands make no calls, or none that the fakes can answer.
	other := map[string]string{
		"bootstrap": "", "destroy-environment": "", "register": "", "unregister": "", "login": "", "logout": "",
		"info": "encodes as get does", "find": "a list, as resources prints it", "charm-resources": "as well", "download": "names only what is checked",
		"dump-db": "encodes as get does", "create-backup": "", "verify-backup": "see TestHostileBackups", "restore-backup": "as well", "migrate-store": "",
		"clouds": "", "add-cloud": "", "update-cloud": "", "remove-cloud": "", "default-region": "", "default-credential": "",
		"add-credential": "", "autoload-credentials": "",
		"version": "", "help": "", "documentation": "", "completion": "see TestShellsCompleteNames", "help-tool": "", "keeper": "",
	}
	newTestUser := func(t *testing.T) *clitest.User {
		u := newUser(t)
		u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) {
			return filledController{u.Controller, filler{text: hostile}}, nil
		}
		u.Session.AskController = u.Session.ConnectController
		return u
	}
	plant := func(u *clitest.User) {
		f := u.Model
		f.Returns.Statuses, f.Returns.Config, f.Returns.Unit = planted[[]*entity.ModelStatus](), planted[client.ServiceConfig](), planted[client.UnitInfo]()
		f.Returns.Logs, f.Returns.Blocks = planted[[]debuglog.Message](), planted[[]entity.Block]()
		f.Returns.History, f.Returns.Constraints = planted[[]entity.PastStatus](), planted[constraints.Value]()
		f.Returns.ModelConfig = modelconfig.Config{modelconfig.DefaultSeries: planted[modelconfig.Value]()}
		f.Returns.Warnings = planted[[]string]()
		f.Returns.Secrets = append(planted[[]client.Secret](), planted[[]client.Secret]()...)
		f.Returns.Secrets[1].ContentError = errors.New(hostile)
		f.Returns.Payloads = planted[[]entity.UnitPayload]()
		f.Returns.Keys, f.Returns.Fingerprints = planted[[]string](), planted[[]string]()
		f.Returns.Actions = map[string]client.ActionInfo{"a": planted[client.ActionInfo]()}
		f.Returns.Tasks = []entity.Task{planted[entity.Task]()}
		f.Returns.Tasks[0].Params, f.Returns.Tasks[0].Status = hostileJSON, entity.TaskCompleted
		f.Returns.Tasks[0].Results = hostileJSON
		f.Returns.Explain = planted[entity.Explanation]
		f.Returns.Err, f.Returns.Errs, u.Controller.Err = nil, nil, nil
		u.Note(func(c *store.Contents) { // undo what the last command changed
			c.Controllers["prod"].Model = "admin/default"
			c.Controllers["prod"].Models = map[string]string{"admin/default": "d"}
		})
	}
	for _, cmd := range commands.New(newTestUser(t).Session).Commands() {
		if _, ok := other[cmd.Name()]; !ok && len(lines[cmd.Name()]) == 0 {
			t.Errorf("juju %s is not tried", cmd.Name())
		}
	}
	for _, all := range lines {
		for _, line := range all {
			terminals := []bool{false, true}
			if testing.Short() {
				terminals = terminals[rand.IntN(2):][:1]
			}
			for _, terminal := range terminals {
				u := newTestUser(t)
				u.Session.OutTerminal, u.Session.ErrTerminal = terminal, terminal
				try := func(what string) {
					t.Helper()
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					u.TypesUntil(ctx, strings.Fields(line)...)
					for _, printed := range []string{u.Out.String(), u.Err.String()} {
						if bad := unescaped(printed); bad != "" {
							t.Errorf("%s, %s: %s stands raw in\n%q", line, what, bad, printed)
						}
						if strings.HasPrefix(printed, "FORGED") || strings.Contains(printed, "\nFORGED") {
							t.Errorf("%s, %s: a foreign text begins a line of\n%s", line, what, printed)
						}
					}
				}
				plant(u)
				try("hostile answers")
				failure := entity.WithHint(errors.New(hostile), "%s", strings.ReplaceAll(hostile, "\n", ""))
				plant(u)
				u.Model.Returns.Err, u.Controller.Err = failure, failure
				try("a hostile error")
				plant(u)
				u.Model.Returns.Errs = []error{failure}
				try("a hostile outcome")
			}
		}
	}
}

// drawing matches the program's own sequences: colors, and those that draw progress in place.
var drawing = regexp.MustCompile(`\x1b\[((|0|1|2|31|32|33|36|1;31)m|[1-9][0-9]*A|K|J)`)

// unescaped returns what should not be in a printed text, "" if nothing.
func unescaped(printed string) string {
	printed = drawing.ReplaceAllString(printed, "")
	if !utf8.ValidString(printed) {
		return "what is not UTF-8"
	}
	for i, r := range printed {
		if r == '\n' || r == '\t' || r == '\r' && (i == 0 || printed[i-1] != 'o') {
			continue
		}
		if r < ' ' || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return display.Line(string(r))
		}
	}
	return ""
}
