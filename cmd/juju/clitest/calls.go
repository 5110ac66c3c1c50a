package clitest

import (
	"slices"
	"strings"
	"testing"
)

// A Call is a command line, the calls to the model that it makes, and what it says on standard error.
type Call struct {
	Line   string
	Asked  []string
	Stderr string
	// Unplanned is set if the command changes nothing, by a call that is not in reads, or has no --dry-run.
	Unplanned bool
}

// CheckCalls has a user of each line type it: it succeeds, and makes the calls, also with -m. What changes the model can be
// planned.
func CheckCalls(t *testing.T, newUser func(*testing.T) *User, calls []Call) {
	t.Helper()
	for _, call := range calls {
		t.Run(call.Line, func(t *testing.T) {
			u := newUser(t)
			u.Types(strings.Fields(call.Line)...)
			u.Asked(call.Asked...)
			if u.Code != 0 || u.Err.String() != call.Stderr {
				t.Errorf("exit code %d, said %q, want %q", u.Code, u.Err.String(), call.Stderr)
			}
			name, rest, _ := strings.Cut(call.Line, " ")
			u = newUser(t)
			u.Types(append([]string{name, "-m", "admin/default"}, strings.Fields(rest)...)...)
			u.Asked(call.Asked...)
			if u.Code != 0 || u.Session.Model == "" {
				t.Errorf("with -m: exit code %d, said %q", u.Code, u.Err.String())
			}
			if call.Unplanned || !slices.ContainsFunc(call.Asked, changes) || strings.Contains(call.Line, "--if-unchanged") {
				return
			}
			u = newUser(t)
			u.Types(append([]string{name, "--dry-run"}, strings.Fields(rest)...)...)
			if u.Code != 0 || u.Model.Closed == 0 {
				t.Errorf("with --dry-run: exit code %d, said %q", u.Code, u.Err.String())
			}
		})
	}
}

// changes reports whether a call changes the model.
func changes(call string) bool {
	name, _, _ := strings.Cut(call, " ")
	return !slices.Contains(reads, name)
}

// reads are the calls that only read.
var reads = strings.Fields("Status Spaces ShowSpace Storage ShowStorage StoragePools Blocks ServiceActions Operations Operation Task " +
	"FindTasks Payloads DebugLog Secrets")

// CheckUsageErrors has a user type each line, by which there is the error: it is refused before any call of the API, with
// exit code 2 and a hint at the command's help.
func CheckUsageErrors(t *testing.T, newUser func(*testing.T) *User, lines map[string]string) {
	t.Helper()
	for line, want := range lines {
		t.Run(line, func(t *testing.T) {
			u := newUser(t)
			u.Types(strings.Fields(line)...)
			u.Asked()
			first, hint, _ := strings.Cut(u.Err.String(), "\n")
			if u.Code != 2 || first != "ERROR "+want {
				t.Errorf("exit code %d, %q, want %q", u.Code, first, want)
			}
			if strings.Count(hint, "\n") != 1 {
				t.Errorf("it hints at %q", hint)
			}
			if u.Out.Len() > 0 {
				t.Errorf("it printed %q", u.Out.String())
			}
		})
	}
}
