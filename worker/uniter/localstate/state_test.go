package localstate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
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
	for _, restarted := range []bool{false, true} {
		if restarted {
			f = Open(path)
			if _, err := f.Read(); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Write(State{Charm: "local:web-1"}); err != nil {
			t.Fatal(err)
		}
		if content() != before {
			t.Errorf("the same state was written again; restarted: %v", restarted)
		}
	}
	if err := f.Write(State{Charm: "local:web-2"}); err != nil {
		t.Fatal(err)
	}
	if content() == before {
		t.Error("another state was not written")
	}
	// After a write that has failed, the file may hold anything.
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(State{Charm: "local:web-3"}); err == nil {
		t.Error("a directory was written")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(State{Charm: "local:web-2"}); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path).Read(); err != nil || s.Charm != "local:web-2" {
		t.Errorf("read %+v, %v", s, err)
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

// TestWhatAUnitRemembers is the life of a unit: what each event changes in its state, as the file shows it. It changes
// nothing in the state before, which may still be used.
func TestWhatAUnitRemembers(t *testing.T) {
	ran := func(kind hooks.Kind, version int64) func(State) State {
		return func(s State) State { return s.Ran(Op{Hook: hooks.Info{Kind: kind, ChangeVersion: version}}) }
	}
	storage := func(kind hooks.Kind) func(State) State {
		return func(s State) State { return s.Ran(Op{Hook: hooks.Info{Kind: kind, Storage: "data/0"}}) }
	}
	relation := func(kind hooks.Kind, unit string, version int64) func(State) State {
		return func(s State) State {
			return s.Ran(Op{Hook: hooks.Info{Kind: kind, RelationID: 1, RemoteUnit: unit, RemoteApplication: "mysql",
				ChangeVersion: version}})
		}
	}
	failed := (&Op{Hook: hooks.Info{Kind: hooks.Stop}}).FailedWith("exit status 1")
	var s State
	for _, event := range []struct {
		what    string
		happens func(State) State
		changes string
	}{
		{"deploy", func(s State) State { return s.With(&Op{Kind: DeployCharm}).Deployed("local:web-1", nil) },
			`charm="local:web-1"`},
		{"install", ran(hooks.Install, 4),
			`config-pending=true installed=true resources=4 turn=1 turns={"settings":1}`},
		{"leader-elected", ran(hooks.LeaderElected, 3), `leader-epoch=3 turn=2 turns={"leader":2,"settings":1}`},
		{"config-changed", func(s State) State {
			return s.Ran(Op{Hook: hooks.Info{Kind: hooks.ConfigChanged}, Config: Config{Version: 7, PrivateAddress: "10.0.0.1"}})
		}, `config-pending- config={"version":7,"private-address":"10.0.0.1"} turn=3 turns={"leader":2,"settings":3}`},
		{"start", func(s State) State { return s.Ran(Op{Hook: hooks.Info{Kind: hooks.Start}, Boot: "b1", Reboot: "b1"}) },
			`boot="b1" reboot="b1" started=true turn=4 turns={"leader":2,"settings":4}`},
		{"update-status", ran(hooks.UpdateStatus, 0), `turn=5 turns={"leader":2,"settings":4,"time":5}`},
		{"leader-settings-changed", ran(hooks.LeaderSettingsChanged, 0),
			`leader-settings=0 turn=6 turns={"leader":6,"settings":4,"time":5}`},
		{"entering", func(s State) State { return s.Entering(1) }, `relations={"1":{"created-pending":true}}`},
		{"created", relation(hooks.RelationCreated, "", 0), `relations={"1":{"turns":{"mysql":7}}} turn=7`},
		{"joined", relation(hooks.RelationJoined, "mysql/0", 3),
			`relations={"1":{"members":{"mysql/0":3},"changed-pending":"mysql/0","turns":{"mysql":7,"mysql/0":8}}} turn=8`},
		{"changed", relation(hooks.RelationChanged, "mysql/0", 4),
			`relations={"1":{"members":{"mysql/0":4},"turns":{"mysql":7,"mysql/0":9}}} turn=9`},
		{"the other service changed", relation(hooks.RelationChanged, "", 2),
			`relations={"1":{"members":{"mysql/0":4},"application":2,"turns":{"mysql":10,"mysql/0":9}}} turn=10`},
		{"departed", relation(hooks.RelationDeparted, "mysql/0", 0),
			`relations={"1":{"application":2,"turns":{"mysql":10}}} turn=11`},
		{"broken", relation(hooks.RelationBroken, "", 0),
			`relations={"1":{"application":2,"broken":true,"turns":{"mysql":12}}} turn=12`},
		{"left", func(s State) State { return s.Without(1) }, `relations-`},
		{"attached", storage(hooks.StorageAttached),
			`storage={"data/0":"attached"} turn=13 turns={"leader":6,"settings":4,"storage":13,"time":5}`},
		{"more storage", func(s State) State {
			return s.Ran(Op{Hook: hooks.Info{Kind: hooks.StorageAttached, Storage: "log/1"}})
		}, `storage={"data/0":"attached","log/1":"attached"} turn=14 turns={"leader":6,"settings":4,"storage":14,"time":5}`},
		{"detaching", storage(hooks.StorageDetaching), `storage={"data/0":"detaching","log/1":"attached"} turn=15 ` +
			`turns={"leader":6,"settings":4,"storage":15,"time":5}`},
		{"detached", func(s State) State { return s.WithoutStorage("data/0") }, `storage={"log/1":"attached"}`},
		{"upgrade", func(s State) State { return s.Deployed("local:web-2", nil) }, `charm="local:web-2" upgrade-pending=true`},
		{"upgraded again, for a failed hook", func(s State) State { return s.Deployed("local:web-3", &Op{Kind: RunHook}) },
			`charm="local:web-3" op={"kind":"run-hook","step":""}`},
		{"upgrade-charm", ran(hooks.UpgradeCharm, 5), `config-pending=true op- resources=5 turn=16 ` +
			`turns={"leader":6,"settings":16,"storage":15,"time":5} upgrade-pending-`},
		{"and once more", func(s State) State { return s.Deployed("local:web-4", &Op{Kind: RunHook}) },
			`charm="local:web-4" op={"kind":"run-hook","step":""}`},
		{"a task is over", func(s State) State { return s.With(&Op{Kind: RunTask, Task: "12", After: failed}).AfterTask() },
			`op={"kind":"run-hook","step":"failed","hook":{"kind":"stop"},"reason":"exit status 1"} turn=17 ` +
				`turns={"leader":6,"settings":16,"storage":15,"tasks":17,"time":5}`},
		{"a command is over", func(s State) State { return s.With(&Op{Kind: RunTask}).AfterTask() },
			`op- turn=18 turns={"commands":18,"leader":6,"settings":16,"storage":15,"tasks":17,"time":5}`},
		{"stop", ran(hooks.Stop, 0),
			`stopped=true turn=19 turns={"commands":18,"leader":6,"settings":19,"storage":15,"tasks":17,"time":5}`},
		{"remove", ran(hooks.Remove, 0),
			`removed=true turn=20 turns={"commands":18,"leader":6,"settings":20,"storage":15,"tasks":17,"time":5}`},
	} {
		before := fields(t, s)
		next := event.happens(s)
		if got := changes(before, fields(t, next)); got != event.changes {
			t.Errorf("%s changed\n%s\nwant\n%s", event.what, got, event.changes)
		}
		if got := changes(before, fields(t, s)); got != "" {
			t.Errorf("%s changed in the state before: %s", event.what, got)
		}
		s = next
	}
}

// fields returns what the file shows of a state.
func fields(t *testing.T, s State) map[string]json.RawMessage {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// changes returns what has changed in fields: "started=true", "op-".
func changes(before, after map[string]json.RawMessage) string {
	var all []string
	for key, value := range after {
		if string(before[key]) != string(value) {
			all = append(all, key+"="+string(value))
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			all = append(all, key+"-")
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A failed hook and a failed upgrade await resolution; a hook in progress does not.
func TestWhatAwaitsResolution(t *testing.T) {
	hook := Op{Kind: RunHook, Step: Pending}
	for _, c := range []struct {
		op             *Op
		failed, ofHook bool
	}{
		{nil, false, false},
		{&hook, false, false},
		{hook.Again(), false, false},
		{hook.FailedWith("exit status 1"), true, true},
		{(&Op{}).ConflictsWith(errors.New("a file is in the way")), true, false},
	} {
		s := State{Op: c.op}
		if failed, ofHook := s.Failed() != nil, s.FailedHook() != nil; failed != c.failed || ofHook != c.ofHook {
			t.Errorf("%+v: failed is %v, of a hook %v", c.op, failed, ofHook)
		}
	}
}
