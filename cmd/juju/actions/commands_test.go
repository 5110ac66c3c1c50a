package actions_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/actions"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			actions.ActionsCommand(s), actions.ShowActionCommand(s), actions.RunActionCommand(s),
			actions.RunCommand(s), actions.ExecCommand(s), actions.OperationsCommand(s),
			actions.ShowOperationCommand(s), actions.ShowTaskCommand(s), actions.CancelTaskCommand(s),
			actions.ShowActionStatusCommand(s), actions.ShowActionOutputCommand(s),
		}
	})
}

// A single argument is a script; several are the words of one command, which no shell changes.
func TestArgumentsOfCommands(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, line := range [][]string{{"exec", "--unit", "a/0", "--"}, {"run", "--unit", "a/0"}, {"exec", "--machine", "0"}, {"run", "--all", "--"}} {
		for want, args := range map[string][]string{
			`status-set active 'two words' 'c;id' '$HOME' ''`: {"status-set", "active", "two words", "c;id", "$HOME", ""},
			`echo $HOME; id`: {"echo $HOME; id"},
		} {
			u.Model.Calls = nil
			u.Types(slices.Concat(line, args)...)
			var asked client.RunArgs
			_, text, _ := strings.Cut(strings.Join(u.Model.Calls, "\n"), " ")
			if err := json.Unmarshal([]byte(text), &asked); err != nil || asked.Command != want {
				t.Errorf("juju %q %q asks for %s (%v), want %s", line, args, text, err, want)
			}
		}
	}
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	params := filepath.Join(t.TempDir(), "params.yaml")
	clitest.Write(t, params, "all: &all {keep: [1, yes, 'yes']}\na: {<<: *all, b: 1}\n")
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "actions web", Asked: []string{"ServiceActions web"}, Stderr: "No actions defined for web.\n"},
		{Line: "list-actions web --format json", Asked: []string{"ServiceActions web"}},
		{Line: "run-action web/0 web/leader go level=5 a.b=x a.c=2026-01-02 name=yes said='yes'",
			Asked: []string{`EnqueueActions go {"a":{"b":"x","c":"2026-01-02"},"level":5,"name":true,"said":"yes"} [web/0 web/leader]`}},
		{Line: "run-action web/0 go --string-args level=5",
			Asked: []string{`EnqueueActions go {"level":"5"} [web/0]`}},
		{Line: "run-action web/0 go --params " + params + " a.b=2",
			Asked: []string{`EnqueueActions go {"a":{"b":2,"keep":[1,true,"yes"]},"all":{"keep":[1,true,"yes"]}} [web/0]`}},
		{Line: "run --unit web/0,web/leader -a store ls -l",
			Asked: []string{`RunCommand {"Command":"ls -l","Timeout":300000000000,"Units":["web/0","web/leader"],` +
				`"Services":["store"],"Machines":null,"All":false,"Parallel":null,"Group":null}`}, Stderr: "There are no units or machines to run the command on.\n"},
		{Line: "run --unit web/0 -- ls --all -a -h --format=json",
			Asked: []string{`RunCommand {"Command":"ls --all -a -h --format=json","Timeout":300000000000,"Units":["web/0"],` +
				`"Services":null,"Machines":null,"All":false,"Parallel":null,"Group":null}`}, Stderr: "There are no units or machines to run the command on.\n"},
		{Line: "exec --service web --service store --timeout 1m --parallel --execution-group g uptime",
			Asked: []string{`RunCommand {"Command":"uptime","Timeout":60000000000,"Units":null,` +
				`"Services":["web","store"],"Machines":null,"All":false,"Parallel":true,"Group":"g"}`}, Stderr: "There are no units or machines to run the command on.\n"},
		{Line: "operations --apps web --applications store --units web/0 --status failed --limit 5",
			Asked: []string{`Operations {"Services":["store","web"],"Units":["web/0"],"Machines":null,"Actions":null,` +
				`"Statuses":["failed"],"Limit":5}`}, Stderr: "There are more operations; to list them, raise --limit.\n"},
		{Line: "show-operation 1", Asked: []string{"Operation 1"}},
		{Line: "show-task 2", Asked: []string{"Task 2"}},
		{Line: "cancel-task 2 3", Asked: []string{"CancelTasks 2 3"}},
		{Line: "cancel-action 2", Asked: []string{"CancelTasks 2"}},
		{Line: "show-action-status", Asked: []string{"FindTasks"}},
	})
}
