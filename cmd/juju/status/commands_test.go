package status_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/status"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			status.StatusCommand(s), status.ExplainCommand(s), status.ShowStatusLogCommand(s),
			status.DebugLogCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "status web store", Asked: []string{"Status web,store"}, Stderr: "\nModel \"prod:default\" is empty.\n"},
		{Line: "debug-log", Asked: []string{"DebugLog " + query(`"Backlog":10,"NoTail":true`)}},
		{Line: "debug-log --limit 15 --no-tail", Asked: []string{"DebugLog " + query(`"Backlog":15,"Limit":15,"NoTail":true`)}},
		{Line: "debug-log --limit 15 -n 3", Asked: []string{"DebugLog " + query(`"Backlog":3,"Limit":15,"NoTail":true`)}},
		{Line: "debug-log --replay -i web/0 -i store* -x machine-0 --include-module a --exclude-module b -l warning -n 0 " +
			"--limit 5 -T",
			Stderr: "Model \"default\" has no unit or machine \"web/0\". To see what is in the model: juju status\n" +
				"Model \"default\" has no unit or machine \"store*\". To see what is in the model: juju status\n" +
				"Model \"default\" has no unit or machine \"machine-0\". To see what is in the model: juju status\n",
			Asked: []string{"Status",
				`DebugLog {"IncludeEntity":["web/0","store*"],"ExcludeEntity":["machine-0"],"IncludeModule":["a"],` +
					`"ExcludeModule":["b"],` +
					`"Level":"warning","Replay":true,"Backlog":0,"Limit":5,"NoTail":true}`}},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"status --frob":                  `unknown flag: --frob`,
		"status -q -v":                   `--quiet and --verbose are mutually exclusive`,
		"status --logging-config x=LOUD": `invalid --logging-config: unknown severity level "LOUD"`,
		"status --format smart":          `unknown format "smart"`,
		"status --color --no-color":      `--color and --no-color are mutually exclusive`,
		"status --watch 1ms":             `cannot watch at an interval of 1ms: the shortest is 100ms`,
		"status --watch 1s -o f":         `cannot specify --output with --watch`,
		"status --retry-count -1":        `--retry-count must be a positive integer`,
		"debug-log web":                  `unrecognized args: ["web"]`,
		"debug-log --tail --no-tail":     `setting --tail and --no-tail not valid`,
		"debug-log -n -1":                `--lines and --limit must not be negative`,
		"debug-log --replay -n 5":        `--replay shows all existing lines, and --lines the last ones; for the oldest 5: --replay --limit 5`,
		"debug-log -l LOUD": `level value "LOUD" is not one of ["TRACE" "DEBUG" "INFO" ` +
			`"WARNING" "ERROR" "CRITICAL"]`,
	})
}

// query returns a log query with the given fields.
func query(fields string) string {
	text := `{"IncludeEntity":null,"ExcludeEntity":null,"IncludeModule":null,"ExcludeModule":null,"Level":"",` +
		`"Replay":false,` +
		`"Backlog":0,"Limit":0,"NoTail":false}`
	for _, field := range strings.Split(fields, ",") {
		key, _, _ := strings.Cut(field, ":")
		i := strings.Index(text, key)
		j := i + strings.IndexAny(text[i:], ",}")
		text = text[:i] + field + text[j:]
	}
	return text
}
