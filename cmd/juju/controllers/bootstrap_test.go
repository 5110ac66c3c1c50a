package controllers_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/store"
	"juju/cmd/juju/wait/waittest"
	"juju/provider/local"
	"juju/state/entity"
)

// newcomer returns a user who has no controller.
func newcomer(t *testing.T) *clitest.User {
	t.Helper()
	u := newUser(t)
	u.Note(func(c *store.Contents) { delete(c.Controllers, "prod") })
	return u
}

// left checks whether a bootstrap left anything.
func left(u *clitest.User, nothing bool) {
	u.T.Helper()
	_, err := os.Stat(u.Env["JUJU_DATA"])
	if nothing != errors.Is(err, fs.ErrNotExist) {
		u.T.Errorf("the user's directory: %v", err)
	}
}

func TestBootstrapWithoutBinaries(t *testing.T) {
	u := newcomer(t)
	t.Setenv("PATH", t.TempDir())
	u.Types("bootstrap")
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR cannot find jujud: it is neither in ") ||
		!strings.HasSuffix(u.Err.String(),
			" nor on PATH\nInstall all of juju's binaries in one directory, or build them there: make build\n") {
		t.Errorf("exit code %d, said\n%s", u.Code, u.Err.String())
	}
	dir := clitest.BinariesOnPath(t, "jujud", "unit-agent", "hook-tool")
	u.Types("bootstrap")
	u.Sees(1, "", "ERROR cannot find machine-agent: it is not in "+dir+", where jujud is\n"+
		"Install all of juju's binaries in one directory, or build them there: make build\n")
	left(u, true)
}

func TestBootstrapRefusals(t *testing.T) {
	u := newUser(t)
	clitest.BinariesOnPath(t)
	u.Types("bootstrap", "mycloud")
	u.Sees(1, "", "ERROR cloud \"mycloud\" not found\nValid clouds: local, lxd\nTo give the controller a name: juju "+
		"bootstrap local NAME\n")
	u.Types("bootstrap", "local", "prod")
	u.Sees(1, "", "ERROR controller \"prod\" already exists\n"+
		"To use another name: juju bootstrap local NAME; to destroy the existing controller: juju destroy-environment prod\n")
	dir := clouds.Dir(u.Store(), "local", "half")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	u.Types("bootstrap", "local", "half")
	u.Sees(1, "", "ERROR "+dir+" already exists: a bootstrap of controller \"half\" did not finish\n"+
		"To clean up before you bootstrap again: juju destroy-environment half\n")
	u.Types("destroy-environment", "half", "-y")
	u.Sees(0, "", "Destroying controller \"half\" and everything in it\nController \"half\" is destroyed.\n")
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A failed bootstrap leaves nothing, unless --keep-broken is given.
func TestFailedBootstrap(t *testing.T) {
	u := newcomer(t)
	bin := clitest.BinariesOnPath(t)
	u.Types("bootstrap", "-q")
	u.Sees(1, "", "ERROR not today\nCome back tomorrow\n")
	left(u, true)

	u.Types("bootstrap", "-q", "--keep-broken")
	dir := clouds.Dir(u.Store(), "local", "local")
	u.Sees(1, "", "ERROR not today\nCome back tomorrow\nWhat was created is kept in "+dir+". To remove it: juju "+
		"destroy-environment local\n")
	if !isDir(dir) {
		t.Errorf("nothing is left")
	}
	u.Types("destroy-environment", "local", "-y", "-q")
	u.Sees(0, "", "")
	left(u, true)

	jujud := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "jujud"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for script, want := range map[string]string{
		"echo nonsense":                  "ERROR cannot read jujud's description of the new controller: ",
		`echo '{"controller-uuid":"x"}'`: "ERROR cannot use jujud's description of the new controller: ",
		"echo panic: oh >&2; exit 2":     "ERROR cannot create the controller: jujud: exit status 2\n  panic: oh\n",
		"echo ERROR the disk is full >&2; echo Make room. >&2; echo Then again. >&2; exit 1": "ERROR the disk is " +
			"full\nMake room.\nThen again.\n",
		"kill -9 $$": "ERROR cannot create the controller: jujud: signal: killed\n",
	} {
		jujud(script)
		u.Types("bootstrap", "-q")
		if u.Code != 1 || !strings.HasPrefix(u.Err.String(), want) {
			t.Errorf("%s: exit code %d, said\n%s", script, u.Code, u.Err.String())
		}
		left(u, true)
	}

	// An interrupted bootstrap leaves nothing either. The script opens the FIFO when it runs,
	// and never ends by itself.
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	jujud("exec 3>" + fifo + "; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if f, err := os.Open(fifo); err == nil {
			f.Close()
		}
	}()
	u.TypesUntil(ctx, "bootstrap", "-q")
	u.Sees(1, "", "ERROR interrupted\n")
	left(u, true)
}

// What jujud warns of is shown, also if the controller then does not start.
func TestBootstrapShowsWarnings(t *testing.T) {
	u := newcomer(t)
	bin := clitest.BinariesOnPath(t)
	script := `mkdir -p $3/keeper.json/x # so that it can't start
echo '{"controller-uuid":"x","api-addresses":["127.0.0.1:1"],"models":{"default":"y"},"warnings":["few files"]}'`
	if err := os.WriteFile(filepath.Join(bin, "jujud"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	u.Types("bootstrap")
	if u.Code != 1 || strings.Count(u.Err.String(), "\nWARNING few files\n") != 1 || !strings.Contains(u.Err.String(), "\nERROR ") {
		t.Errorf("exit code %d, said\n%s", u.Code, u.Err.String())
	}
	left(u, true)
}

// The password is never on a command line, and is different each time.
func TestBootstrapParams(t *testing.T) {
	u := newcomer(t)
	bin := clitest.BinariesOnPath(t)
	seen := filepath.Join(bin, "seen")
	if err := os.WriteFile(filepath.Join(bin, "jujud"),
		[]byte("#!/bin/sh\necho \"$@\" >>"+seen+"\ncat >>"+seen+"\necho >>"+seen+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		u.Types("bootstrap", "local", "mine", "--config", "default-series="+local.HostSeries(), "--config",
			"provisioner-harvest-mode=none")
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	dir := clouds.Dir(u.Store(), "local", "mine")
	if len(lines) != 4 || lines[0] != "bootstrap --dir "+dir || lines[1] == lines[3] ||
		!strings.HasPrefix(lines[1],
			`{"name":"mine","cloud":"local","series":"`+local.HostSeries()+`","user":"admin","password":"`) ||
		!strings.HasSuffix(lines[1], `,"config":{"provisioner-harvest-mode":"none"}}`) || len(lines[1]) < 100 {
		t.Errorf("jujud saw\n%s", text)
	}
}

// Without a yes, the controller stays.
func TestDestroyEnvironmentAsks(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) { c.Controllers["prod"].Cloud = "local" })
	const question = "This destroys controller \"prod\" with all its models, services and machines,\n" +
		"and removes all their data, but not their storage. Continue? [y/N] "
	for _, answer := range []string{"\n", "n\n", "prod\n", ""} {
		u.Session.Stdin = strings.NewReader(answer)
		u.Session.ErrTerminal, u.Env["NO_COLOR"] = true, "1"
		u.Types("destroy-environment", "prod")
		u.Sees(1, "", question+"ERROR nothing was destroyed\nTo destroy it without confirmation: juju destroy-environment "+
			"prod -y\n")
	}
	u.Session.ErrTerminal = false
	u.Session.Stdin = strings.NewReader("")
	u.Types("destroy-controller", "prod", "--destroy-all-models")
	u.Sees(1, "", question+"\nERROR nothing was destroyed\nTo destroy it without confirmation: juju "+
		"destroy-environment prod -y\n")
	u.Types("destroy-environment", "nope", "-y")
	u.Sees(1, "", "ERROR controller \"nope\" not found\nKnown controllers: prod\n")
	u.Types("destroy-environment")
	u.Sees(2, "", "ERROR no controller specified\nKnown controllers: prod\n")
	if c, err := u.Store().Read(); err != nil || len(c.Controllers) != 1 {
		t.Errorf("it is forgotten: %v", err)
	}
	u.Session.Stdin = strings.NewReader("yes\n")
	u.Types("kill-controller", "prod", "-q")
	u.Sees(0, "", question)
	left(u, true)
	u.Note(func(c *store.Contents) { c.Controllers["prod"] = &store.Controller{Cloud: "local"} })
	u.Types("destroy-controller", "prod", "--destroy-all-models", "--no-prompt", "-q")
	u.Sees(0, "", "")
	left(u, true)
}

// destroy-controller refuses a controller with models in use, and names them; one that does not answer too.
func TestDestroyControllerRefusesModelsInUse(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) { c.Controllers["prod"].Cloud = "local" })
	u.Controller.Add("admin", "shop")
	connect := u.Session.ConnectController
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return nil, errors.New("no answer") }
	const hint = "To destroy it and all its models: juju destroy-controller --destroy-all-models prod\n"
	u.Types("destroy-controller", "prod", "-y")
	u.Sees(1, "", "ERROR cannot determine whether controller \"prod\" has models in use: no answer\n"+hint)
	u.Session.ConnectController = connect
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=active web/1=active 0=started")}
	u.Types("destroy-controller", "prod", "-y")
	u.Sees(1, "", "ERROR cannot destroy controller \"prod\": it has models in use: "+
		"admin/shop (services: 1, units: 2, machines: 1)\n"+hint)
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("")}
	u.Types("destroy-controller", "prod", "-y", "-q")
	u.Sees(0, "", "")
}

// A controller's end names the storage that it leaves, and not that of earlier ones.
func TestOnlyItsOwnStorageIsNamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	for _, model := range []string{"earlier", "own"} {
		clitest.Write(t, filepath.Join(local.Released(dir), model, "data-0", "file"), "x")
	}
	imported := filepath.Join(local.Released(dir), "earlier", "data-1")
	clitest.Write(t, filepath.Join(imported, "file"), "x")
	clitest.Write(t, filepath.Join(dir, "earlier"), "earlier/data-0\nearlier/data-1")
	clitest.Write(t, filepath.Join(dir, "storage", "own", "file"), "x")
	if err := os.Symlink(imported, filepath.Join(dir, "storage", "own", "disk-2")); err != nil {
		t.Fatal(err)
	}
	kept, err := clouds.Homes["local"].Destroy(t.Context(), dir, "", false)
	want := []string{imported, filepath.Join(local.Released(dir), "own", "data-0")}
	if err != nil || !slices.Equal(kept, want) {
		t.Errorf("kept are %q (%v), want %q", kept, err, want)
	}
}

// The URL of a MongoDB contains a password. However it is given, it goes to jujud on standard
// input, and nowhere else.
func TestBootstrapOnAMongoDB(t *testing.T) {
	u := newcomer(t)
	bin := clitest.BinariesOnPath(t)
	seen := filepath.Join(bin, "seen")
	script := "#!/bin/sh\necho \"$@\" >" + seen + "\nenv >>" + seen + "\necho === >>" + seen + "\ncat >>" + seen +
		"\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "jujud"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	const url = "mongodb://juju:s3cret@db1,db2/?replicaSet=rs0"
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("\n "+url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ variable, flag, want string }{
		"nowhere":               {"", "", ""},
		"the flag":              {"", url, url},
		"a file":                {"", "@" + file, url},
		"the variable":          {url, "", url},
		"a file by variable":    {"@" + file, "", url},
		"the flag all the same": {"mongodb://other", url, url},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JUJU_MONGO_URL", test.variable)
			args := []string{"bootstrap", "-q"}
			if test.flag != "" {
				args = append(args, "--mongo-url", test.flag)
			}
			u.Types(args...)
			text, err := os.ReadFile(seen)
			if err != nil {
				t.Fatal(err)
			}
			before, input, _ := strings.Cut(string(text), "===\n")
			var params clouds.BootstrapParams
			if err := json.Unmarshal([]byte(input), &params); err != nil {
				t.Fatal(err)
			}
			if params.MongoURL != test.want {
				t.Errorf("jujud is given %q", params.MongoURL)
			}
			if strings.Contains(before, "mongodb://") || strings.Contains(u.Err.String(), "s3cret") {
				t.Errorf("it is in the arguments, the environment or in what was said:\n%s\n%s", before, u.Err.String())
			}
		})
	}
	u.Types("bootstrap", "--mongo-url", "@/none/there")
	u.Sees(1, "", "ERROR cannot read the URL of the MongoDB: open /none/there: no such file or directory\n")
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.Types("bootstrap", "--mongo-url", "@"+file)
	u.Sees(1, "", "ERROR cannot read the URL of the MongoDB: "+file+" is empty\n")
	left(u, true)
}

// Two bootstraps of one name don't overlap. The second one's error does not tell the user to
// remove what the first is creating.
func TestConcurrentBootstraps(t *testing.T) {
	u := newcomer(t)
	clitest.BinariesOnPath(t)
	dir := clouds.Dir(u.Store(), "local", "local")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := store.LockDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	u.Types("bootstrap", "-q")
	u.Sees(1, "", "ERROR controller \"local\" is being created or destroyed by another juju command\n"+
		"Wait until it is done, or use another name: juju bootstrap local NAME\n")
	unlock()
	u.Types("bootstrap", "-q")
	u.Sees(1, "", "ERROR "+dir+" already exists: a bootstrap of controller \"local\" did not finish\n"+
		"To clean up before you bootstrap again: juju destroy-environment local\n")
}

// What can't be a cloud of LXD is refused, and nothing is created.
func TestBootstrapOnLXDRefusals(t *testing.T) {
	u := newcomer(t)
	t.Setenv("LXD_SOCKET", filepath.Join(t.TempDir(), "socket"))
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "lxd.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lxd", "--cloud-config", file("endpiont: /x")}, "ERROR cannot read the configuration of LXD: "},
		{[]string{"lxd", "--cloud-config", file("endpoint: ftp://x")}, "ERROR cannot use LXD: \"ftp://x\" is neither a " +
			"socket path nor https://HOST:PORT\n"},
		{[]string{"lxd", "--cloud-config", "/none"}, "ERROR cannot read the cloud's configuration: open /none: "},
		{[]string{"lxd", "--bootstrap-constraints", "mem=much"}, "ERROR bad \"mem\" constraint: "},
		{[]string{"lxd", "--bootstrap-constraints", "mem=1G spaces=^dmz"}, "ERROR cannot use the constraint \"spaces\": the spaces of a model are " +
			"added when its controller runs\n"},
		{[]string{"lxd"}, "ERROR cannot bootstrap: LXD at "},
		{[]string{"local", "--constraints", "mem=much"}, "ERROR bad \"mem\" constraint: "},
		{[]string{"local", "--add-model", "X"}, "ERROR \"X\" is not a valid name: model names may "},
		{[]string{"local", "-d", "controller"}, "ERROR cannot call the first model \"controller\": "},
		{[]string{"local", "--bootstrap-constraints", "mem=1G"}, "ERROR cannot use --cloud-config or " +
			"--bootstrap-constraints on cloud \"local\": "},
		{[]string{"local", "--cloud-config", "/none"}, "ERROR cannot use --cloud-config or --bootstrap-constraints"},
	} {
		u.Types(append([]string{"bootstrap"}, c.args...)...)
		if u.Code == 0 || !strings.HasPrefix(u.Err.String(), c.want) {
			t.Errorf("%q: exit code %d, said\n%s, want\n%s", c.args, u.Code, u.Err.String(), c.want)
		}
		left(u, true)
	}
}

// What an interrupted bootstrap on LXD has left on this host is found and removed.
func TestInterruptedBootstrapOnLXD(t *testing.T) {
	t.Parallel()
	u := newcomer(t)
	if err := os.MkdirAll(clouds.Dir(u.Store(), "lxd", "half"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clouds.Dir(u.Store(), "lxd", "half"), "lxd.json.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.Types("destroy-environment", "half", "-y", "-q")
	u.Sees(0, "", "")
	left(u, true)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
