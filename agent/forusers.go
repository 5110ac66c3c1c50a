package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"juju/hooks"
)

// The subcommands of unit-agent for users who reach the machine by SSH. Their arguments are the machine's
// directory, the unit, and
const (
	RunDebugHooks   = "debug-hooks"   // the hooks
	RunCharmHistory = "charm-history" // the number of commits, which are printed as JSON
)

// forUsers runs a subcommand for a user on the machine.
func forUsers(ctx context.Context, what, root, unit string, args []string, stdout io.Writer) error {
	if what == RunCharmHistory {
		n, err := strconv.Atoi(strings.Join(args, " "))
		if err != nil {
			return err
		}
		commits, err := CharmHistory(root, unit, n)
		if err != nil {
			return err
		}
		return json.NewEncoder(stdout).Encode(commits)
	}
	d := Debugging{Root: root, Unit: unit, Hooks: args, Shell: hooks.Shell{Terminal: term.IsTerminal(int(os.Stdin.Fd())),
		Term: os.Getenv("TERM"), Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr},
		Note: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	if err := d.Check(); err != nil {
		return err
	}
	return d.Run(ctx)
}
