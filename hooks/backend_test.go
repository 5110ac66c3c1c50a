package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

// fakeBackend is a controller with one unit, wordpress/0, which can be changed during a hook.
// It records the calls.
type fakeBackend struct {
	mu        sync.Mutex
	info      entity.UnitInfo
	config    map[string]any
	settings  map[string]map[string]string // "0 mysql/0" → settings; nil if the relations are removed
	ports     map[string][]entity.EndpointPorts
	status    entity.Status
	version   string
	epoch     int64 // by which the unit believes to lead
	term      int64 // by which the leader leads
	ending    bool  // the unit leads, but not for as long as is-leader promises
	shared    entity.LeaderSettings
	kept      entity.CharmState
	payloads  []entity.Payload
	secrets   map[string]entity.SecretValue // their latest revision, by ID; Tracked is what the unit reads, whose content is "old"
	owned     []entity.SecretInfo
	resources map[string]string // the files that were uploaded; "" for one that was not
	trusted   bool
	damaged   bool   // other files arrive
	replaced  string // becomes the file of each resource as soon as one was asked for
	ofService entity.Status
	down      error
	calls     []string
	block     chan struct{} // if not nil, Config waits for it, or its context
}

// newBackend returns the world that the scripts of testdata are about.
func newBackend() *fakeBackend {
	return &fakeBackend{
		info: entity.UnitInfo{Name: "wordpress/0", PrivateAddress: "10.0.0.7"},
		config: map[string]any{
			"title": "My blog", "port": int64(8080), "ratio": 1000000.5, "debug": true, "verbose": false,
			"motd": nil, "empty": "", "text": "one\ntwo\n",
		},
		settings: map[string]map[string]string{
			"0 mysql/0":     {"host": "10.0.0.2", "password": `a "b": <c>`},
			"0 mysql/9":     {},
			"0 wordpress/0": {"private-address": "10.0.0.7", "user": "wp"},
			"7 mysql/0":     {"host": "10.0.0.99"},
			"0 mysql":       {"name": "shop"},
			"0 wordpress":   {"url": "/"},
			"3 wordpress/1": {"private-address": "10.0.0.8"},
		},
		ports: map[string][]entity.EndpointPorts{
			"wordpress/0": forAll(entity.PortRange{From: 8000, To: 8010, Protocol: "udp"}, entity.PortRange{From: 80, To: 80, Protocol: "tcp"}),
			"mysql/0":     forAll(entity.PortRange{From: 3306, To: 3306, Protocol: "tcp"}, entity.PortRange{From: -1, To: -1, Protocol: "icmp"}),
		},
		status: entity.Status{Status: entity.StatusMaintenance, Message: "installing", Data: map[string]any{"step": 2}},
		epoch:  4, term: 4,
		resources: map[string]string{"site": "hello", "logo": ""},
		shared:    entity.LeaderSettings{"primary": "10.0.0.7", "token": "two words"},
		kept:      entity.CharmState{"schema": "3", "#notices#": "- [a, b]\n"},
		payloads:  []entity.Payload{{Class: "monitor", Type: "docker", ID: "0fcgaba", Status: "running"}},
		ofService: entity.Status{Status: entity.StatusBlocked, Message: "no database"},
		// "9…": the service's own, not read yet; "a…": another's, tracked; "b…": another's, tracked, with a newer revision;
		// "c…": the unit's own, not read yet.
		secrets: map[string]entity.SecretValue{
			"9m4e2mr0ui3e8a215n4g": {Latest: 3, Label: "db-password", OfService: true, Content: secretContent("token", "three")},
			"a0000000000000000000": {Latest: 1, Tracked: 1, Label: "theirs", Content: secretContent("user", "bob")},
			"b0000000000000000000": {Latest: 2, Tracked: 1, Content: secretContent("user", "new")},
			"c0000000000000000000": {Latest: 1, Label: "mine", OfUnit: true, Content: secretContent("key", "42")},
		},
		owned: []entity.SecretInfo{
			{ID: "9m4e2mr0ui3e8a215n4g", Label: "db-password", Description: "of the database", Rotate: entity.RotateMonthly,
				NextRotate: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), Latest: 3, Checksum: secretContent("token", "three").Checksum(),
				Access: []entity.SecretAccess{{Subject: "mysql/9", Scope: "wordpress:db mysql:server"},
					{Subject: "other", Scope: "wordpress:db other:server", Relation: 7}}},
			{ID: "c0000000000000000000", Label: "mine", OfUnit: true, Latest: 1, Checksum: secretContent("key", "42").Checksum()},
		},
	}
}

// testParams returns the params of a hook of wordpress/0.
func testParams(info Info) ContextParams {
	return ContextParams{
		Unit: "wordpress/0",
		Info: info,
		Relations: map[int]Relation{
			0:  {Name: "db", Key: "wordpress:db mysql:server", Remote: "mysql", Members: []string{"mysql/10", "mysql/0", "mysql/9"}},
			7:  {Name: "db", Remote: "other", Members: []string{"mysql/0"}, Via: []string{"192.0.2.0/24"}, Model: "c0ffee00-0000-4000-8000-000000000002"},
			10: {Name: "db", Key: "wordpress:db third:server", Remote: "third"},
			3:  {Name: "loadbalancer", Remote: "wordpress", Members: []string{"wordpress/1"}},
		},
		ModelName:    "default",
		ModelUUID:    "c0ffee00-0000-4000-8000-000000000001",
		APIAddresses: func() []string { return []string{"10.0.0.1:17070", "10.0.0.2:17070"} },
		Machine:      "4",
		Storage: []entity.UnitStorage{{ID: "data/0", Size: 1024, Location: "/srv/data"}, {ID: "cache/10", Location: "/c/10"},
			{ID: "cache/9", Location: "/c/9"}, {ID: "cache/11"}},
	}
}

// enter notes a call and refuses it if the controller is down or the wrong unit
// is asked for.
func (b *fakeBackend) enter(unit entity.Tag, format string, args ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, fmt.Sprintf(format, args...))
	if unit != entity.UnitTag("wordpress/0") {
		return entity.Errorf(entity.Unauthorized, "not the agent of %v", unit)
	}
	return b.down
}

// change changes the world under a running hook.
func (b *fakeBackend) change(f func(*fakeBackend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

// takeCalls returns the calls since it was last asked, a line each.
func (b *fakeBackend) takeCalls() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := strings.Join(b.calls, "\n")
	b.calls = nil
	return calls
}

func (b *fakeBackend) Unit(ctx context.Context, unit entity.Tag) (entity.UnitInfo, error) {
	if err := b.enter(unit, "Unit"); err != nil {
		return entity.UnitInfo{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info, nil
}

func (b *fakeBackend) Config(ctx context.Context, unit entity.Tag) (map[string]any, error) {
	if err := b.enter(unit, "Config"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	block := b.block
	b.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.config), nil
}

func (b *fakeBackend) RelationSettings(ctx context.Context, unit entity.Tag, relation int,
	remote string) (map[string]string, error) {
	if err := b.enter(unit, "RelationSettings %d %s", relation, remote); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.settings == nil {
		return nil, entity.Errorf(entity.NotFound, "relation not found")
	}
	settings, ok := b.settings[fmt.Sprintf("%d %s", relation, remote)]
	if !ok {
		return nil, entity.Errorf(entity.NotFound, "unit %q is not in the relation", remote)
	}
	return maps.Clone(settings), nil
}

func (b *fakeBackend) OpenedPorts(ctx context.Context, unit entity.Tag) (map[string][]entity.EndpointPorts, error) {
	if err := b.enter(unit, "OpenedPorts"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ports), nil
}

func (b *fakeBackend) SetUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	if err := b.enter(unit, "SetUnitStatus %s %q", status.Status, status.Message); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = status
	return nil
}

func (b *fakeBackend) UnitStatus(ctx context.Context, unit entity.Tag) (entity.Status, error) {
	if err := b.enter(unit, "UnitStatus"); err != nil {
		return entity.Status{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status, nil
}

func (b *fakeBackend) SetWorkloadVersion(ctx context.Context, unit entity.Tag, version string) error {
	if err := b.enter(unit, "SetWorkloadVersion %q", version); err != nil {
		return err
	}
	b.change(func(b *fakeBackend) { b.version = version })
	return nil
}

func (b *fakeBackend) CharmState(ctx context.Context, unit entity.Tag) (entity.CharmState, error) {
	if err := b.enter(unit, "CharmState"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.kept), nil
}

// secretContent returns content with one value.
func secretContent(key, value string) entity.SecretContent {
	return entity.SecretContent{key: base64.StdEncoding.EncodeToString([]byte(value))}
}

func (b *fakeBackend) Secret(ctx context.Context, unit entity.Tag, q entity.SecretQuery) (entity.SecretRead, error) {
	if err := b.enter(unit, "Secret %s%s latest=%v", q.ID, q.Label, q.Latest); err != nil {
		return entity.SecretRead{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var read entity.SecretRead
	for _, id := range slices.Sorted(maps.Keys(b.secrets)) {
		v := b.secrets[id]
		v.ID, v.Revision = id, v.Latest
		asked := id == q.ID || q.ID == "" && v.Label == q.Label
		if v.Tracked != 0 && v.Tracked != v.Latest && !(asked && q.Latest) {
			v.Revision, v.Content = v.Tracked, secretContent("user", "old")
		}
		if asked {
			read.Secret = v
		} else if v.Tracked != 0 {
			read.Others = append(read.Others, v)
		}
	}
	switch {
	case read.Secret.ID != "":
		return read, nil
	case q.ID == "":
		return entity.SecretRead{}, entity.Errorf(entity.NotFound, "consumer label %q not found", q.Label)
	case q.ID == "d0000000000000000000":
		return entity.SecretRead{}, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	return entity.SecretRead{}, entity.Errorf(entity.NotFound, "secret %q not found", q.ID)
}

func (b *fakeBackend) OwnedSecrets(ctx context.Context, unit entity.Tag) ([]entity.SecretInfo, error) {
	if err := b.enter(unit, "OwnedSecrets"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.owned), nil
}

func (b *fakeBackend) Payloads(ctx context.Context, unit entity.Tag) ([]entity.Payload, error) {
	if err := b.enter(unit, "Payloads"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.payloads), nil
}

func (b *fakeBackend) Resource(ctx context.Context, unit entity.Tag, name string) (entity.Resource, error) {
	r := entity.Resource{Name: name, Type: "file", Filename: name + ".tgz"}
	if err := b.enter(unit, "Resource %s", name); err != nil {
		return r, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.resources[name]
	if !ok {
		return r, entity.Errorf(entity.NotFound, "charm %q has no resource %q", "wordpress", name)
	}
	if content != "" {
		r.File = &entity.ResourceFile{SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content)))}
	}
	if b.replaced != "" {
		b.resources[name], b.replaced = b.replaced, ""
	}
	return r, nil
}

func (b *fakeBackend) OpenResource(ctx context.Context, unit entity.Tag, name string) (io.ReadCloser, error) {
	if err := b.enter(unit, "OpenResource %s", name); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.damaged {
		return io.NopCloser(strings.NewReader("damaged")), nil
	}
	return io.NopCloser(strings.NewReader(b.resources[name])), nil
}

func (b *fakeBackend) LogTask(ctx context.Context, unit entity.Tag, id, message string) error {
	return b.enter(unit, "LogTask %s %q", id, message)
}

func (b *fakeBackend) LeaderSettings(ctx context.Context, unit entity.Tag) (entity.LeaderSettings, error) {
	if err := b.enter(unit, "LeaderSettings"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.shared), nil
}

func (b *fakeBackend) SetLeaderSettings(ctx context.Context, unit entity.Tag, epoch int64,
	settings entity.LeaderSettings) error {
	if err := b.enterAsLeader(unit, epoch, "SetLeaderSettings %v", settings); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared = maps.Clone(b.shared)
	for k, v := range settings {
		if b.shared[k] = v; v == "" {
			delete(b.shared, k)
		}
	}
	return nil
}

func (b *fakeBackend) enterAsLeader(unit entity.Tag, epoch int64, format string, args ...any) error {
	if err := b.enter(unit, format, args...); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if epoch != b.term {
		return entity.Errorf(entity.LeadershipRefused, "unit %q is not the leader of service %q", "wordpress/0", "wordpress")
	}
	return nil
}

func (b *fakeBackend) ServiceStatus(ctx context.Context, unit entity.Tag) (entity.StatusesOfService, error) {
	if err := b.enter(unit, "ServiceStatus"); err != nil {
		return entity.StatusesOfService{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return entity.StatusesOfService{Service: b.ofService, Units: map[string]entity.Status{
		"wordpress/0": b.status, "wordpress/1": {Status: entity.StatusActive}}}, nil
}

func (b *fakeBackend) SetServiceStatus(ctx context.Context, unit entity.Tag, epoch int64, s entity.Status) error {
	if err := b.enterAsLeader(unit, epoch, "SetServiceStatus %s %q", s.Status, s.Message); err != nil {
		return err
	}
	b.change(func(b *fakeBackend) { b.ofService = s })
	return nil
}

// Lead makes the backend the Leadership of its unit.
func (b *fakeBackend) Lead(_ context.Context, d time.Duration) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case d == leaderPromise && b.ending:
		return 0, b.down
	case d == leaderPromise || d == 0:
		return b.epoch, b.down
	}
	return 0, fmt.Errorf("asked for %v", d)
}

// logRecorder is a log that tests read.
type logRecorder struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed and replaced at each line
}

func newLog() *logRecorder { return &logRecorder{more: make(chan struct{})} }

func (l *logRecorder) log(module string, level loggo.Level, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%s %v %s", module, level, message))
	close(l.more)
	l.more = make(chan struct{})
}

// take returns the lines since it was last asked.
func (l *logRecorder) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// await waits until a line has been logged; the test's deadline is the bound.
func (l *logRecorder) await(ctx context.Context, line string) error {
	for {
		l.mu.Lock()
		found, more := slices.Contains(l.lines, line), l.more
		seen := strings.Join(l.lines, "\n")
		l.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("never logged %q, but:\n%s", line, seen)
		}
	}
}

// CloudSpec trusts the service if the world says so.
func (b *fakeBackend) CloudSpec(ctx context.Context, unit entity.Tag) (entity.CloudSpec, error) {
	if err := b.enter(unit, "CloudSpec"); err != nil {
		return entity.CloudSpec{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.trusted {
		return entity.CloudSpec{}, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	return entity.CloudSpec{Type: "lxd", Name: "lxd", Region: "default", Endpoint: "https://10.0.0.1:8443",
		IsControllerCloud: true, Credential: &entity.CloudCredential{AuthType: "certificate",
			Attributes: map[string]string{"client-cert": "C", "client-key": "K", "server-cert": "S"}}}, nil
}

func (b *fakeBackend) GoalState(ctx context.Context, unit entity.Tag) (entity.GoalState, error) {
	if err := b.enter(unit, "GoalState"); err != nil {
		return entity.GoalState{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	since := time.Date(2013, 6, 7, 8, 9, 10, 11, time.UTC)
	return entity.GoalState{
		Units: map[string]entity.GoalStatus{"wordpress/0": {Status: string(b.status.Status), Since: since},
			"wordpress/1": {Status: "dying"}},
		Relations: map[string]map[string]entity.GoalStatus{
			"db": {"mysql": {Status: "joined", Since: since}, "mysql/0": {Status: "active", Since: since}},
		},
	}, nil
}

// metadata is that of the charm of wordpress/0.
const metadata = `
name: wordpress
summary: s
description: d
requires: {db: mysql}
peers: {loadbalancer: lb}
extra-bindings: {admin: }
payloads: {monitor: {type: docker}, worker: {type: kvm}}
storage: {data: {type: filesystem}, cache: {type: filesystem, multiple: {range: 0+}}}
`
