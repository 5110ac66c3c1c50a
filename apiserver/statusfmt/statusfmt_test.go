package statusfmt

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"juju/apiserver/display"
	"juju/apiserver/openapi/openapitest"
	"juju/state/entity"
)

var update = flag.Bool("update", false, "write the golden files anew")

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func status(word entity.StatusWord, message string) entity.Status {
	return entity.Status{Status: word, Message: message, Since: at.Add(-time.Hour)}
}

// rich returns a model with one of everything that status shows.
func rich() *entity.ModelStatus {
	failed := status(entity.StatusError, `hook failed: "start"`)
	failed.Data = map[string]any{"hook": "start", "reason": "exit status 7", "last-line": "no space"}
	return &entity.ModelStatus{
		At: at,
		Model: entity.ModelHeader{Name: "default", UUID: "6a2d3f0e-0000-4000-8000-000000000001", Cloud: "local",
			Version: "0.1.0", Commit: "0123456789ab", JujuVersion: entity.JujuVersion,
			Status: status("available", "")},
		Machines: []entity.MachineStatus{
			{ID: "0", Series: "jammy", Status: status(entity.StatusStarted, ""), InstanceID: "i-0",
				InstanceStatus: status("running", "Running"),
				Addresses:      []string{"127.1.0.2", "fd00::2"}, Hardware: "arch=amd64 availability-zone=a cores=2",
				Constraints: "mem=2048M",
				Containers: []entity.MachineStatus{
					{ID: "0/lxd/2", Series: "jammy", Status: status(entity.StatusPending, ""),
						InstanceStatus: status(entity.StatusPending, "waiting for its host")},
					{ID: "0/lxd/10", Series: "jammy", Status: status(entity.StatusPending, ""),
						InstanceStatus: status(entity.StatusPending, "")},
				}},
			{ID: "2", Life: entity.Dying, Series: "trusty",
				Status:     status(entity.StatusDown, "agent is not communicating with the server"),
				InstanceID: "i-2", InstanceStatus: status("running", "Running"), Addresses: []string{"10.0.3.4"}, Manager: true},
			{ID: "10", Series: "linux", Status: status(entity.StatusError, "no more addresses"),
				InstanceStatus: status(entity.StatusPending, "")},
		},
		Services: []entity.ServiceStatus{
			{Name: "logging", CharmURL: "local:jammy/logging-agent-12", Series: "jammy", Subordinate: true,
				SubordinateTo: []string{"web"},
				Status:        status(entity.StatusWaiting, ""), Relations: map[string][]string{"logs": {"web"}}},
			{Name: "riak", Life: entity.Dying, CharmURL: "local:trusty/riak-0", CanUpgradeTo: "local:trusty/riak-4",
				Series: "trusty",
				Status: status(entity.StatusError, `hook failed: "start"`), Relations: map[string][]string{"ring": {"riak"}},
				Units: []entity.UnitStatus{
					{Name: "riak/0", Life: entity.Dying, Machine: "2", Workload: failed,
						Agent:         status(entity.StatusIdle, ""),
						PublicAddress: "10.0.3.4"},
				}},
			{Name: "web", CharmURL: "local:jammy/web-3", Series: "jammy", Exposed: true,
				Status:          status(entity.StatusActive, "serves\x1b[2J\nall"),
				WorkloadVersion: "1.27", Relations: map[string][]string{"logs": {"logging"}, "db": {"riak"}},
				Units: []entity.UnitStatus{
					{Name: "web/2", Machine: "0", Workload: status(entity.StatusActive, "serves all"),
						Agent:  status(entity.StatusExecuting, "running config-changed hook"),
						Leader: true, PublicAddress: "127.1.0.2", CharmURL: "local:jammy/web-2", WorkloadVersion: "1.27",
						OpenedPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}, {From: 443, To: 443, Protocol: "tcp"},
							{From: 8000, To: 8009, Protocol: "tcp"}, {From: 8010, To: 8010, Protocol: "tcp"}},
						Subordinates: []entity.UnitStatus{{Name: "logging/0", Machine: "0",
							Workload: status(entity.StatusWaiting, "für später"),
							Agent:    status(entity.StatusIdle, ""), PublicAddress: "127.1.0.2"}}},
					{Name: "web/10", Workload: status(entity.StatusWaiting, "waiting for machine"),
						Agent: status(entity.StatusAllocating, "")},
					{Name: "web/11", Machine: "10", Workload: status(entity.StatusMaintenance, ""),
						Agent: status(entity.StatusExecuting, "running install hook")},
				}},
		},
		Relations: []entity.RelationStatus{
			{ID: 0, Key: "riak:ring", Interface: "riak", Scope: "global", Status: status("joined", ""),
				Endpoints: []entity.EndpointStatus{{Service: "riak", Name: "ring", Role: "peer"}}},
			{ID: 2, Key: "web:db riak:data", Life: entity.Dying, Interface: "kv", Scope: "global", Status: status("broken", ""),
				Endpoints: []entity.EndpointStatus{{Service: "web", Name: "db", Role: "requirer"},
					{Service: "riak", Name: "data", Role: "provider"}}},
			{ID: 3, Key: "logging:logs web:juju-info", Interface: "juju-info", Scope: "container",
				Status: status("suspended", "for the night"),
				Endpoints: []entity.EndpointStatus{{Service: "logging", Name: "logs", Role: "requirer", Subordinate: true},
					{Service: "web", Name: "juju-info", Role: "provider"}}},
		},
	}
}

// longLink is longer than most terminals are wide.
var longLink = "https://example.com/" + strings.Repeat("long/", 30)

// wordy returns a model whose messages are longer than a terminal is wide.
func wordy() *entity.ModelStatus {
	m := rich()
	m.Services[1].Units[0].Workload.Message = "no database is related to this service: add one with juju add-relation " +
		"riak store, and see " + longLink + " for more"
	m.Services[2].Units[2].Workload = status(entity.StatusMaintenance, "installing charm software")
	return m
}

func narrow(o Options, width int) Options {
	o.Width = width
	return o
}

// No line is wider than the terminal, except one long word. No word is broken or lost, and so whatever a user may type or
// copy is whole: what a line has no room for goes on the next.
func TestTabularFitsTheTerminal(t *testing.T) {
	for width := 40; width < 240; width++ {
		for _, color := range []bool{false, true} {
			var text bytes.Buffer
			if err := Tabular(&text, wordy(),
				Options{Controller: "local", Location: time.UTC, Relations: true, Width: width, Color: color}); err != nil {
				t.Fatal(err)
			}
			plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(text.String(), "")
			for line := range strings.Lines(plain) {
				if strings.TrimSpace(line) == longLink {
					continue
				}
				if n := display.Width(strings.TrimRight(line, "\n")); n > width {
					t.Errorf("at %d columns a line has %d: %s", width, n, line)
				}
			}
			for _, name := range strings.Fields("riak/0 web/2* logging/0 web/10 logging-agent maintenance allocating 10.0.3.4 127.1.0.2 " +
				"0/lxd/10 i-2 ubuntu@22.04 local 80,443,8000-8010/tcp") {
				if !slices.Contains(strings.Fields(plain), name) {
					t.Errorf("at %d columns %q is cut or missing:\n%s", width, name, plain)
				}
			}
			for _, word := range strings.Fields("no database is related to this service: add one with juju add-relation riak " +
				"store, and see " + longLink + " for more (install) installing charm software") {
				if !slices.Contains(strings.Fields(plain), word) {
					t.Errorf("at %d columns %q is missing:\n%s", width, word, plain)
				}
			}
		}
	}
}

// stored returns storage that is attached, and storage that is not.
func stored() []entity.StorageStatus {
	return []entity.StorageStatus{
		{ID: "data/3", Pool: "fast", Size: 2048, Status: status(entity.StatusAttached, ""), Filesystem: "vol-3", Unit: "web/2", Machine: "0", Location: "/srv"},
		{ID: "logs/4", Pool: "rootfs", Size: 10, Life: entity.Dying, Status: status(entity.StatusError, "full"), Persistent: true}}
}

func empty() *entity.ModelStatus {
	return &entity.ModelStatus{At: at, Model: entity.ModelHeader{Name: "default", Cloud: "local", Version: "0.1.0",
		JujuVersion: entity.JujuVersion, Life: entity.Dying, Status: status("destroying", "")}}
}

// elsewhere is not UTC, so that a format that ignores the user's zone fails.
var elsewhere = time.FixedZone("", 2*60*60)

func TestFormats(t *testing.T) {
	options := Options{Controller: "local", Location: elsewhere, Relations: true, Storage: stored()}
	colored := options
	colored.Color, colored.Location = true, time.UTC
	short := options
	short.Relations, short.Storage = false, nil
	for _, test := range []struct {
		golden, format string
		model          *entity.ModelStatus
		options        Options
	}{
		{"tabular", "tabular", rich(), options},
		{"tabular-colored", "tabular", rich(), colored},
		{"tabular-without-relations", "tabular", rich(), short},
		{"tabular-empty", "tabular", empty(), options},
		{"tabular-100", "tabular", wordy(), narrow(short, 100)},
		{"tabular-80", "tabular", wordy(), narrow(short, 80)},
		{"tabular-50", "tabular", wordy(), narrow(short, 50)},
		{"yaml", "yaml", rich(), options},
		{"yaml-empty", "yaml", empty(), options},
		{"json", "json", rich(), options},
		{"oneline", "oneline", rich(), options},
		{"oneline", "short", rich(), options},
		{"oneline", "line", rich(), options},
		{"oneline-colored", "line", rich(), colored},
		{"summary", "summary", rich(), options},
		{"summary-empty", "summary", empty(), options},
	} {
		t.Run(test.golden+" by "+test.format, func(t *testing.T) {
			format, err := Find(test.format)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := format(&got, test.model, test.options); err != nil {
				t.Fatal(err)
			}
			golden(t, test.golden+".golden", got.String())
		})
	}
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("other (+) than %s (-); -update writes it anew:\n%s", path, diff)
	}
}

// YAML and JSON show the same, times aside, which JSON has in one format.
func TestJSONIsYAML(t *testing.T) {
	var j, y bytes.Buffer
	options := Options{Controller: "local", Location: time.UTC}
	if err := errors.Join(JSON(&j, rich(), options), YAML(&y, rich(), options)); err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromYAML any
	if err := errors.Join(json.Unmarshal(j.Bytes(), &fromJSON), yaml.Unmarshal(y.Bytes(), &fromYAML)); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	fromYAML = nil
	if err := json.Unmarshal(again, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if fromJSON = inWords("", fromJSON); !reflect.DeepEqual(fromJSON, fromYAML) {
		t.Error(cmp.Diff(fromJSON, fromYAML))
	}
}

// inWords returns a value of a JSON document with its times as YAML has them.
func inWords(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			v[k] = inWords(k, one)
		}
	case []any:
		for i, one := range v {
			v[i] = inWords("", one)
		}
	case string:
		layout := sinceFormat
		if key == "timestamp" {
			layout = clockFormat
		}
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Format(layout)
		}
	}
	return v
}

func TestUnknownFormat(t *testing.T) {
	_, err := Find("smart")
	if !errors.Is(err, entity.Invalid) || err.Error() != `unknown format "smart"` ||
		!strings.Contains(entity.Hint(err), "tabular, yaml, json") {
		t.Errorf("%v (%s)", err, entity.Hint(err))
	}
	for _, name := range Formats {
		if _, err := Find(name); err != nil {
			t.Error(err)
		}
	}
}

func TestCharmName(t *testing.T) {
	for url, want := range map[string][2]string{
		"local:jammy/web-3": {"web", "3"}, "local:web-page-12": {"web-page", "12"}, "web": {"web", ""},
		"cs:~bob/x/y-z": {"y-z", ""}, "": {},
	} {
		if name, revision := charmName(url); name != want[0] || revision != want[1] {
			t.Errorf("%s: %q %q", url, name, revision)
		}
	}
}

// A full disk is an error.
func TestWriteErrors(t *testing.T) {
	for _, name := range Formats {
		format, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := format(fullDisk{}, rich(), Options{Location: time.UTC}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A unit in error shows that its upgrade is pending.
func TestAnUpgradeThatWaits(t *testing.T) {
	m := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "web", CharmURL: "local:jammy/web-3", Units: []entity.UnitStatus{
		{Name: "web/0", CharmURL: "local:jammy/web-2", Workload: entity.Status{Status: entity.StatusError, Message: "hook failed"}},
		{Name: "web/1", Workload: entity.Status{Status: entity.StatusError, Message: "hook failed"}}}}}}
	var text strings.Builder
	if err := Tabular(&text, m, Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	const want = "hook failed; upgrade pending: see juju explain web/0"
	if n := strings.Count(text.String(), "; upgrade pending"); n != 1 || !strings.Contains(text.String(), want) {
		t.Errorf("got\n%s", text.String())
	}
}

// A unit that an upgrade in batches has not come to keeps its charm, in error or not; one that it has come to, and that is
// lost or in error, holds it up.
func TestAHeldUnitInTheStatus(t *testing.T) {
	failed := entity.Status{Status: entity.StatusError, Message: "hook failed"}
	m := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "web", CharmURL: "local:jammy/web-3", Rollout: &entity.Rollout{Batch: 1},
		Units: []entity.UnitStatus{{Name: "web/0", CharmURL: "local:jammy/web-2", Workload: failed},
			{Name: "web/1", CharmURL: "local:jammy/web-2", Workload: failed, Turned: true},
			{Name: "web/2", Turned: true, Agent: entity.Status{Status: entity.StatusLost}}}}}}
	shows := func(want ...string) {
		t.Helper()
		var text strings.Builder
		err := Tabular(&text, m, Options{Location: time.UTC})
		for _, one := range want {
			if err != nil || !strings.Contains(text.String(), one+"\n") {
				t.Errorf("no %q, %v:\n%s", one, err, text.String())
			}
		}
	}
	shows("hook failed; keeps its charm until its turn", "hook failed; upgrade pending: see juju explain web/1",
		"upgrading 1 at a time: 1 of 3; waits for web/1, which is in error")
	m.Services[0].Units[1] = entity.UnitStatus{Name: "web/1", Turned: true, Life: entity.Dying, Workload: failed}
	shows("upgrading 1 at a time: 2 of 3; waits for web/2, which is lost")
	m.Services[0].Rollout.Stopped = "why"
	shows("hook failed; keeps its charm: the upgrade has stopped")
}

// What stops an agent that is idle stands before what its charm says.
func TestAnIdleAgentThatIsStopped(t *testing.T) {
	m := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0",
		Workload: entity.Status{Status: entity.StatusActive, Message: "it serves"},
		Agent:    entity.Status{Status: entity.StatusIdle, Message: "the disk of machine 0 is full"}}}}}}
	var text strings.Builder
	if err := Tabular(&text, m, Options{Location: time.UTC}); err != nil || !strings.Contains(text.String(), " (the disk of machine 0 is full) it serves\n") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

// A service that is upgraded in batches says how far that is.
func TestARolloutInTheStatus(t *testing.T) {
	m := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "web", CharmURL: "local:jammy/web-3",
		Rollout: &entity.Rollout{Former: "local:jammy/web-2", Batch: 2, Timeout: time.Minute},
		Units:   []entity.UnitStatus{{Name: "web/0", CharmURL: "local:jammy/web-2"}, {Name: "web/1"}, {Name: "web/2"}}}}}
	for want, write := range map[string]func(io.Writer, *entity.ModelStatus, Options) error{
		"upgrading 2 at a time: 2 of 3": Tabular,
		"rollout:\n      current: running\n      former-charm: local:jammy/web-2\n      batch: 2\n      health-timeout: 1m0s\n": YAML,
	} {
		var text strings.Builder
		if err := write(&text, m, Options{Location: time.UTC}); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v\n%s", err, text.String())
		}
	}
}

// A remote service has the names of those it is related to, by its own endpoint, and a service more of each relation.
func TestTheRelationsOfARemoteService(t *testing.T) {
	end := func(service, name, role string) entity.EndpointStatus {
		return entity.EndpointStatus{Service: service, Name: name, Role: role}
	}
	m := &entity.ModelStatus{Services: []entity.ServiceStatus{{Name: "web"}}, Remotes: []entity.RemoteStatus{{Name: "sql"}, {Name: "idle"}},
		Relations: []entity.RelationStatus{
			{Interface: "mysql", Scope: "global", Endpoints: []entity.EndpointStatus{end("web", "store", "requirer"), end("sql", "db", "provider")}},
			{ID: 1, Interface: "mysql", Scope: "global", Endpoints: []entity.EndpointStatus{end("log", "store", "requirer"), end("sql", "db", "provider")}}}}
	var text strings.Builder
	if err := JSON(&text, m, Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	type remote struct{ Relations map[string][]string }
	var got struct {
		Remotes  map[string]remote `json:"application-endpoints"`
		Services map[string]struct {
			Relations map[string][]map[string]string
		} `json:"applications"`
	}
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]remote{"sql": {map[string][]string{"db": {"web", "log"}}}, "idle": {}}
	if web := got.Services["web"].Relations["store"]; !reflect.DeepEqual(got.Remotes, want) || len(web) != 1 || web[0]["related-application"] != "sql" {
		t.Errorf("remote: %v, want %v; of web: %v", got.Remotes, want, web)
	}
}

// The description of the server's HTTP view describes all that a status can have.
func TestJSONIsDescribed(t *testing.T) {
	described, m := openapitest.Load(t), rich()
	for _, rollout := range []*entity.Rollout{nil, {Former: "local:trusty/riak-0", Since: at}, {Reverts: true, Stopped: "riak/0 failed"}} {
		m.Services[0].Rollout = rollout
		var text bytes.Buffer
		if err := JSON(&text, m, Options{Controller: "local", Location: time.UTC, Storage: stored()}); err != nil {
			t.Fatal(err)
		}
		described.Check(t, "ModelStatus", text.Bytes())
	}
}

// What has changed since earlier statuses is marked for a while: its row at the beginning, and with colors each cell. What
// has gone is named.
func TestChangesAreMarked(t *testing.T) {
	model := func(web1 entity.StatusWord, units ...string) *entity.ModelStatus {
		m := &entity.ModelStatus{Model: entity.ModelHeader{Name: "default"}, Services: []entity.ServiceStatus{{Name: "web",
			Status: status(entity.StatusActive, "")}}}
		for _, name := range units {
			u := entity.UnitStatus{Name: name, Workload: status(entity.StatusActive, ""), Agent: status(entity.StatusIdle, "")}
			if name == "web/1" {
				u.Workload = status(web1, "installing the software of this unit, which takes more than a line")
			}
			m.Services[0].Units = append(m.Services[0].Units, u)
		}
		return m
	}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	changes := NewChanges()
	var all bytes.Buffer
	for _, at := range []struct {
		after time.Duration
		m     *entity.ModelStatus
		color bool
	}{
		{0, model(entity.StatusMaintenance, "web/0", "web/1"), false},
		{time.Second, model(entity.StatusMaintenance, "web/0", "web/1"), false},
		{2 * time.Second, model(entity.StatusActive, "web/0", "web/1"), false},
		{2 * time.Second, model(entity.StatusActive, "web/0", "web/1"), true},
		{5 * time.Second, model(entity.StatusActive, "web/1", "web/2"), false},
		{13 * time.Second, model(entity.StatusActive, "web/1", "web/2"), false},
		{25 * time.Second, model(entity.StatusActive, "web/1", "web/2"), false},
	} {
		at.m.At = begun.Add(at.after)
		changes.Next(at.m.At)
		fmt.Fprintf(&all, "after %v, with colors %v:\n", at.after, at.color)
		if err := Tabular(&all, at.m, Options{Location: time.UTC, Width: 60, Changes: changes, Color: at.color}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "gone: %v\n\n", changes.Gone())
	}
	golden(t, "changes.golden", all.String())
}
