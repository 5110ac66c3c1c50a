package clouds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"

	"juju/agent/backup"
	"juju/agent/install"
	"juju/agent/storeconf"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/cloudfiles"
	"juju/provider/local"
	"juju/provider/lxd"
	"juju/state/entity"
)

// A fakeLXD has an image, and at most one container, in which no program runs.
type fakeLXD struct {
	socket string
	mu     sync.Mutex
	// container is nil if there is none. Its files are what was written there, and what the program in it would write.
	container *api.Instance
	files     map[string]string
	fails     bool // the program
	volumes   []api.StorageVolume
	changes   []string // the requests that change something but files
}

func newFakeLXD(t *testing.T) *fakeLXD {
	t.Helper()
	f := &fakeLXD{socket: filepath.Join(t.TempDir(), "lxd"), files: map[string]string{}}
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: f}}
	s.Start()
	t.Cleanup(s.Close)
	return f
}

// ServeHTTP answers as LXD does.
func (f *fakeLXD) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	at := strings.TrimPrefix(r.URL.Path, "/1.0")
	name, below, _ := strings.Cut(strings.TrimPrefix(at, "/instances/"), "/")
	isContainer := strings.HasPrefix(at, "/instances/")
	if r.Method != http.MethodGet && below != "files" {
		if isContainer {
			f.changes = append(f.changes, strings.TrimRight(r.Method+" /instances/C/"+below, "/"))
		} else {
			f.changes = append(f.changes, r.Method+" "+at)
		}
	}
	var reply any = []string{}
	switch {
	case isContainer && (f.container == nil || f.container.Name != name):
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(api.ResponseRaw{Type: api.ErrorResponse, Error: "Instance not found", Code: http.StatusNotFound})
		return
	case below == "files" && r.Method == http.MethodGet:
		_, _ = io.WriteString(w, f.files[r.URL.Query().Get("path")])
		return
	case below == "files":
		text, _ := io.ReadAll(r.Body)
		f.files[r.URL.Query().Get("path")] = string(text)
	case below == "exec":
		_ = json.NewEncoder(w).Encode(api.ResponseRaw{Type: api.AsyncResponse, Operation: "/1.0/operations/o"})
		return
	case at == "/operations/o/wait":
		status := 0.0
		if f.fails {
			status = 1
		}
		reply = api.Operation{StatusCode: api.Success, Metadata: map[string]any{"return": status}}
	case below == "state" && r.Method == http.MethodPut:
		var put api.InstanceStatePut
		_ = json.NewDecoder(r.Body).Decode(&put)
		f.container.Status, f.container.StatusCode = "Stopped", api.Stopped
		if put.Action == "start" {
			f.container.Status, f.container.StatusCode = "Running", api.Running
		}
	case below == "state":
		reply = api.InstanceState{Network: map[string]api.InstanceStateNetwork{"eth0": {Hwaddr: "02:00", Addresses: []api.InstanceStateNetworkAddress{
			{Address: "10.0.0.9", Scope: "global"}}}}}
	case isContainer && r.Method == http.MethodDelete:
		f.container = nil
	case isContainer:
		reply = f.container
	case at == "/instances" && r.Method == http.MethodPost:
		var post api.InstancesPost
		_ = json.NewDecoder(r.Body).Decode(&post)
		f.container = &api.Instance{Name: post.Name, Status: "Stopped", StatusCode: api.Stopped,
			ExpandedConfig: map[string]string{"volatile.eth0.hwaddr": "02:00"}}
		f.container.Config = post.Config
	case at == "/instances" && f.container != nil:
		reply = []*api.Instance{f.container}
	case at == "":
		reply = map[string]any{"auth": "trusted", "api_extensions": []string{"instances", "cloud_init", "image_types", "resources_v2", "projects"},
			"environment": map[string]any{"kernel_architecture": machine}}
	case at == "/operations":
		reply = struct{}{}
	case at == "/images/aliases":
		reply = []api.ImageAliasesEntry{{Name: "juju/jammy"}, {Name: "juju/focal"}}
	case strings.HasPrefix(at, "/images/aliases/"):
		reply = api.ImageAliasesEntry{ImageAliasesEntryPut: api.ImageAliasesEntryPut{Target: "i"}}
	case at == "/images/i":
		reply = api.Image{Architecture: machine}
	case at == "/profiles/default":
		profile := api.Profile{}
		profile.Devices = map[string]map[string]string{"root": {"type": "disk", "path": "/", "pool": "p"}}
		reply = profile
	case at == "/storage-pools":
		reply = []api.StoragePool{{Name: "p", Driver: "zfs"}}
	case at == "/storage-pools/p/volumes/custom":
		reply = f.volumes
	case at == "/storage-pools/p/volumes/custom/data":
		reply = f.volumes[0]
	}
	text, _ := json.Marshal(reply)
	_ = json.NewEncoder(w).Encode(api.Response{Type: api.SyncResponse, Metadata: text})
}

// newSession returns a session that prints every step, as if each took seconds, and what it prints.
func newSession(t *testing.T) (*cli.Session, *bytes.Buffer) {
	t.Helper()
	u := clitest.NewUserOf(t, nil)
	var clock atomic.Int64
	u.Session.Now = func() time.Time { return time.Unix(10*clock.Add(1), 0) }
	return u.Session, &u.Err
}

// named returns a volume of a controller.
func named(name, controller string) (v api.StorageVolume) {
	v.Name, v.Config = name, map[string]string{"user.juju-controller-uuid": controller}
	return v
}

// What reaches LXD is a file of the user, or a definition; the series is one of which LXD has an image.
func TestPrepareLXD(t *testing.T) {
	t.Parallel()
	f := newFakeLXD(t)
	file := filepath.Join(t.TempDir(), "lxd.yaml")
	clitest.Write(t, file, "endpoint: "+f.socket+"\nproject: juju\n")
	at := &Definition{Region: cloudfiles.Region{Endpoint: f.socket}}
	for _, test := range []struct {
		params      BootstrapParams
		series, err string
	}{
		{BootstrapParams{CloudConfig: file}, "focal", ""},
		{BootstrapParams{CloudConfig: file, Series: "jammy"}, "jammy", ""},
		{BootstrapParams{Definition: at}, "focal", ""},
		{BootstrapParams{Definition: at, CloudConfig: file, CloudName: "rack"}, "", `cannot use --cloud-config on cloud "rack": its definition says how to reach it`},
		{BootstrapParams{CloudConfig: file, Series: "win7"}, "", `cannot bootstrap: `},
		{BootstrapParams{CloudConfig: "/none"}, "", "cannot read the cloud's configuration: open /none"},
		{BootstrapParams{Definition: &Definition{Region: cloudfiles.Region{Endpoint: "ftp://h"}}}, "", `"ftp://h" is neither`},
		{BootstrapParams{Definition: &Definition{Region: cloudfiles.Region{Endpoint: "/none"}}}, "", "cannot bootstrap: "},
	} {
		p := test.params
		if says(t, test.params, lxdCloud{}.Prepare(t.Context(), &p), test.err); test.err != "" {
			continue
		}
		if project := map[bool]string{true: "juju"}[p.CloudConfig != ""]; p.Series != test.series || p.LXD.Endpoint != f.socket || p.LXD.Project != project || p.Controller == "" {
			t.Errorf("%+v: series %q, LXD %+v, controller %q", test.params, p.Series, p.LXD, p.Controller)
		}
	}
}

// A controller runs in a container: there its binaries are put, and its store is moved. Its volumes outlive it.
func TestAControllerOnLXD(t *testing.T) {
	clitest.BinariesOnPath(t)
	f, ctx := newFakeLXD(t), t.Context()
	session, said := newSession(t)
	dir := t.TempDir()
	own := local.ControllerDir(dir)
	p := BootstrapParams{Name: "prod", Controller: "u", Model: "m", Series: "jammy", User: "admin", LXD: &lxd.Config{Endpoint: f.socket}, MongoURL: "mongodb://h/"}
	create := func() (*Bootstrapped, error) {
		progress := session.Steps("Creating controller %q", "prod")
		defer progress.Done()
		return lxdCloud{}.Create(ctx, dir, p, progress)
	}
	f.files[install.Bootstrapped] = `{"controller-uuid":"u","api-addresses":["10.0.0.9:1"],"models":{"m":"v"}}`
	made, err := create()
	if err != nil || made.Models["m"] != "v" {
		t.Fatalf("%+v, %v", made, err)
	}
	var input BootstrapParams
	if err := json.Unmarshal([]byte(f.files[install.ControllerParams]), &input); err != nil || strings.Join(input.Hosts, " ") != "10.0.0.9" ||
		input.LXD.HostSocket != f.socket || input.LXD.Endpoint == f.socket || input.Name != "prod" {
		t.Errorf("jujud is told %s, %v", f.files[install.ControllerParams], err)
	}
	if f.files[install.ControllerArchive] == "" {
		t.Error("the container has no binaries")
	}
	for _, want := range []string{`Packing the binaries for controller "prod"`, `Starting the container of controller "prod", with 0MiB of binaries`,
		"Starting container juju-"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, said.String())
		}
	}
	if info, err := os.Stat(filepath.Join(dir, lxdRecordName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its record: %v, %v", info, err)
	}
	stored := func(what, want string) {
		t.Helper()
		if conf, err := storeconf.Read(own); err != nil || (conf != nil) != (want != "") || conf != nil && conf.URL != want {
			t.Errorf("%s: the store is %+v, %v", what, conf, err)
		}
	}
	stored("after bootstrap", "mongodb://h/")
	if err := (lxdCloud{}).MigrateStore(ctx, dir, "", ""); err != nil {
		t.Error(err)
	}
	stored("after the migration", "")
	f.fails, f.files[install.MigrationLog] = true, "ERROR it has no room\nMake some"
	err = lxdCloud{}.MigrateStore(ctx, dir, "", "mongodb://i/")
	if says(t, "a migration that fails", err, "it has no room"); entity.Hint(err) != "Make some" {
		t.Errorf("hint %q", entity.Hint(err))
	}
	stored("while it migrates", "mongodb://i/")

	// What is said of a controller that does not answer depends on its container.
	c := lxdCloud{}.Controller(At{dir, "prod", "u"})
	name, away := f.container.Name, errors.New("no answer")
	for _, test := range []struct {
		status     string
		down       bool
		says, hint string
	}{
		{"Running", false, "no answer", "Check that its container is running"},
		{"Stopped", true, "no answer; its container " + name + " is stopped", "lxc start " + name},
		{"Frozen", true, "no answer; its container " + name + " is frozen", "lxc start " + name},
		{"Error", false, "no answer; its container " + name + " is error", "lxc start " + name},
	} {
		f.container.Status = test.status
		down, gone := c.IsDown(ctx)
		err := c.Unreachable(away)
		if down != test.down || gone || err.Error() != test.says || !strings.Contains(entity.Hint(err), test.hint) {
			t.Errorf("%s: down %v, gone %v, %v (%s)", test.status, down, gone, err, entity.Hint(err))
		}
	}
	says(t, "the migration of one that is stopped", lxdCloud{}.MigrateStore(ctx, dir, "", ""), "cannot migrate the store: container "+name+" is error")
	f.volumes = []api.StorageVolume{named("data", "u"), named("other", "v")}
	if err := storeconf.Remove(own); err != nil {
		t.Fatal(err)
	}
	f.changes = nil
	kept, err := lxdCloud{}.Destroy(ctx, dir, "", true)
	if _, gone := os.Stat(dir); err != nil || kept != nil || !errors.Is(gone, os.ErrNotExist) || f.container != nil {
		t.Errorf("kept %q, %v; its directory: %v", kept, err, gone)
	}
	if got, want := strings.Join(f.changes, ", "), "PUT /instances/C/state, DELETE /instances/C, DELETE /storage-pools/p/volumes/custom/data"; got != want {
		t.Errorf("LXD was asked %s, want %s", got, want)
	}
	if kept, err := (lxdCloud{}).Destroy(ctx, dir, "", false); kept != nil || err != nil {
		t.Errorf("once more: %q, %v", kept, err)
	}

	// One that can't be created, and whose storage is kept.
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.files[install.ControllerLog], p.MongoURL = "ERROR not today\nTomorrow", ""
	p.LXD = &lxd.Config{Endpoint: f.socket}
	_, err = create()
	if says(t, "a bootstrap that fails in the container", err, "not today"); entity.Hint(err) != "Tomorrow" {
		t.Errorf("hint %q", entity.Hint(err))
	}
	f.container = nil
	if down, gone := c.IsDown(ctx); !down || !gone {
		t.Errorf("without a container: down %v, gone %v", down, gone)
	}
	err = c.Unreachable(away)
	if says(t, "without a container", err, "no answer; LXD no longer has container "+name); !strings.Contains(entity.Hint(err), "juju destroy-environment prod") {
		t.Errorf("hint %q", entity.Hint(err))
	}
	if kept, err := (lxdCloud{}).Destroy(ctx, dir, "", false); err != nil || strings.Join(kept, " ") != "p:data" {
		t.Errorf("kept %q, %v", kept, err)
	}
	// Without its record, or without LXD, it is not known what became of it.
	if down, gone := c.IsDown(ctx); down || gone {
		t.Errorf("without a record: down %v, gone %v", down, gone)
	}
	if err := c.Unreachable(away); !errors.Is(err, away) || !strings.Contains(entity.Hint(err), "lxc list") {
		t.Errorf("without a record: %v (%s)", err, entity.Hint(err))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.LXD = &lxd.Config{Endpoint: "/none"}
	_, err = create()
	says(t, "without LXD", err, "cannot create the controller: ")
	over := errors.New("it is over")
	ended, end := context.WithCancelCause(ctx)
	end(over)
	ctx = ended
	if _, err := create(); err != over {
		t.Errorf("one that is interrupted: %v", err)
	}
}

// The record of a controller gets the user's new credential; without a record there is nothing to change.
func TestCredentialOfARecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := clitest.NewPair(t)
	one := entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{lxd.ClientCert: cert, lxd.ClientKey: key}}
	if err := (lxdCloud{}).SetCredential(dir, one); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, lxdRecordName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a record is made: %v", err)
	}
	if err := (lxdRecord{"u", lxd.Config{Endpoint: "https://h:8443"}}).write(dir); err != nil {
		t.Fatal(err)
	}
	if err := (lxdCloud{}).SetCredential(dir, one); err != nil {
		t.Error(err)
	}
	if r, err := readLXDRecord(dir); err != nil || r.LXD.ClientKey != key || r.LXD.Endpoint != "https://h:8443" || r.Controller != "u" {
		t.Errorf("the record is %+v, %v", r, err)
	}
	clitest.Write(t, filepath.Join(dir, lxdRecordName), "{")
	says(t, "a damaged record", lxdCloud{}.SetCredential(dir, one), "cannot read the controller's record: ")
}

// A backup says where its controller was: it is restored there, with the name of the lost one, or elsewhere if the user says so.
func TestRestoreOnLXD(t *testing.T) {
	clitest.BinariesOnPath(t)
	f, ctx := newFakeLXD(t), t.Context()
	session, said := newSession(t)
	cert, key := clitest.NewPair(t)
	restoration := func(config map[string]any) Restoration {
		t.Helper()
		for name, value := range map[string]any{"controller": "u", "cloud": "lxd", "series": "jammy", "address": "10.0.0.9:17070",
			"ca": map[string]string{"cert": cert, "key": key}} {
			config[name] = value
		}
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w, err := backup.NewWriter(&b, backup.Manifest{Controller: "u", Cloud: "lxd"})
		if err == nil {
			err = w.Add(backup.ConfigName, text)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return Restoration{Name: "prod", Controller: "u", User: "bob", Size: int64(b.Len()),
			Backup: func() (io.Reader, error) { return bytes.NewReader(b.Bytes()), nil }}
	}
	restore := func(r Restoration) (*Bootstrapped, error) {
		progress := session.Steps("Restoring controller %q", "prod")
		defer progress.Done()
		return lxdCloud{}.Restore(ctx, t.TempDir(), r, progress)
	}
	const nowhere = "cannot restore the controller: it does not say where the controller was"
	here := map[string]any{"endpoint": path.Join(install.Root, "lxd.socket"), "host-socket": f.socket}
	_, err := restore(restoration(map[string]any{"model": "c", "addresses": []string{"10.0.0.9:17070"}}))
	says(t, "without its LXD", err, nowhere)
	_, err = restore(restoration(map[string]any{"model": "c", "lxd": here}))
	says(t, "without its addresses", err, nowhere)

	f.files[install.Bootstrapped] = `{"controller-uuid":"u","api-addresses":["10.0.0.9:17070"]}`
	whole := restoration(map[string]any{"model": "c", "addresses": []string{"10.0.0.9:17070"}, "lxd": here})
	made, err := restore(whole)
	if err != nil || made.Moved {
		t.Fatalf("%+v, %v", made, err)
	}
	var told restoreParams
	line, rest, _ := strings.Cut(f.files[install.ControllerParams], "\n")
	if err := json.Unmarshal([]byte(line), &told); err != nil || rest != "" || told.User != "bob" || strings.Join(told.Hosts, " ") != "10.0.0.9" || told.LXD.HostSocket != f.socket {
		t.Errorf("jujud is told %s, %v", f.files[install.ControllerParams], err)
	}
	if last := f.changes[len(f.changes)-1]; f.files[install.ControllerBackup] == "" || last != "PUT /instances/C" { // it is marked until then
		t.Errorf("the container has no backup, or LXD was asked %s at last", last)
	}
	f.files[install.Bootstrapped] = `{"controller-uuid":"u","api-addresses":["10.0.0.8:17070"]}`
	if made, err = restore(whole); err != nil || !made.Moved {
		t.Errorf("at another address: %+v, %v", made, err)
	}
	if !strings.Contains(said.String(), `Telling the agents the new address of controller "prod"`) {
		t.Errorf("it says %s", said.String())
	}
	whole.CloudConfig = "/none"
	_, err = restore(whole)
	says(t, "elsewhere", err, "cannot restore the controller: cannot read the cloud's configuration: open /none")
	if got := (Restoration{Size: 600 << 20}).timeout(); got != time.Hour+10*time.Minute {
		t.Errorf("a restore may take %v", got)
	}
}
