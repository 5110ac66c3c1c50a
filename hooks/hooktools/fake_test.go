package hooktools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/loggo"

	"juju/charm"
	"juju/state/entity"
)

// A fakeContext is a hook of unit wordpress/0. It notes what tools change, and reads the same from then on as before.
type fakeContext struct {
	kind     string // of the hook, "relation-changed"; "action" for an action
	relation int    // of the hook, -1 for none
	remote   string // unit of the hook
	storage  string // of the hook

	unit      entity.UnitInfo
	egress    []string
	follows   bool // the unit does not lead
	untrusted bool
	down      error // of whatever asks the controller
	calls     []string
}

type fakeRelation struct {
	name, service string
	members       []string
	settings      map[string]map[string]string
}

var fakeRelations = map[int]fakeRelation{
	0: {"db", "mysql", []string{"mysql/0", "mysql/9", "mysql/10"}, map[string]map[string]string{
		"mysql/0": {"host": "10.0.0.2", "password": `a "b": <c>`}, "mysql/9": {}, "mysql": {"name": "shop"},
		"wordpress/0": {"private-address": "10.0.0.7", "user": "wp"}, "wordpress": {"url": "/"}}},
	3:  {"loadbalancer", "wordpress", []string{"wordpress/1"}, nil},
	7:  {"db", "other", []string{"mysql/0"}, map[string]map[string]string{"mysql/0": {"host": "10.0.0.99"}}},
	10: {"db", "third", nil, nil},
}

const fakeMeta = `
name: wordpress
summary: s
description: d
requires: {db: mysql}
peers: {loadbalancer: lb}
extra-bindings: {admin: }
payloads: {monitor: {type: docker}, worker: {type: kvm}}
storage: {data: {type: filesystem}, cache: {type: filesystem, multiple: {range: 0+}}}
`

// newFake returns the context of a hook, given as "relation-changed 0 mysql/0", "storage-attached data/0" or "action".
func newFake(hook []string) *fakeContext {
	f := &fakeContext{kind: hook[0], relation: -1, unit: entity.UnitInfo{Name: "wordpress/0", PrivateAddress: "10.0.0.7"}}
	switch {
	case strings.HasPrefix(f.kind, "storage-"):
		f.storage = hook[1]
	case len(hook) > 1:
		f.relation, _ = strconv.Atoi(hook[1])
	}
	if len(hook) > 2 && entity.IsValidUnit(hook[2]) {
		f.remote = hook[2]
	}
	return f
}

func (f *fakeContext) note(call string, args ...any) error {
	f.calls = append(f.calls, strings.TrimSpace(call+" "+strings.TrimSuffix(fmt.Sprintln(args...), "\n")))
	return f.down
}

func (f *fakeContext) HookName() string                      { return f.kind }
func (f *fakeContext) Log(level loggo.Level, message string) { _ = f.note("Log", level, message) }
func (f *fakeContext) Warn(message string)                   { _ = f.note("Warn", message) }
func (f *fakeContext) Fail(message string)                   { _ = f.note("Fail", message) }
func (f *fakeContext) UnitName() string                      { return f.unit.Name }
func (f *fakeContext) HookRelation() (id int, ok bool)       { return max(f.relation, 0), f.relation >= 0 }
func (f *fakeContext) RemoteUnit() string                    { return f.remote }
func (f *fakeContext) HookStorage() string                   { return f.storage }
func (f *fakeContext) RelationMembers(id int) []string       { return fakeRelations[id].members }
func (f *fakeContext) RelationService(id int) string         { return fakeRelations[id].service }
func (f *fakeContext) RelationModel(id int) string {
	return fmt.Sprint("model of ", fakeRelations[id].service)
}
func (f *fakeContext) IsLeader(context.Context) (bool, error) { return !f.follows, f.down }
func (f *fakeContext) AddStorage(counts map[string]uint64) error {
	return f.note("AddStorage", counts)
}

func (f *fakeContext) EgressSubnets(relation int) []string {
	if relation == 7 {
		return []string{"192.0.2.0/24"}
	}
	return f.egress
}

func (f *fakeContext) RequestReboot(_ context.Context, now bool) error {
	return f.note("RequestReboot", now)
}

func (f *fakeContext) UnitInfo(context.Context) (entity.UnitInfo, error) { return f.unit, f.down }

func (f *fakeContext) CharmMeta() (*charm.Meta, error) {
	return charm.ParseMeta([]byte(fakeMeta))
}

func (f *fakeContext) Config(context.Context) (map[string]any, error) {
	return map[string]any{"title": "My blog", "port": int64(8080), "ratio": 1000000.5, "debug": true, "verbose": false,
		"motd": nil, "empty": "", "text": "one\ntwo\n"}, f.down
}

func (f *fakeContext) GoalState(context.Context) (entity.GoalState, error) {
	return entity.GoalState{Units: map[string]entity.GoalStatus{"wordpress/1": {Status: "dying"}}}, f.down
}

func (f *fakeContext) CloudSpec(context.Context) (entity.CloudSpec, error) {
	if f.untrusted {
		return entity.CloudSpec{}, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	return entity.CloudSpec{Type: "lxd", Name: "lxd", Region: "default"}, f.down
}

func (f *fakeContext) Resource(_ context.Context, name string) (string, error) {
	return "/resources/" + name, f.note("Resource", name)
}

func (f *fakeContext) RelationName(id int) (string, bool) {
	r, ok := fakeRelations[id]
	return r.name, ok
}

func (f *fakeContext) RelationIDs(endpoint string) []string {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(fakeRelations)) {
		if fakeRelations[id].name == endpoint {
			ids = append(ids, fmt.Sprintf("%s:%d", endpoint, id))
		}
	}
	return ids
}

func (f *fakeContext) RelationSettings(_ context.Context, id int, of string) (map[string]string, error) {
	settings, ok := fakeRelations[id].settings[of]
	if !ok && f.down == nil {
		return nil, entity.Errorf(entity.NotFound, "unit %q is not in the relation", of)
	}
	return maps.Clone(settings), f.down
}

func (f *fakeContext) SetRelationSettings(id int, settings map[string]string) error {
	return f.note("SetRelationSettings", id, settings)
}

func (f *fakeContext) SetServiceRelationSettings(_ context.Context, id int, settings map[string]string) error {
	return f.note("SetServiceRelationSettings", id, settings)
}

func (f *fakeContext) LeaderSettings(context.Context) (map[string]string, error) {
	return map[string]string{"primary": "10.0.0.7", "token": "two words"}, f.down
}

func (f *fakeContext) SetLeaderSettings(_ context.Context, settings map[string]string) error {
	return f.note("SetLeaderSettings", settings)
}

func (f *fakeContext) WorkloadStatus(context.Context) (entity.Status, error) {
	return entity.Status{Status: entity.StatusMaintenance, Message: "installing", Data: map[string]any{"step": 2}}, f.down
}

func (f *fakeContext) SetWorkloadStatus(_ context.Context, status entity.StatusWord, message string) error {
	return f.note("SetWorkloadStatus", status, strconv.Quote(message))
}

func (f *fakeContext) SetWorkloadVersion(_ context.Context, version string) error {
	return f.note("SetWorkloadVersion", strconv.Quote(version))
}

func (f *fakeContext) ServiceStatus(ctx context.Context) (entity.StatusesOfService, error) {
	own, _ := f.WorkloadStatus(ctx)
	return entity.StatusesOfService{Service: entity.Status{Status: entity.StatusBlocked, Message: "no database"},
		Units: map[string]entity.Status{"wordpress/0": own, "wordpress/1": {Status: entity.StatusActive}}}, f.down
}

func (f *fakeContext) SetServiceStatus(_ context.Context, status entity.StatusWord, message string) error {
	return f.note("SetServiceStatus", status, strconv.Quote(message))
}

func (f *fakeContext) OpenPorts(_ context.Context, ports entity.EndpointPorts) error {
	return f.note("OpenPorts", ports.PortRange, ports.Endpoints)
}

func (f *fakeContext) ClosePorts(_ context.Context, ports entity.EndpointPorts) error {
	return f.note("ClosePorts", ports.PortRange, ports.Endpoints)
}

func (f *fakeContext) OpenedPorts(context.Context) ([]entity.EndpointPorts, error) {
	return []entity.EndpointPorts{{PortRange: entity.PortRange{From: 80, To: 80, Protocol: "tcp"}},
		{PortRange: entity.PortRange{From: 8000, To: 8010, Protocol: "udp"}, Endpoints: []string{"admin", "db"}}}, f.down
}

func (f *fakeContext) AttachedStorage() map[string]entity.UnitStorage {
	all := map[string]entity.UnitStorage{}
	for _, s := range []entity.UnitStorage{{ID: "data/0", Size: 1024, Location: "/srv/data"}, {ID: "cache/10", Location: "/c/10"},
		{ID: "cache/9", Location: "/c/9"}} {
		all[s.ID] = s
	}
	return all
}

func (f *fakeContext) CharmState(context.Context) (entity.CharmState, error) {
	return entity.CharmState{"schema": "3", "#notices#": "- [a, b]\n"}, f.down
}

func (f *fakeContext) SetCharmState(_ context.Context, values entity.CharmState) error {
	return f.note("SetCharmState", values)
}

func (f *fakeContext) DeleteCharmState(_ context.Context, key string) error {
	return f.note("DeleteCharmState", key)
}

func (f *fakeContext) SetPayload(_ context.Context, p entity.Payload) error {
	return f.note("SetPayload", fmt.Sprintf("%+v", p))
}

func (f *fakeContext) SetPayloadStatus(_ context.Context, class, id, status string) error {
	return f.note("SetPayloadStatus", class, id, status)
}

func (f *fakeContext) DropPayload(_ context.Context, class, id string) error {
	return f.note("DropPayload", class, id)
}

func (f *fakeContext) Secret(_ context.Context, r SecretRequest) (entity.SecretContent, error) {
	content := entity.SecretContent{"user": "Ym9i", "port": "NDI=", "raw": "/w=="}
	if r.URI == nil {
		return content, f.note("Secret", r.Label, r.Peek, r.Refresh)
	}
	return content, f.note("Secret", *r.URI, r.Label, r.Peek, r.Refresh)
}

func (f *fakeContext) OwnedSecrets(context.Context) ([]entity.SecretInfo, error) {
	return []entity.SecretInfo{
		{ID: "9m4e2mr0ui3e8a215n4g", Label: "db-password", Description: "of the database", Rotate: entity.RotateMonthly, Latest: 3,
			Expire: time.Date(2027, 2, 3, 4, 5, 6, 0, time.UTC), NextRotate: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
			Access: []entity.SecretAccess{{Subject: "mysql", Scope: "wordpress:db mysql:server"}, {Subject: "other/1", Scope: "wordpress:db other:server"}}},
		{ID: "c0000000000000000000", OfUnit: true, Latest: 1}}, f.down
}

func (f *fakeContext) AddSecret(_ context.Context, ofUnit bool, s entity.SecretSettings) (entity.SecretURI, error) {
	return entity.SecretURI{ID: "9m4e2mr0ui3e8a215n4g"}, f.note("AddSecret", ofUnit, settingsOf(s))
}

func (f *fakeContext) UpdateSecret(_ context.Context, uri entity.SecretURI, s entity.SecretSettings) error {
	return f.note("UpdateSecret", uri, settingsOf(s))
}

// settingsOf shows settings of a secret as JSON, with when they expire in hours from now.
func settingsOf(s entity.SecretSettings) string {
	if s.Expire != nil && time.Until(*s.Expire) < 1000*time.Hour {
		from := time.Time{}.Add(time.Until(*s.Expire).Round(time.Hour))
		s.Expire = &from
	}
	text, _ := json.Marshal(s)
	return string(text)
}

func (f *fakeContext) RemoveSecret(_ context.Context, uri entity.SecretURI, revision int) error {
	return f.note("RemoveSecret", uri, revision)
}

func (f *fakeContext) GrantSecret(_ context.Context, uri entity.SecretURI, relation int, unit string) error {
	return f.note("GrantSecret", uri, relation, unit)
}

func (f *fakeContext) RevokeSecret(_ context.Context, uri entity.SecretURI, subject string) error {
	return f.note("RevokeSecret", uri, subject)
}

func (f *fakeContext) ActionParams() (map[string]any, bool) {
	if f.kind != "action" {
		return nil, false
	}
	return map[string]any{"level": 5000000, "ratio": 0.5,
		"outfile": map[string]any{"path": "out.bz2", "keep": true, "sizes": []any{1000000}}}, true
}

func (f *fakeContext) SetResults(results []Result) error { return f.note("SetResults", results) }

func (f *fakeContext) LogProgress(_ context.Context, message string) error {
	return f.note("LogProgress", strconv.Quote(message))
}
