package hooks

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"juju/charm"
	"juju/state/entity"
)

// The kinds of hooks that are about the unit itself, and about a relation.
var (
	unitKinds = []Kind{Install, LeaderElected, LeaderSettingsChanged, ConfigChanged, Start, UpgradeCharm, UpdateStatus, PreSeriesUpgrade, PostSeriesUpgrade,
		SecretChanged, SecretRemove, SecretRotate, SecretExpired, Stop, Remove}
	relationKinds = []Kind{RelationCreated, RelationJoined, RelationChanged, RelationDeparted, RelationBroken}
)

func TestInfo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		info Info
		name string
		text string
	}{
		{Info{Kind: Install}, "install", "install"},
		{Info{Kind: ConfigChanged}, "config-changed", "config-changed"},
		{Info{Kind: RelationJoined, RelationID: 3, RemoteUnit: "mysql/0"}, "db-relation-joined", "relation-joined 3 mysql/0"},
		{Info{Kind: RelationChanged, RelationID: 3, RemoteApplication: "mysql"}, "db-relation-changed",
			"relation-changed 3 mysql"},
		{Info{Kind: RelationBroken, RelationID: 3}, "db-relation-broken", "relation-broken 3"},
		{SecretHook(entity.SecretEvent{Kind: entity.SecretRemove, ID: "9m4e2mr0ui3e8a215n4g", Revision: 2, Label: "db", OfService: true}),
			"secret-remove", "secret-remove 9m4e2mr0ui3e8a215n4g 2"},
	} {
		if err := test.info.Check(); err != nil {
			t.Errorf("%v: %v", test.info, err)
		}
		if got := test.info.Name("db"); got != test.name {
			t.Errorf("%v has the name %q, want %q", test.info, got, test.name)
		}
		if got := test.info.String(); got != test.text {
			t.Errorf("got %q, want %q", got, test.text)
		}
		// An agent writes it down and reads it again.
		text, err := json.Marshal(test.info)
		var back Info
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != test.info {
			t.Errorf("%s became %v, %v", text, back, err)
		}
	}
	for _, bad := range []Info{
		{},
		{Kind: "install-more"},
		{Kind: Install, RemoteUnit: "mysql/0"},
		{Kind: RelationBroken, RemoteUnit: "mysql/0"},
		{Kind: RelationChanged},
		{Kind: RelationChanged, RemoteUnit: "mysql/0", RemoteApplication: "mysql"},
		{Kind: RelationChanged, RemoteApplication: "mysql/0"},
		{Kind: SecretChanged},
		{Kind: Start, Secret: entity.SecretEvent{Kind: entity.SecretChanged, ID: "9m4e2mr0ui3e8a215n4g"}},
		{Kind: SecretChanged, Secret: entity.SecretEvent{Kind: entity.SecretRemove, ID: "9m4e2mr0ui3e8a215n4g"}},
		{Kind: SecretChanged, Secret: entity.SecretEvent{Kind: entity.SecretChanged, ID: "nonsense"}},
		{Kind: RelationJoined, RemoteApplication: "mysql"},
		{Kind: RelationBroken, RemoteApplication: "mysql"},
		{Kind: RelationDeparted, RemoteUnit: "mysql"},
	} {
		if err := bad.Check(); !errors.Is(err, entity.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, kind := range append(unitKinds, relationKinds...) {
		if kind.IsRelation() != slices.Contains(relationKinds, kind) {
			t.Errorf("%v: IsRelation is %v", kind, kind.IsRelation())
		}
	}
}

func TestNewContextRefuses(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*ContextParams){
		func(p *ContextParams) { p.Unit = "wordpress" },
		func(p *ContextParams) { p.Info.Kind = "nonsense" },
		func(p *ContextParams) { p.Info = Info{Kind: RelationBroken, RelationID: 99} },
	} {
		params := testParams(Info{Kind: Install})
		change(&params)
		if _, err := NewContext(newBackend(), params); !errors.Is(err, entity.Invalid) {
			t.Errorf("%+v: %v", params, err)
		}
	}
}

// The hooks of which charm.Warnings says that they never run are exactly those that no agent
// runs.
func TestCharmWarningsMatchTheHooksThatRun(t *testing.T) {
	t.Parallel()
	warned := func(hook string) bool {
		c := charm.Charm{Meta: &charm.Meta{}, Config: &charm.Config{}, Actions: &charm.Actions{}, Hooks: []string{hook}}
		return len(c.Warnings()) > 0
	}
	for _, hook := range charm.UnitHooks() {
		if runs := slices.Contains(unitKinds, Kind(hook)); runs == warned(hook) {
			t.Errorf("hook %q runs: %v; its charm is warned: %v", hook, runs, !runs)
		}
	}
	for _, kind := range relationKinds {
		if warned("db-" + string(kind)) {
			t.Errorf("hook %q runs, and its charm is warned of it", kind)
		}
	}
}
