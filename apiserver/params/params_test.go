package params_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/params"
	"juju/state/entity"
)

// overWire writes v as JSON and reads it back.
func overWire[T any](t *testing.T, v T) (out T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("cannot read %s: %v", text, err)
	}
	return out
}

// Every kind of error arrives at a client with its text and hint.
func TestErrorsBothWays(t *testing.T) {
	for _, kind := range entity.Kinds() {
		err := fmt.Errorf("cannot do it: %w", entity.Errorf(kind, "service %q is odd", "mysql"))
		err = entity.WithHint(err, "run 'juju status'")
		got := params.FromError(overWire(t, params.ToError(err)))
		if !errors.Is(got, kind) || entity.KindOf(got) != kind {
			t.Errorf("%v came back as %v", kind, entity.KindOf(got))
		}
		if got.Error() != err.Error() || entity.Hint(got) != entity.Hint(err) {
			t.Errorf("%q with hint %q came back as %q with hint %q", err, entity.Hint(err), got, entity.Hint(got))
		}
	}
}

// An error without a kind may have secrets of the store, and is hidden from clients.
func TestInternalErrorsAreMasked(t *testing.T) {
	e := params.ToError(errors.New("mongo: password=hunter2"))
	if e.Message != params.Internal || e.Code != "" || e.Info != nil {
		t.Errorf("the wire says %+v", e)
	}
	if got := params.FromError(e); entity.KindOf(got) != "" {
		t.Errorf("an internal error came back as %v", entity.KindOf(got))
	}
	if params.ToError(nil) != nil || params.FromError(nil) != nil {
		t.Error("no error became one")
	}
}

func TestTags(t *testing.T) {
	for _, test := range []struct {
		tag  entity.Tag
		wire string
	}{
		{entity.ServiceTag("my-sql"), "application-my-sql"},
		{entity.UnitTag("my-sql/10"), "unit-my-sql-10"},
		{entity.MachineTag("0/lxd/1"), "machine-0-lxd-1"},
		{entity.RelationTag("wordpress:db mysql:server"), "relation-wordpress.db#mysql.server"},
		{entity.UserTag("admin"), "user-admin"},
		{entity.Tag{}, ""},
	} {
		if got := params.TagOf(test.tag).String(); got != test.wire {
			t.Errorf("%v is written %q, want %q", test.tag, got, test.wire)
		}
		if got := overWire(t, params.TagOf(test.tag)); got.Tag != test.tag {
			t.Errorf("%q is read as %v", test.wire, got.Tag)
		}
	}
	for wire, want := range map[string]entity.Tag{
		"service-mysql":    entity.ServiceTag("mysql"),
		"user-admin@local": entity.UserTag("admin"),
	} {
		if got, err := params.ParseTag(wire); err != nil || got != want {
			t.Errorf("%q is read as %v, %v", wire, got, err)
		}
	}
	for _, bad := range []string{"mysql", "application-", "application-My", "unit-mysql", "machine-x", "user-a@far"} {
		if _, err := params.ParseTag(bad); !errors.Is(err, entity.Invalid) {
			t.Errorf("%q: error %v, want Invalid", bad, err)
		}
	}
}

func TestPlacements(t *testing.T) {
	for text, want := range map[string]params.Placement{
		"3":       {Scope: "#", Directive: "3"},
		"0/lxd/1": {Scope: "#", Directive: "0/lxd/1"},
		"lxd":     {Scope: "lxd"},
		"lxd:3":   {Scope: "lxd", Directive: "3"},
		"new":     {Scope: "new"},
		"zone=a":  {Directive: "zone=a"},
		"m:0":     {Scope: "m", Directive: "0"},
		"ssh:a@b": {Scope: "ssh", Directive: "a@b"},
	} {
		at, err := entity.ParsePlacement("placement", text)
		if err != nil {
			t.Fatal(err)
		}
		p := params.PlacementOf(at)
		if *p != want {
			t.Errorf("%q is %+v on the wire", text, *p)
		}
		if text == "m:0" {
			at = entity.Placement{Directive: "0"}
		}
		if back, err := p.Read("m"); back != at || err != nil {
			t.Errorf("%+v is read as %+v (%v)", *p, back, err)
		}
	}
	if p := params.PlacementOf(entity.Placement{}); p != nil {
		t.Errorf("no placement became %+v", p)
	}
	if at, err := (*params.Placement)(nil).Read("m"); at != (entity.Placement{}) || err != nil {
		t.Errorf("no placement is read as %+v (%v)", at, err)
	}
	for want, wire := range map[string]params.Placement{
		`invalid placement "a:1": "a" is neither this model nor a type of container`: {Scope: "a", Directive: "1"},
		`invalid placement "1:2"`:                                {Scope: "1", Directive: "2"},
		`invalid placement ""`:                                   {},
		`invalid value "x" for "lxd" scope: expected machine-id`: {Scope: "lxd", Directive: "x"},
	} {
		if _, err := wire.Read("m"); !errors.Is(err, entity.Invalid) || err.Error() != want {
			t.Errorf("%+v: error %v, want %s", wire, err, want)
		}
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	want := params.Values{"i": int64(5), "f": 5.0, "g": 1e30, "s": "5", "b": true, "n": nil, "big": int64(1) << 62}
	if diff := cmp.Diff(want, overWire(t, want)); diff != "" {
		t.Error(diff)
	}
}

// A reply has either the key "error" or the key "response": clients tell them apart by that.
func TestFrames(t *testing.T) {
	for _, result := range []any{nil, struct{}{}, map[string]int{"a": 1}, ""} {
		text, err := params.EncodeSuccess(7, result, params.Trace{})
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]any{}
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		if _, ok := keys["response"]; !ok || keys["error"] != nil || keys["request-id"] != 7.0 {
			t.Errorf("success is written %s", text)
		}
	}
	text, err := params.EncodeFailure(7, &params.Error{Code: string(entity.NotFound)})
	if err != nil {
		t.Fatal(err)
	}
	var r params.Response
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"error":"`) || !strings.Contains(string(text), `"response":{}`) {
		t.Errorf("failure is written %s", text)
	}
	if !errors.Is(r.Err(), entity.NotFound) {
		t.Errorf("failure is read as %v", r.Err())
	}
}

// A model's status arrives at a client complete. The sample must set every field, which the
// test checks, so that no new one is forgotten.
func TestStatusBothWays(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	status := func(word entity.StatusWord) entity.Status {
		return entity.Status{Status: word, Message: string(word) + "!", Data: map[string]any{"hook": "x"}, Since: at}
	}
	want := &entity.ModelStatus{
		Model: entity.ModelHeader{Name: "m", UUID: "u", Controller: true, Life: entity.Dying, Cloud: "local",
			Version: "1.2.3", JujuVersion: entity.JujuVersion, Status: status("available")},
		Machines: []entity.MachineStatus{{
			ID: "2", Life: entity.Dying, Series: "jammy", Status: status(entity.StatusStarted), InstanceID: "i-2",
			InstanceStatus: status("running"), Modification: status(entity.StatusApplied), Addresses: []string{"127.1.2.3", "::1"}, Hardware: "arch=amd64", SSH: "root@db",
			AgentVersion: "0.2.0", AgentCommit: "0123456789ab",
			Upgrade:     &entity.SeriesUpgrade{To: "noble", Completing: true, Since: at, Waiting: []string{"web/0"}},
			Constraints: "mem=1M", Manager: true,
			Containers: []entity.MachineStatus{{ID: "2/lxd/0", Series: "jammy"}},
		}, {ID: "10", Series: "oddos"}},
		Remotes: []entity.RemoteStatus{{Name: "db", Life: entity.Dying, URL: "bob/shop.db", Status: status(entity.StatusActive),
			Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "kv"}}, Relations: map[string][]string{"server": {"web"}}}},
		Offers: []entity.OfferStatus{{Name: "hosted", Life: entity.Dying, Service: "web", CharmURL: "local:jammy/web-1", Active: 1, Total: 2,
			Endpoints: []entity.RemoteEndpoint{{Name: "www", Role: "provider", Interface: "http"}}}},
		Services: []entity.ServiceStatus{{
			Name: "web", Life: entity.Dying, CharmURL: "local:jammy/web-1", Channel: "2/edge", CharmVersion: "v1-12", CanUpgradeTo: "local:jammy/web-2", Series: "jammy",
			Exposed: true, Endpoints: entity.ExposedEndpoints{"db": {Spaces: []string{"alpha"}, CIDRs: []string{"10.0.0.0/8"}}},
			Subordinate: true, SubordinateTo: []string{"a", "b"}, MinUnits: 3, Bindings: map[string]string{"": "alpha", "db": "dmz"},
			Rollout:         &entity.Rollout{Former: "local:jammy/web-0", Reverts: true, Batch: 2, Timeout: time.Minute, Since: at, Stopped: "no"},
			Status:          status(entity.StatusActive),
			WorkloadVersion: "9", Relations: map[string][]string{"db": {"store"}},
			Units: []entity.UnitStatus{{
				Name: "web/2", Life: entity.Dead, Machine: "2", CharmURL: "local:jammy/web-0",
				Workload: status(entity.StatusError), Agent: status(entity.StatusIdle), Leader: true, Strength: entity.Lenient,
				Turned: true, Resolved: entity.ResolvedRetry, PublicAddress: "127.1.2.3",
				OpenedPorts:     []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}, {From: -1, To: -1, Protocol: "icmp"}},
				WorkloadVersion: "8", AgentVersion: "0.1.0", AgentCommit: "0123456789ab",
				Subordinates: []entity.UnitStatus{{Name: "log/0", Machine: "2"}},
			}, {Name: "web/10"}},
		}},
		Relations: []entity.RelationStatus{{
			ID: 3, Key: "web:db store:db", Life: entity.Dying, Interface: "kv", Scope: "global", Status: status("joined"),
			Endpoints: []entity.EndpointStatus{{Service: "web", Name: "db", Role: "requirer", Subordinate: true}},
		}},
		Unmatched: []string{"none"},
		At:        at,
	}
	for _, v := range []any{*want, want.Machines[0], want.Services[0], want.Services[0].Units[0], want.Relations[0]} {
		rv := reflect.ValueOf(v)
		for i := range rv.NumField() {
			if rv.Field(i).IsZero() {
				t.Errorf("the sample leaves %T.%s empty", v, rv.Type().Field(i).Name)
			}
		}
	}
	got, err := overWire(t, params.FullStatusOf(want)).ModelStatus()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Clients iterate over these without a check.
func TestEmptyStatusHasNoNulls(t *testing.T) {
	text, err := json.Marshal(params.FullStatusOf(&entity.ModelStatus{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"machines", "applications", "relations", "offers", "remote-applications", "branches"} {
		if strings.Contains(string(text), `"`+key+`":null`) {
			t.Errorf("%s is null in %s", key, text)
		}
	}
}

func TestInvalidMaxWait(t *testing.T) {
	for _, d := range []time.Duration{-1, entity.MaxTimeout + 1, math.MaxInt64} {
		if how, err := (params.Destruction{Force: true, MaxWait: &d}).Read(); !errors.Is(err, entity.Invalid) {
			t.Errorf("%v: got %+v, %v", d, how, err)
		}
	}
	longest := entity.MaxTimeout
	if how, err := (params.Destruction{Force: true, MaxWait: &longest}).Read(); err != nil || how.Timeout != longest {
		t.Errorf("%v: got %+v, %v", longest, how, err)
	}
}
