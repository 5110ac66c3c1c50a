package localstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/agent/host/process"
	"juju/hooks"
	"juju/state/entity"
)

func TestFileRemembersEverything(t *testing.T) {
	full := State{
		Charm: "local:web-1", Endpoints: []string{"db"},
		Installed: true, Started: true, Stopped: true, Removed: true, UpgradePending: true, ConfigPending: true,
		Config: Config{Version: 7, PrivateAddress: "10.0.0.1", PublicAddress: "8.8.8.8"},
		Turn:   12, Turns: map[Source]int64{OfTasks: 11},
		Relations: map[int]Relation{0: {Members: map[string]int64{"mysql/0": 3}, ChangedPending: "mysql/0", Broken: true,
			Turns: map[string]int64{"mysql/0": 12}},
			1: {CreatedPending: true}},
		Op: &Op{
			Kind: RunHook, Step: Done, Charm: "local:web-2", After: &Op{Kind: RunHook, Step: Failed},
			Hook: hooks.Info{Kind: hooks.RelationChanged, RelationID: 4, RemoteUnit: "mysql/0", ChangeVersion: 9},
			Name: "db-relation-changed", Process: &hooks.Process{Identity: process.Identity{PID: 7, Start: 8, Boot: "b"}},
			Config: Config{Version: 8},
			Changes: entity.HookChanges{
				Relations:  map[int]map[string]string{4: {"a": "b", "gone": ""}},
				OpenPorts:  []entity.PortRange{{From: 80, To: 81, Protocol: "tcp"}},
				ClosePorts: []entity.PortRange{{From: -1, To: -1, Protocol: "icmp"}},
			},
			Resolved: true, Reason: "exit status 1",
			Workload: &entity.Status{Status: entity.StatusActive, Message: "serving",
				Since: time.Date(2013, 6, 7, 8, 9, 10, 0, time.UTC)},
		},
	}
	path := filepath.Join(t.TempDir(), "state")
	for _, want := range []State{{}, full, {Charm: "local:web-1"}} {
		if err := Open(path).Write(want); err != nil {
			t.Fatal(err)
		}
		got, err := Open(path).Read()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the file remembers something else (-want +got):\n%s", diff)
		}
	}
}

func TestNewUnit(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "state")).Read()
	if diff := cmp.Diff(State{}, s); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A file that can't be parsed is not taken for a missing one: install would run again.
func TestUnparsableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, content := range []string{"", "{", `{"installed": "yes"}`, `{"reboot-pending": true}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path).Read(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: got %v, want an error that names the file", content, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path).Read(); err == nil {
		t.Error("no error for a directory")
	}
}

func TestFileIsWrittenOnlyWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f := Open(path)
	content := func() string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := f.Write(State{Charm: "local:web-1"}); err != nil {
		t.Fatal(err)
	}
	before := content()
	if err := f.Write(State{Charm: "local:web-1"}); err != nil {
		t.Fatal(err)
	}
	if content() != before {
		t.Error("the same state was written again")
	}
	if err := f.Write(State{Charm: "local:web-2"}); err != nil {
		t.Fatal(err)
	}
	if content() == before {
		t.Error("another state was not written")
	}
}

// The file of an earlier version holds nothing but the state.
func TestFileOfAnEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte(`{"charm": "local:web-1", "config": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Open(path)
	s, err := f.Read()
	if err != nil || s.Charm != "local:web-1" {
		t.Fatalf("read %+v, %v", s, err)
	}
	if err := f.Write(State{Charm: "local:web-2"}); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path).Read(); err != nil || s.Charm != "local:web-2" {
		t.Errorf("read %+v, %v", s, err)
	}
}

// A change of one State must not change another that it was made from.
func TestStatesDoNotShare(t *testing.T) {
	joined := hooks.Info{Kind: hooks.RelationJoined, RelationID: 1, RemoteUnit: "mysql/0", ChangeVersion: 3}
	before := State{}.Ran(Op{Hook: joined})
	changed := joined
	changed.Kind, changed.ChangeVersion = hooks.RelationChanged, 4
	after := before.Ran(Op{Hook: changed})
	if want := (Relation{Members: map[string]int64{"mysql/0": 3},
		ChangedPending: "mysql/0", Turns: map[string]int64{"mysql/0": 1}}); !cmp.Equal(before.Relations[1], want) {
		t.Errorf("the older state says %+v", before.Relations[1])
	}
	if want := (Relation{Members: map[string]int64{"mysql/0": 4}, Turns: map[string]int64{"mysql/0": 2}}); !cmp.Equal(after.Relations[1], want) {
		t.Errorf("the newer state says %+v", after.Relations[1])
	}
	after.Without(1)
	if len(after.Relations) != 1 {
		t.Error("a relation was forgotten by a state that did not forget it")
	}
}
