package hooks

import (
	"errors"
	"strings"
	"testing"
)

// A failure is explained by what its author would look for: the error that the charm has logged, or else the last line
// of stderr that is an error and not advice.
func TestCauseOfAFailure(t *testing.T) {
	t.Parallel()
	traceback := `juju-log --log-level ERROR -- 'Uncaught exception while in charm code:
Traceback (most recent call last):
  File "src/charm.py", line 7, in <module>
RuntimeError: no database
'; `
	for _, test := range []struct{ name, script, want string }{
		{"a traceback in the log", traceback + "echo later >&2", "RuntimeError: no database"},
		{"the last error", "juju-log -l ERROR first; juju-log -l CRITICAL second; juju-log third", "second"},
		{"a blank error", "juju-log -l ERROR ' '; echo broken >&2", "broken"},
		{"a warning in the log", "juju-log -l WARNING careful; echo broken >&2", "broken"},
		{"advice in the log", "juju-log -l ERROR \"$(relation-get -r 99 2>&1; relation-get 2>&1)\"", "ERROR no relation id specified"},
		{"advice of a tool", "relation-get host", "ERROR no relation id specified"},
		{"advice of a tool without a context", "env -u JUJU_CONTEXT_ID config-get", "ERROR JUJU_CONTEXT_ID not set"},
		{"advice of another program", "echo \"cp: missing file operand\nTry 'cp --help' for more information.\" >&2",
			"cp: missing file operand"},
		{"nothing but advice", "echo 'Try --help' >&2", "Try --help"},
		{"a mistyped tool", "relaton-get host", "relaton-get: not found; did you mean relation-get or relation-set?"},
		{"the nearest first", "stats-set active", "stats-set: not found; did you mean state-set or status-set or state-get?"},
		{"an unknown program", "no-such-program", "no-such-program: not found"},
		{"a tool that is not on the path", "PATH=/nowhere; config-get", "config-get: not found"},
		{"a file of the charm", `cat "$CHARM_DIR/config-gett" || cat "$CHARM_DIR/lib/x"`, "lib/x: No such file or directory"},
		{"a long line", "printf %0600d >&2", strings.Repeat("0", maxCause) + "…"},
	} {
		r := newRig(t, map[string]string{"start": test.script + "\nexit 1\n"})
		_, err := r.run(Info{Kind: Start})
		var failed *FailedError
		if !errors.As(err, &failed) || !strings.HasSuffix(failed.LastLine, test.want) ||
			strings.Contains(failed.LastLine, r.dir) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	// The log says which relation a message is about; here the name of the hook does.
	r := newRig(t, map[string]string{"db-relation-changed": "juju-log -l ERROR no password; exit 1"})
	_, err := r.run(Info{Kind: RelationChanged, RelationID: 0, RemoteUnit: "mysql/0"})
	if want := `hook "db-relation-changed" failed: exit status 1: no password`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
