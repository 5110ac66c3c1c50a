package charms_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"juju/doc/tools/verify"
)

func newStore(t *testing.T, world, bin, name string, number int) *unit {
	u := newUnit(t, world, bin, "keyvalue", name, number)
	u.config("port", "7379")
	u.config("log-commands", "False")
	return u
}

func newPage(t *testing.T, world, bin, name string, number int) *unit {
	u := newUnit(t, world, bin, "webpage", name, number)
	u.config("port", "8080")
	u.config("title", "It works")
	return u
}

// deploy runs the first hooks of the unit.
func (u *unit) deploy() {
	u.t.Helper()
	for _, hook := range []string{"install", "config-changed", "start"} {
		u.run(hook)
	}
}

// page fetches the unit's page.
func (u *unit) page() (status int, body string) {
	u.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + u.addr + ":" + u.read("state/config/port") + "/")
	if err != nil {
		u.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (u *unit) wantVisits(want int) {
	u.t.Helper()
	status, body := u.page()
	m := regexp.MustCompile(`<b id="visits">(\d+)</b>`).FindStringSubmatch(body)
	if status != 200 || m == nil || m[1] != fmt.Sprint(want) {
		u.t.Errorf("%s: got %d: %s; want visit %d", u.name, status, body, want)
	}
	if !strings.Contains(body, `<span id="unit">`+u.name+`</span>`) {
		u.t.Errorf("not the page of %s: %s", u.name, body)
	}
}

func (u *unit) wantNoStore() {
	u.t.Helper()
	if status, body := u.page(); status != 200 || !strings.Contains(body, "This page has no store") {
		u.t.Errorf("%s: %d: %s", u.name, status, body)
	}
}

// relate runs the hooks of a new relation between a store and its clients.
func relate(number int, store *unit, pages ...*unit) {
	store.t.Helper()
	db, st := fmt.Sprint("db:", number), fmt.Sprint("store:", number)
	var members []string
	for _, p := range pages {
		members = append(members, p.name)
		store.related(db, members...)
		store.relation(db, "joined", p.name)
		store.relation(db, "changed", p.name)
		p.related(st, store.name)
		p.relation(st, "joined", store.name)
		p.relation(st, "changed", store.name)
	}
}

// unrelate runs the hooks of a relation that is removed.
func unrelate(number int, store *unit, pages ...*unit) {
	store.t.Helper()
	db, st := fmt.Sprint("db:", number), fmt.Sprint("store:", number)
	for i, p := range pages {
		p.relation(st, "departed", store.name)
		p.relation(st, "broken", "")
		p.related(st)
		var remaining []string
		for _, other := range pages[i+1:] {
			remaining = append(remaining, other.name)
		}
		store.write(fmt.Sprint("state/members/", number), strings.Join(remaining, "\n"), 0o644)
		store.relation(db, "departed", p.name)
	}
	store.relation(db, "broken", "")
	store.related(db)
}

// The life of a store and two pages: relations, configuration changes, crashes, an upgrade and removal.
func TestLifeOfAStoreAndItsPages(t *testing.T) {
	verify.Only(t, "starts real processes and takes their time")
	bin, world := buildPrograms(t), t.TempDir()
	store := newStore(t, world, bin, "store/0", 1)
	web0 := newPage(t, world, bin, "web/0", 2)
	web1 := newPage(t, world, bin, "web/1", 3)

	store.deploy()
	store.wantStatus("active: at ADDR:7379, clients: 0")
	web0.run("install")
	web0.run("config-changed")
	if pid := web0.pid(); pid != 0 {
		t.Errorf("process %d is running before the start hook", pid)
	}
	web0.run("start")
	web1.deploy()
	web0.wantStatus("blocked: at http://ADDR:8080/; no relation to a store")
	web0.wantNoStore()
	if ports := web0.read("state/ports"); ports != "8080/tcp" {
		t.Errorf("open ports: %q", ports)
	}

	// Once related, the pages share a count, which the store's own client can read.
	relate(0, store, web0, web1)
	store.wantStatus("active: at ADDR:7379, clients: 2")
	web1.wantStatus("active: at http://ADDR:8080/, counting visits in " + store.addr + ":7379")
	web0.wantVisits(1)
	web1.wantVisits(2)
	web0.wantVisits(3)
	out, err := exec.Command(filepath.Join(bin, "keyvalue"), "get", "visits:web", "--addr",
		store.addr+":7379").CombinedOutput()
	if err != nil || string(out) != "3\n" {
		t.Errorf("keyvalue get: %q, %v", out, err)
	}

	// A hook that changes nothing restarts nothing.
	before := []int{store.pid(), web0.pid(), web1.pid()}
	store.run("config-changed")
	web0.run("config-changed")
	web0.relation("store:0", "changed", "store/0")
	web1.run("start")
	if after := []int{store.pid(), web0.pid(), web1.pid()}; fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("got processes %v, want %v unchanged", after, before)
	}

	// After all programs are killed, the next hook restarts them, and the count continues.
	for _, u := range []*unit{store, web0, web1} {
		u.killProgram()
	}
	store.run("config-changed")
	for _, u := range []*unit{web0, web1} {
		u.config("title", "A <new> title; `id` $HOME \"\nof two lines")
		u.run("config-changed")
	}
	web0.wantVisits(4)
	web1.wantVisits(5)
	if _, body := web0.page(); !strings.Contains(body, "<h1>A &lt;new&gt; title; `id` $HOME &#34;\nof two lines</h1>") {
		t.Errorf("page: %s", body)
	}

	// Without a relation there is no count; a new relation continues it.
	unrelate(0, store, web0, web1)
	store.wantStatus("active: at ADDR:7379, clients: 0")
	web0.wantStatus("blocked: at http://ADDR:8080/; no relation to a store")
	web0.wantNoStore()
	web1.wantNoStore()
	relate(4, store, web0, web1)
	web0.wantVisits(7) // page() above was a visit, too

	// Both services change their ports.
	store.config("port", "7380")
	store.config("log-commands", "True")
	store.run("config-changed")
	for _, u := range []*unit{web0, web1} {
		u.relation("store:4", "changed", "store/0")
		u.config("port", "8081")
		u.run("config-changed")
	}
	web1.wantVisits(8)
	if ports := web0.read("state/ports"); ports != "8081/tcp" {
		t.Errorf("open ports: %q", ports)
	}
	if log := store.read("service/log"); !strings.Contains(log, `"INCR visits:web": "VALUE 8"`) {
		t.Errorf("the store does not log commands:\n%s", log)
	}

	// An upgrade of the charm replaces the program.
	old := web0.pid()
	program := filepath.Join(web0.charm(), "bin/webpage")
	f, err := os.OpenFile(program, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("a newer one")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	web0.run("upgrade-charm")
	web0.run("config-changed")
	if web0.pid() == 0 || web0.pid() == old {
		t.Errorf("the old program, process %d, is still running", old)
	}

	// The page does not need the charm directory.
	moved := web1.dir + "/moved"
	if err := os.Rename(web1.charm(), moved); err != nil {
		t.Fatal(err)
	}
	web1.wantVisits(9)
	if err := os.Rename(moved, web1.charm()); err != nil {
		t.Fatal(err)
	}

	unrelate(4, store, web0, web1)
	for _, u := range []*unit{web0, web1, store} {
		pid := u.pid()
		u.run("stop")
		u.run("stop") // it may be retried
		// A zombie no longer has an executable.
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); pid == 0 || err == nil {
			t.Errorf("process %d of %s runs %q after stop", pid, u.name, exe)
		}
		if ports := u.read("state/ports"); ports != "" {
			t.Errorf("%s has open ports %s after stop", u.name, ports)
		}
		u.run("config-changed")
		if pid := u.pid(); pid != 0 {
			t.Errorf("config-changed after stop started process %d of %s", pid, u.name)
		}
	}
}

// The page waits for a store that has not published its address yet, and stops using one that is
// departing.
func TestStoreWithoutAddress(t *testing.T) {
	bin, world := buildPrograms(t), t.TempDir()
	web := newPage(t, world, bin, "web/0", 4)
	web.deploy()
	web.related("store:1", "store/0")
	web.relation("store:1", "joined", "store/0")
	web.wantStatus("waiting: at http://ADDR:8080/; the store has not published its address")
	web.wantNoStore()

	store := newStore(t, world, bin, "store/0", 5)
	store.deploy()
	store.related("db:1", "web/0")
	store.relation("db:1", "joined", "web/0")
	web.relation("store:1", "changed", "store/0")
	web.wantVisits(1)

	// relation-list may still list a departing unit.
	web.relation("store:1", "departed", "store/0")
	web.wantNoStore()
	web.relation("store:1", "broken", "")
	web.wantStatus("blocked: at http://ADDR:8080/; no relation to a store")
}

func TestHookFailures(t *testing.T) {
	bin, world := buildPrograms(t), t.TempDir()

	unbuilt := newPage(t, world, "", "web/0", 6)
	if err := unbuilt.try("install"); err == nil ||
		!strings.Contains(unbuilt.read("state/log"), "the charm has no bin/webpage; see its README for how to build it") {
		t.Errorf("install without a program: %v\n%s", err, unbuilt.read("state/log"))
	}

	page := newPage(t, world, bin, "web/1", 7)
	page.config("port", "70000")
	page.deploy()
	page.wantStatus("blocked: port must be between 1 and 65535, not 70000")
	other, err := net.Listen("tcp", page.addr+":8080")
	if err != nil {
		t.Fatal(err)
	}
	page.config("port", "8080")
	if err := page.try("config-changed"); err == nil ||
		!strings.Contains(page.read("state/log"),
			"cannot start webpage: webpage: listen tcp "+page.addr+":8080: bind: address already in use") {
		t.Errorf("config-changed with a port in use: %v\n%s", err, page.read("state/log"))
	}
	if ports := page.read("state/ports"); ports != "" {
		t.Errorf("open ports: %q", ports)
	}
	other.Close()
	page.run("config-changed") // as after juju resolved
	page.wantNoStore()
}

// If another process has reused the recorded process id, stop leaves it alone.
func TestStopIgnoresAReusedPID(t *testing.T) {
	bin, world := buildPrograms(t), t.TempDir()
	page := newPage(t, world, bin, "web/0", 8)
	page.deploy()
	page.killProgram()
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	page.write("service/pid", strconv.Itoa(bystander.Process.Pid), 0o644)
	page.run("stop")
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("signal to the bystander: %v", err)
	}
}

// The program does not inherit the hook's credentials or output. It keeps the rest of the environment,
// which juju uses to identify the unit's processes.
func TestProgramIsDetachedFromTheHook(t *testing.T) {
	bin, world := buildPrograms(t), t.TempDir()
	store := newStore(t, world, bin, "store/0", 9)
	store.deploy()
	proc := fmt.Sprintf("/proc/%d/", store.pid())
	env, err := os.ReadFile(proc + "environ")
	if err != nil || strings.Contains(string(env), "of-the-hook") ||
		!strings.Contains(string(env), "JUJU_UNIT_NAME=store/0\x00") {
		t.Errorf("environment %q, %v", env, err)
	}
	if cwd, err := os.Readlink(proc + "cwd"); err != nil || cwd != filepath.Join(store.dir, "service") {
		t.Errorf("working directory %s, %v", cwd, err)
	}
	for fd, want := range map[string]string{"0": "/dev/null", "2": filepath.Join(store.dir, "service/log")} {
		if target, err := os.Readlink(proc + "fd/" + fd); err != nil || target != want {
			t.Errorf("file descriptor %s: got %s, %v; want %s", fd, target, err, want)
		}
	}
	if target, err := os.Readlink(proc + "fd/1"); err == nil && strings.HasPrefix(target, "pipe:") {
		t.Errorf("the program holds the hook's output open: %s", target)
	}
}

// Each charm must be self-contained, so both have a copy of service.sh.
func TestSharedScriptsAreEqual(t *testing.T) {
	a, err := os.ReadFile("keyvalue/lib/service.sh")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile("webpage/lib/service.sh"); err != nil || string(a) != string(b) {
		t.Errorf("lib/service.sh differs between the charms (%v)", err)
	}
}
