package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"juju/hooks/tool"
)

// A command is about the relation and the unit that its user names. The unit need not be named if the relation has only
// one.
func TestRelationOfACommand(t *testing.T) {
	t.Parallel()
	relations := testParams(Info{}).Relations
	for _, c := range []struct {
		relation, unit, app string
		force               bool
		want                string
	}{
		{"", "", "", false, ""},
		{"7", "", "", false, "relation-changed 7 mysql/0"},
		{"db:7", "", "", false, "relation-changed 7 mysql/0"},
		{"lb:7", "", "", false, `invalid relation id "lb:7"`},
		{"db", "", "", false, `invalid relation id "db"`},
		{"8", "", "", false, "relation 8 not found"},
		{"0", "", "", false, "ambiguous remote unit; possibilities are [mysql/0 mysql/9 mysql/10]"},
		{"0", "mysql/9", "", false, "relation-changed 0 mysql/9"},
		{"0", "mysql/1", "", false, `unit "mysql/1" is not in relation 0`},
		{"0", "mysql/1", "", true, "relation-changed 0 mysql/1"},
		{"0", "mysql", "", true, `unit "mysql" is not in relation 0`},
		{"0", "mysql/9", "mysql", false, "relation-changed 0 mysql/9"},
		{"0", "", "mysql", false, "relation-changed 0 mysql"},
		{"0", "", "other", false, `service "other" is not in relation 0`},
		{"10", "", "", false, "no remote unit found for relation id: 10"},
		{"10", "", "", true, "relation-changed 10 third"},
	} {
		command := Command{CommandRequest: tool.CommandRequest{Relation: c.relation, RemoteUnit: c.unit,
			RemoteApplication: c.app, ForceRemoteUnit: c.force}}
		info, err := command.Info(relations)
		got := info.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v is about %q, want %q", command.CommandRequest, got, c.want)
		}
	}
}

// The user gets the exit code of a command, or learns why there is none.
func TestOutcomesOfUsersCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for script, want := range map[string]string{
		"true":                     "0, <nil>",
		"exit 3":                   "3, <nil>",
		"kill -KILL $$":            "0, signal: killed",
		"juju-fail it can; exit 3": "0, it can",
	} {
		c := Command{CommandRequest: tool.CommandRequest{Command: script}, Streams: [3]*os.File{null, null, null}}
		params := testParams(Info{})
		params.Task = c.Task()
		hctx, err := NewContext(r.backend, params)
		if err != nil {
			t.Fatal(err)
		}
		err = r.runner.Run(ctx, hctx, r.record)
		var failed *FailedError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		c.Failed(failed)
		if got := fmt.Sprintf("%d, %v", c.Code, c.Err); got != want {
			t.Errorf("%s: the user gets %s, want %s", script, got, want)
		}
	}
}
