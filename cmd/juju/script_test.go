package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/agent/host/process"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/store"
	"juju/doc/tools/verify"
	"juju/provider/local"
	"juju/state/entity"
)

// Scripts in testdata:
//
//	script/   needs no controller; juju is this test's own binary, in $ONLY_JUJU
//	landing/  the whole system, by the binaries that `make build` makes: what must work before a change lands
//	traces/   as landing/, also with OpenTelemetry's collector
//	system/   as landing/
//	network/  as landing/, about the network: system/ is full
//	libraries/ as landing/, with charms on libraries of others; see TestCharmLibraries
//
// Besides testscript's own commands there are
//
//	exits CODE COMMAND...    the command ends with that exit code
//	says UNIT PATTERN...     waits until the message of the unit's status matches
//	page UNIT [TEXT]         prints the page that a unit serves, once it has the text
//	kill-9 WHAT...           kills keeper, controller, machine N, unit NAME, or node N: a controller of enable-ha
//	signal SIGNAL WHAT...    sends a signal to these: STOP or CONT
//	alive WHAT...            waits until those run; with ! until they don't
//	build VERSION DIR [FILE] builds all binaries with another version, and with a file more in state/controller
//	nothing-left             there is no process and no file of juju's
//	filled FILE              waits until something is in the file
//	record FILE LINE COMMAND... runs the command on a terminal, and adds it to a recording as if LINE were typed
//	recorded FILE KEPT       the recording shows what the one that is kept shows
//	follow PAGE [HEADING]    does what the page says, or its part below the heading, and compares what it shows
//	collector                starts a collector of traces, at $COLLECTOR
//	traced NAME [KEY=VALUE...] below NAME...  waits for a span so, below those, and prints its trace; ! NAME: no span has that
//	unseen TEXT...           these stand in no file but accounts.yaml, and in no process's arguments
//
// and in system scripts the conditions [namespaces] (a user can create a namespace) and [soak] (JUJU_SOAK is set) and
// the variables $BIN (the binaries), $CHARMS (the built example charms) and $EXAMPLES (doc/examples).

func TestMain(m *testing.M) {
	// Scripts of the whole system mostly wait, so run more of them in parallel than there are
	// processors.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"juju": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			data := filepath.Join(env.WorkDir, "data")
			// testscript puts the directory of this test's juju first.
			juju := filepath.SplitList(env.Getenv("PATH"))[0]
			env.Setenv("JUJU_DATA", data)
			env.Setenv("ONLY_JUJU", juju)
			env.Defer(func() { sweep(t, juju, data) })
			return nil
		},
		Cmds: scriptCommands,
	})
}

// runScripts runs scripts, and removes the directory of all of them at the end. testscript itself keeps it if -run selects
// only some of them.
func runScripts(t *testing.T, p testscript.Params) {
	t.Helper()
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		t.Cleanup(func() { os.Remove(filepath.Dir(env.WorkDir)) }) // fails if -testwork keeps what is in it
		return setup(env)
	}
	testscript.Run(t, p)
}

// TestLanding runs the few stories of `make test`.
func TestLanding(t *testing.T) {
	runSystem(t, func(*testscript.Env) {}, "landing", "traces")
}

func TestSystem(t *testing.T) {
	verify.Only(t, "runs whole systems in real processes")
	runSystem(t, func(*testscript.Env) {}, "system", "clouds", "network", "upgrades")
}

// runSystem runs the scripts of folders in testdata; more sets more variables.
func runSystem(t *testing.T, more func(*testscript.Env), folders ...string) {
	t.Helper()
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no scripts in %s: %v", folder, err)
		}
		files = append(files, found...)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	bin, charms := buildSystem(t, root)
	runScripts(t, testscript.Params{
		Files: files, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			data := filepath.Join(env.WorkDir, "data")
			env.Setenv("JUJU_DATA", data)
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("BIN", bin)
			env.Setenv("CHARMS", charms)
			env.Setenv("CYCLES", cycles())
			env.Setenv("TRIALS", "1")
			if os.Getenv("JUJU_SOAK") != "" {
				env.Setenv("TRIALS", "5")
			}
			env.Setenv("EXAMPLES", filepath.Join(root, "doc", "examples"))
			more(env)
			env.Defer(func() {
				sweep(t, bin, data)
				sweep(t, bin, filepath.Join(env.WorkDir, "clone", ".demo"))
			})
			env.Defer(func() { explain(env.T(), bin, data) })
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "soak":
				return os.Getenv("JUJU_SOAK") != "", nil
			case "ubuntu":
				return entity.BaseOf(local.HostSeries()).Name == "ubuntu", nil
			case "namespaces":
			default:
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run() == nil, nil
		},
		Cmds: scriptCommands,
	})
}

// cycles is how often scripts repeat their loops.
func cycles() string {
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		return "5"
	case testing.Short():
		return "1"
	}
	return "2"
}

// buildSystem builds all binaries and the example charms.
func buildSystem(t testing.TB, root string) (bin, charms string) {
	t.Helper()
	verify.NoRace(t)
	bin, charms = t.TempDir(), t.TempDir()
	targets := map[string][]string{bin + "/": binaryPackages}
	for _, name := range []string{"keyvalue", "webpage"} {
		dir := filepath.Join("doc", "examples", "charms", name)
		if err := os.CopyFS(filepath.Join(charms, name), os.DirFS(filepath.Join(root, dir))); err != nil {
			t.Fatal(err)
		}
		targets[filepath.Join(charms, name, "bin", name)] = []string{"./" + filepath.Join(dir, "src")}
	}
	for _, packages := range targets {
		for _, p := range packages {
			if files, err := filepath.Glob(filepath.Join(root, p, "*.go")); err != nil || len(files) == 0 {
				t.Skipf("%s is not there", p)
			}
		}
	}
	look(t, root)
	for output, packages := range targets {
		if err := build(t.Context(), root, output, packages); err != nil {
			t.Fatal(err)
		}
	}
	return bin, charms
}

// binaryPackages are the packages of our binaries.
var binaryPackages = []string{"./cmd/juju", "./cmd/jujud", "./cmd/machine-agent", "./cmd/unit-agent", "./cmd/hook-tool"}

// build builds packages with the Makefile's flags, so that both share a build cache.
func build(ctx context.Context, root, output string, packages []string, flags ...string) error {
	args := append(append([]string{"build", "-trimpath", "-o", output}, flags...), packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %v: %w\n%s", packages, err, text)
	}
	return nil
}

// scriptBuild builds all binaries with another version, as if from commit c0ffee.
func scriptBuild(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: build VERSION DIR [FILE]")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	ts.Check(err)
	// Without symbols, binaries are linked in half the time, and the archive of them is half as large.
	flags := []string{"-ldflags", "-s -w -X juju/agent.commit=c0ffee -X juju/agent.Version=" + args[0]}
	if len(args) == 3 {
		text, err := json.Marshal(map[string]map[string]string{"Replace": {
			filepath.Join(root, "state", "controller", "added.go"): ts.MkAbs(args[2])}})
		ts.Check(err)
		overlay := ts.MkAbs("overlay.json")
		ts.Check(os.WriteFile(overlay, text, 0o600))
		flags = append(flags, "-overlay", overlay)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	ts.Check(build(ctx, root, args[1]+"/", binaryPackages, flags...))
}

// look reads all sources, so that go test does not use a cached result when one of them has
// changed.
func look(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "bin") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// explain prints the last that the controllers of a failed script say, before it is swept away.
func explain(t testscript.T, bin, data string) {
	if one, ok := t.(interface{ Failed() bool }); !ok || !one.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
	defer cancel()
	for _, args := range [][]string{{"status"}, {"status", "-m", "controller"}, {"debug-log", "--no-tail", "-n", "40"},
		{"debug-log", "--no-tail", "-n", "80", "-m", "controller"}} {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "juju"), args...)
		cmd.Env = append(os.Environ(), "JUJU_DATA="+data)
		text, err := cmd.CombinedOutput()
		t.Log(fmt.Sprintf("juju %s: %v\n%s", strings.Join(args, " "), err, text))
	}
}

// sweep kills the processes that a script left running.
func sweep(t testing.TB, bin, data string) {
	st, err := store.New(data)
	if err != nil {
		t.Error(err)
		return
	}
	contents, err := st.Read()
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
	defer cancel()
	for _, name := range contents.Names() {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "juju"), "destroy-environment", name, "-y", "-q")
		cmd.Env = append(os.Environ(), "JUJU_DATA="+data)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("cannot destroy what a script left: %v\n%s", err, text)
		}
	}
	if processesOf(t, data) {
		t.Errorf("processes are left of a script in %s", data)
		if err := process.EndMarked(ctx, "JUJU_DATA", func(value, _ string) bool { return value == data }, 0); err != nil {
			t.Error(err)
		}
	}
}

// processesOf reports whether any process is running that a script started, directly or
// indirectly.
func processesOf(t interface{ Error(...any) }, data string) bool {
	marks, err := process.Marks("JUJU_DATA")
	if err != nil {
		t.Error(err)
	}
	return slices.Contains(marks, data)
}

var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"exits":        scriptExits,
	"page":         scriptPage,
	"post":         scriptPost,
	"metrics":      scriptMetrics,
	"collector":    scriptCollector,
	"traced":       scriptTraced,
	"json-log":     scriptJSONLog,
	"says":         scriptSays,
	"kill-9":       scriptKill,
	"signal":       scriptSignal,
	"alive":        scriptAlive,
	"nothing-left": scriptNothingLeft,
	"await-task":   scriptAwaitTask,
	"process":      scriptProcess,
	"unseen":       scriptUnseen,
	"filled":       scriptFilled,
	"env-file":     scriptEnvFile,
	"build":        scriptBuild,
	"terminal":     scriptTerminal,
	"view":         scriptView,
	"record":       scriptRecord,
	"follow":       scriptFollow,
	"recorded":     scriptRecorded,
}

func noNot(ts *testscript.TestScript, neg bool) {
	if neg {
		ts.Fatalf("it takes no !")
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	if said := ts.ReadFile("stderr"); clitest.Doubled(said) != "" {
		ts.Fatalf("it says %q twice:\n%s", clitest.Doubled(said), said)
	}
}

// eventually waits until a condition on other processes holds.
func eventually(ts *testscript.TestScript, what string, holds func() bool) {
	eventuallyOr(ts, what, holds, func() string { return "" })
}

// eventuallyOr is eventually; if it gives up, it says why.
func eventuallyOr(ts *testscript.TestScript, what string, holds func() bool, why func() string) {
	for end := time.Now().Add(verify.Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("gave up waiting: %s\n%s", what, why())
		}
	}
}

// scriptPage fetches the page that a unit serves, until it has the text, if one is given. With "!" it
// waits until the page can't be fetched.
func scriptPage(ts *testscript.TestScript, neg bool, args []string) {
	var page string
	eventually(ts, fmt.Sprintf("page %q, %v", args, !neg), func() bool {
		var err error
		// A change of the page restarts its program, which is briefly unavailable.
		if page, err = pageOf(ts, args[0]); err != nil || neg {
			return (err != nil) == neg
		}
		return len(args) == 1 || strings.Contains(page, args[1])
	})
	_, err := io.WriteString(ts.Stdout(), page)
	ts.Check(err)
}

// scriptPost posts a form to the page that a unit serves, until the answer has the text.
func scriptPost(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) != 3 {
		ts.Fatalf("usage: post UNIT FORM TEXT")
	}
	form, err := url.ParseQuery(args[1])
	ts.Check(err)
	eventually(ts, fmt.Sprintf("post %q", args), func() bool {
		page, err := fetch(ts, args[0], func(c *http.Client, url string) (*http.Response, error) {
			return c.PostForm(url, form)
		})
		return err == nil && strings.Contains(page, args[2])
	})
}

// pageOf fetches the page that a unit serves.
func pageOf(ts *testscript.TestScript, name string) (string, error) {
	return fetch(ts, name, (*http.Client).Get)
}

// fetch sends a request to the port that a unit has open, and returns the body of the answer.
func fetch(ts *testscript.TestScript, name string, send func(*http.Client, string) (*http.Response, error)) (string,
	error) {
	ts.Check(ts.Exec("juju", "status", "--format", "json"))
	var status struct {
		Applications map[string]struct {
			Units map[string]struct {
				Address string   `json:"public-address"`
				Ports   []string `json:"open-ports"`
			} `json:"units"`
		} `json:"applications"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &status))
	service, _, _ := strings.Cut(name, "/")
	unit := status.Applications[service].Units[name]
	if len(unit.Ports) != 1 {
		ts.Fatalf("unit %s has ports %q open", name, unit.Ports)
	}
	client := http.Client{Timeout: verify.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := send(&client, "http://"+unit.Address+":"+strings.TrimSuffix(unit.Ports[0], "/tcp")+"/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// holders returns the directories in which agents run, by agent.
func holders(ts *testscript.TestScript) map[string]string {
	found := map[string]string{}
	add := func(name func(dir string) string, pattern ...string) {
		dirs, err := filepath.Glob(filepath.Join(append([]string{ts.Getenv("JUJU_DATA"), "local", "*"}, pattern...)...))
		ts.Check(err)
		for _, dir := range dirs {
			found[name(dir)] = dir
		}
	}
	fixed := func(name string) func(string) string { return func(string) string { return name } }
	add(fixed("keeper"), filepath.Base(local.KeeperDir("x")))
	add(fixed("controller"), filepath.Base(local.ControllerDir("x")))
	add(func(dir string) string {
		kind := "machine "
		if _, err := os.Stat(filepath.Join(dir, local.ControllerConfigName)); err == nil {
			kind = "node "
		}
		return kind + strings.Split(filepath.Base(dir), "-")[1]
	}, "machines", "*",
		"local-*", "agents", "machine-*")
	add(func(dir string) string {
		parts := strings.Split(filepath.Base(dir), "-")
		return "unit " + strings.Join(parts[1:len(parts)-1], "-") + "/" + parts[len(parts)-1]
	}, "machines", "*", "local-*", "agents", "unit-*")
	return found
}

// holdersOf returns the directories that the arguments name.
func holdersOf(ts *testscript.TestScript, args []string) (dirs []string) {
	all := holders(ts)
	for i := 0; i < len(args); i++ {
		what := args[i]
		if what == "machine" || what == "unit" || what == "node" {
			i++
			what += " " + args[i]
		}
		dir, ok := all[what]
		if !ok {
			ts.Fatalf("there is no %s, but %v", what, all)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// scriptAwaitTask waits until a task has a status.
func scriptAwaitTask(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	eventually(ts, fmt.Sprintf("task %q", args), func() bool {
		ts.Check(ts.Exec("juju", "show-task", args[0]))
		return strings.Contains(ts.ReadFile("stdout"), "\nstatus: "+args[1]+"\n")
	})
}

// scriptProcess waits until a process has these words in its command line, or none has.
func scriptProcess(ts *testscript.TestScript, neg bool, args []string) {
	eventually(ts, fmt.Sprintf("process %q, or none: %v", args, neg), func() bool {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		ts.Check(err)
		return neg != slices.ContainsFunc(files, func(file string) bool {
			line, _ := os.ReadFile(file) // a process may have ended
			return strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), args[0])
		})
	})
}

func scriptSignal(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	signals := map[string]syscall.Signal{"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
	for _, dir := range holdersOf(ts, args[1:]) {
		p, err := process.Holder(dir)
		ts.Check(err)
		ts.Check(syscall.Kill(p.PID, signals[args[0]]))
	}
}

func scriptKill(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	dirs := holdersOf(ts, args)
	var killed []process.Identity
	for _, dir := range dirs { // all of them, before any can be started again
		id, err := process.Holder(dir)
		ts.Check(err)
		ts.Check(syscall.Kill(id.PID, syscall.SIGKILL))
		killed = append(killed, id)
	}
	for _, id := range killed {
		eventually(ts, fmt.Sprintf("the end of process %d", id.PID), func() bool { return !id.Alive() })
	}
}

func scriptAlive(ts *testscript.TestScript, neg bool, args []string) {
	for _, dir := range holdersOf(ts, args) {
		eventually(ts, fmt.Sprintf("%s: alive is %v", dir, neg), func() bool {
			alive, err := process.Alive(dir)
			ts.Check(err)
			return alive != neg
		})
	}
}

func scriptNothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	data := ts.Getenv("JUJU_DATA")
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		var left []string
		_ = filepath.WalkDir(data, func(path string, _ fs.DirEntry, _ error) error {
			left = append(left, path)
			return nil
		})
		ts.Fatalf("files are left (%v): %v", err, left)
	}
	if processesOf(failing{ts}, data) {
		ts.Fatalf("processes are left")
	}
}

type failing struct{ ts *testscript.TestScript }

func (f failing) Error(args ...any) { f.ts.Fatalf("%s", fmt.Sprint(args...)) }
