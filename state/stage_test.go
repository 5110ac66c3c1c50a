package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A stage is a store with every kind of entity in it. It is built once; a test
// that changes anything gets a copy, which takes a few milliseconds.
type stage struct {
	fs vfs.FS

	Now   time.Time         // the time in every copy
	UUID  string            // of the model
	Key   []byte            // with which eve can register
	Files map[string]string // charm archives, by charm name
}

// prop is the file beside the store that holds the exported fields of the
// stage.
const prop = "stage.json"

// A scene is a copy of a stage with a model open in it.
type scene struct {
	*world
	stage    *stage
	store    *mongo.Store
	fs       vfs.FS
	dir      string        // the store's directory in fs
	patience time.Duration // of its transactions; zero means the default
	later    atomic.Int64  // how far the clock was advanced
	made     string        // by before, for take
}

func (s *scene) now() time.Time { return s.stage.Now.Add(time.Duration(s.later.Load())) }

// open opens the store of a scene, and completes what a crash has left.
func (s *scene) open(t *testing.T, tap func(net.Conn) net.Conn) {
	t.Helper()
	var err error
	if s.store, err = mongo.OpenEmbedded(s.dir, small(s.fs, tap, s.patience)); err != nil {
		t.Fatal(err)
	}
	s.world = &world{T: t, ctx: t.Context(), store: s.store}
	s.ctrl, err = controller.Open(s.ctx, s.store, controller.Options{Now: s.now, PasswordCost: statetest.PasswordCost, SecretKey: statetest.SecretKey})
	s.ok(err)
	s.st, err = s.ctrl.Model(s.ctx, s.stage.UUID)
	s.ok(err)
}

// small returns options for a store that takes little memory, for tests that
// open many.
func small(fs vfs.FS, tap func(net.Conn) net.Conn, patience time.Duration) mongo.Options {
	return mongo.Options{Hooks: mongotest.NewHooks(), Patience: patience,
		Embedded: embedded.Options{FS: fs, Tap: tap, CacheSize: 1 << 20, MemTableSize: 256 << 10, Standalone: statetest.Standalone()}}
}

// close closes the store, if it is open.
func (s *scene) close() {
	if s.store == nil {
		return
	}
	s.ctrl.Close()
	s.ok(s.store.Close())
	s.store = nil
}

// end closes a scene and frees its memory, in tests that make many.
func (s *scene) end() {
	s.close()
	s.fs, s.ctrl, s.st, s.world = nil, nil, nil, nil
}

// scene makes a copy of the stage in memory, which is closed when the test
// ends.
func (st *stage) scene(t *testing.T, tap func(net.Conn) net.Conn) *scene {
	t.Helper()
	return st.sceneWith(t, tap, 0)
}

// sceneWith is like scene, with another patience of transactions.
func (st *stage) sceneWith(t *testing.T, tap func(net.Conn) net.Conn, patience time.Duration) *scene {
	t.Helper()
	s := &scene{stage: st, fs: vfs.NewMem(), dir: "store", patience: patience}
	if _, err := vfs.Clone(st.fs, s.fs, "store", s.dir); err != nil {
		t.Fatal(err)
	}
	s.open(t, tap)
	t.Cleanup(s.close)
	return s
}

// write copies the stage to a directory, for another process.
func (st *stage) write(t *testing.T, dir string) {
	t.Helper()
	if _, err := vfs.Clone(st.fs, vfs.Default, "store", path.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(st)
	if err == nil {
		err = os.WriteFile(path.Join(dir, prop), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readStage opens what write has written in another process.
func readStage(dir string) (*scene, error) {
	text, err := os.ReadFile(path.Join(dir, prop))
	if err != nil {
		return nil, err
	}
	st := &stage{}
	return &scene{stage: st, fs: vfs.Default, dir: path.Join(dir, "store")}, json.Unmarshal(text, st)
}

var theStage struct {
	sync.Mutex
	*stage
}

// sharedStage returns the stage that all tests copy:
//
//   - mysql/0 on machine 0, which is provisioned, with port 80 open, and mysql/1 on
//     machine 1, whose agent has never started;
//   - wordpress/0 on machine 2, related to mysql, with both started units in scope;
//   - logging/0 beside mysql/0, in the scope of a container relation;
//   - riak/0 on machine 3, with an empty peer relation, and idle, a service without
//     units;
//   - machine 4, clean, and machine 5 with the container 5/lxd/0;
//   - the users admin and carol, who are superusers; bob, who may read the model and
//     owns another; dave, who is disabled; and eve, who has no password yet.
func sharedStage(t *testing.T) *stage {
	t.Helper()
	theStage.Lock()
	defer theStage.Unlock()
	if theStage.stage != nil {
		return theStage.stage
	}
	fs := vfs.NewMem()
	s := &scene{stage: &stage{fs: fs, Now: time.Now().UTC().Truncate(time.Second), Files: map[string]string{}}, fs: fs,
		dir: "store"}
	var err error
	s.store, err = mongo.OpenEmbedded(s.dir, small(fs, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	s.world = &world{T: t, ctx: t.Context(), store: s.store}
	o := controller.Options{Now: s.now, PasswordCost: statetest.PasswordCost, SecretKey: statetest.SecretKey}
	s.ok(controller.Initialize(s.ctx, s.store, controller.InitParams{
		Name: "test", Cloud: "dummy", Series: "jammy", User: statetest.Admin, Password: statetest.Password}, o))
	s.ctrl, err = controller.Open(s.ctx, s.store, o)
	s.ok(err)
	s.st, err = s.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: "default", Owner: statetest.Admin, Series: "jammy"})
	s.ok(err)
	s.stage.UUID = s.st.UUID()
	s.dress()
	s.people()
	s.close()
	theStage.stage = s.stage
	return s.stage
}

// settable is the configuration of the mysql charm.
const settable = "options:\n  a: {type: string}\n  b: {type: string, default: x}\n"

func (s *scene) dress() {
	s.Helper()
	my := statetest.Charm(s.T, s.st, statetest.MySQL, "config.yaml", settable)
	_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "mysql", CharmURL: my, Units: 2})
	s.ok(err)
	s.deploy("wordpress", statetest.Wordpress, 1)
	s.deploy("riak", statetest.Riak, 1)
	s.deploy("logging", statetest.Logging, 0)
	_, err = s.st.AddService(s.ctx, state.AddServiceParams{Name: "idle", CharmURL: my})
	s.ok(err)
	_, err = s.st.AddMachine(s.ctx, state.AddMachineParams{})
	s.ok(err)
	_, err = s.st.AddMachine(s.ctx, state.AddMachineParams{Placement: statetest.At("lxd")})
	s.ok(err)
	s.ok(s.machine("0").SetProvisioned(s.ctx, entity.Instance{ID: "i-0", Nonce: "n", Addresses: []string{"10.0.0.1"}}))
	web := s.relate("wordpress", "mysql")
	log := s.relate("mysql", "logging")
	for _, name := range []string{"mysql/0", "wordpress/0"} {
		s.ok(s.started(name).EnterScope(s.ctx, web.ID()))
	}
	s.ok(s.unit("mysql/0").EnterScope(s.ctx, log.ID()))
	s.ok(s.started("logging/0").EnterScope(s.ctx, log.ID()))
	s.ok(s.unit("mysql/0").CommitHook(s.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{port(80)}}))
}

func (s *scene) people() {
	s.Helper()
	add := func(name, password string) []byte {
		key, err := s.ctrl.AddUser(s.ctx, controller.AddUserParams{Name: name, Password: password, Creator: statetest.Admin})
		s.ok(err)
		return key
	}
	add("bob", "secret")
	add("carol", "secret")
	s.ok(s.ctrl.GrantController(s.ctx, "carol", controller.AccessSuperuser))
	add("dave", "secret")
	s.ok(s.ctrl.DisableUser(s.ctx, "dave"))
	s.stage.Key = add("eve", "")
	s.ok(s.ctrl.GrantModel(s.ctx, s.stage.UUID, "bob", controller.AccessRead, statetest.Admin))
	_, err := s.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: "bobs", Owner: "bob", Series: "jammy"})
	s.ok(err)
}

func port(n int) entity.PortRange { return entity.PortRange{From: n, To: n, Protocol: "tcp"} }

func (s *scene) service(name string) *state.Service {
	s.Helper()
	return mustService(s.world, name)
}

// relation returns the relation between the given services.
func (s *scene) relation(names ...string) *state.Relation {
	s.Helper()
	r, err := s.st.Relation(s.ctx, names...)
	s.ok(err)
	return r
}

// model returns the UUID of another model.
func (s *scene) model(name string) string {
	s.Helper()
	models, err := s.ctrl.Models(s.ctx)
	s.ok(err)
	for _, m := range models {
		if m.Name == name {
			return m.UUID
		}
	}
	s.Fatalf("no model %q", name)
	return ""
}

// databases returns the databases whose transactions are watched.
func (s *scene) databases() []*mongo.Database { return []*mongo.Database{s.st.DB(), s.controllerDB()} }

// These match what differs between runs of the same calls: an archive counts how often it was kept, and a relation how often
// its units were mirrored; what is sealed never looks the same twice.
var (
	randomIDs = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{24}\b`)
	realTimes = regexp.MustCompile(`"uploadDate":"[^"]*"|"sealed":"[^"]*",|,"(?:kept|mirrors)":\d+|"(?:kept|mirrors)":\d+,`)
	numbers   = regexp.MustCompile(`([/#"-])\d+|("(?:id|relation|counter|number)":)\d+`)
)

// contents returns what the model and the controller hold, one line a document,
// sorted. Without numbers it is the same for runs that took different numbers
// from sequences.
func (s *scene) contents(ctx context.Context, withNumbers bool) string {
	s.Helper()
	var lines []string
	add := func(db string, dump map[string][]json.RawMessage, err error) {
		s.ok(err)
		for collection, docs := range dump {
			for _, doc := range docs {
				line := string(realTimes.ReplaceAll(randomIDs.ReplaceAll(doc, []byte("ID")), nil))
				if !withNumbers {
					line = numbers.ReplaceAllString(line, "${1}${2}N")
				}
				lines = append(lines, db+" "+collection+" "+line)
			}
		}
	}
	dump, err := s.st.Dump(s.ctx)
	add("model", dump, err)
	dump, err = s.controllerDB().Dump(ctx)
	add("controller", dump, err)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// outside lists the collections written directly, which can hold more than the
// transactions do.
var outside = []string{"sequence", "statushistory", "logins", "leases", "charms.files", "charms.chunks"}

// inside returns the part of the contents that only transactions write.
func inside(contents string) string {
	var kept []string
	for line := range strings.Lines(contents) {
		if !slices.Contains(outside, strings.Fields(line)[1]) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "\n")
}

// differ returns the lines that only one of two contents has, or "".
func differ(got, want string) string {
	var out strings.Builder
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	only := func(sign string, a, b []string) {
		left := map[string]int{}
		for _, line := range b {
			left[line]++
		}
		for _, line := range a {
			if left[line]--; left[line] < 0 {
				fmt.Fprintf(&out, "\n%s %s", sign, line)
			}
		}
	}
	only("+", g, w)
	only("-", w, g)
	return out.String()
}

// checkIntact checks that counts are true, that a check finds nothing, and that no
// transaction is unfinished.
func (s *scene) checkIntact(ctx context.Context) {
	s.Helper()
	s.checkCounts()
	found, err := s.st.Check(s.ctx, false)
	s.ok(err)
	more, err := s.ctrl.Check(s.ctx, false)
	s.ok(err)
	for _, f := range append(found, more...) {
		s.Errorf("%s: %s", f.Where, f.What)
	}
	s.checkFinished(ctx)
}

// checkFinished checks that no transaction is unfinished.
func (s *scene) checkFinished(ctx context.Context) {
	s.Helper()
	for _, db := range s.databases() {
		n, err := db.Count(ctx, mongo.TxnsC, bson.D{{"s", bson.D{{"$lt", 5}}}})
		s.ok(err)
		if n > 0 {
			s.Errorf("%d transactions of %s are unfinished", n, db.Name())
		}
	}
}
