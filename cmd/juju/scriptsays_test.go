package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptSays waits until the message of a unit's status matches.
func scriptSays(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) < 2 {
		ts.Fatalf("usage: says UNIT PATTERN...")
	}
	want, lines := strings.Join(args[1:], " "), ""
	line := regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(args[0]) + `\*? .* ` + want + `$`)
	eventuallyOr(ts, fmt.Sprintf("%s says %q", args[0], want), func() bool {
		ts.Check(ts.Exec("juju", "status"))
		lines = ts.ReadFile("stdout")
		return line.MatchString(lines)
	}, func() string {
		ts.Check(ts.Exec("juju", "debug-log", "--replay", "--no-tail"))
		log := strings.Split(ts.ReadFile("stdout"), "\n")
		return lines + "\n" + strings.Join(log[max(0, len(log)-60):], "\n")
	})
}
