package dashboard_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"juju/apiserver"
	"juju/apiserver/debuglog"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/cmd/juju/embedded"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// playsCommand is set in the process of a command, which this program runs as the controller's would.
var playsCommand = flag.Bool("command", false, "run a command of a user")

func TestMain(m *testing.M) {
	flag.Parse()
	if *playsCommand {
		code, err := embedded.Run(context.Background(), os.Stdin)
		if err != nil {
			fmt.Println("ERROR", err)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A site is a controller whose dashboard a browser shows. It has no agents: tests do what these would.
type site struct {
	testing.TB
	controller *controller.Controller
	st         *state.State // the model "default"
	logs       *logs.Store
	address    string
	end        func() // of serving
}

// keyPair is made once, since keys take time to make.
var keyPair = sync.OnceValues(func() (*tls.Config, error) {
	ca, err := apiserver.NewCA("deadbeef-0000-4000-8000-000000000001", time.Now())
	if err != nil {
		return nil, err
	}
	server, err := apiserver.NewServerCert(ca, nil, time.Now())
	if err != nil {
		return nil, err
	}
	return apiserver.TLSConfig(server)
})

func newSite(t testing.TB) *site {
	t.Helper()
	c, st := statetest.Controller(t)
	s := &site{TB: t, controller: c, st: st, address: "127.0.0.1:0"}
	var err error
	if s.logs, err = logs.Open(t.TempDir(), 1<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.logs.Close() })
	s.serve()
	t.Cleanup(func() { s.end() })
	return s
}

func (s *site) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// serve begins to serve, at the same address as before.
func (s *site) serve() {
	s.Helper()
	config, err := keyPair()
	s.ok(err)
	server, err := apiserver.New(s.Context(), apiserver.Config{
		Config: facades.Config{Controller: s.controller, Version: "1.2.3", Series: "jammy", API: func() ([]string, string) { return nil, "" }},
		TLS:    config, Logs: s.logs, TempDir: s.TempDir(), Addresses: func() []string { return []string{s.address} },
		CommandLine: []string{os.Args[0], "-command"},
	})
	s.ok(err)
	l := verify.Listen(s, s.address)
	s.address = l.Addr().String()
	ctx, stop := context.WithCancelCause(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(ctx, l) }()
	s.end = sync.OnceFunc(func() {
		stop(errors.New("the test stops the controller"))
		s.ok(<-stopped)
	})
}

// visit opens a browser and logs the administrator in.
func (s *site) visit() *tab {
	s.Helper()
	b := openTab(s, "https://"+s.address)
	code, _, err := s.controller.CreateLogin(s.Context(), statetest.Admin)
	s.ok(err)
	b.goes("login#" + code)
	b.reads("Models")
	return b
}

// deploy adds a service whose units have machines, and run.
func (s *site) deploy(name, metadata string, units int, files ...string) {
	s.Helper()
	ctx := s.Context()
	_, err := s.st.AddService(ctx, state.AddServiceParams{Name: name, CharmURL: statetest.Charm(s, s.st, metadata, files...), Units: units})
	s.ok(err)
	for i := range units {
		u, err := s.st.Unit(ctx, fmt.Sprint(name, "/", i))
		s.ok(err)
		id := u.Machine()
		m, err := s.st.Machine(ctx, id)
		s.ok(err)
		s.ok(m.SetProvisioned(ctx, entity.Instance{ID: "i-" + id, Nonce: "nonce", Addresses: []string{"192.0.2." + id}}))
		s.ok(m.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
		s.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: "ready"}))
		s.ok(u.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
	}
}

// A browser shows what happens in a model while it happens, and its user acts from there.
func TestInABrowser(t *testing.T) {
	verify.NoRace(t) // a command runs in a confined process
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	s.deploy("mysql", statetest.MySQL, 2, "config.yaml", "{options: {size: {type: int, default: 5, description: how large}}}",
		"actions.yaml", "backup: {description: makes a backup, params: {where: {type: string}, level: {type: integer, default: 1}}}")
	b := s.visit()

	// The topology shows a service that is deployed while it is watched.
	b.goes("admin/default/")
	b.until(`document.querySelectorAll(".node").length === 1`)
	s.deploy("wordpress", statetest.Wordpress, 1)
	_, err := s.st.AddRelation(ctx, "wordpress", "mysql")
	s.ok(err)
	b.until(`document.querySelectorAll(".node.healthy").length === 2 && document.querySelectorAll(".edge").length === 1`)
	b.accessible("topology")

	// A service stays where it is dragged, also for others and after a reload.
	x, y := b.center(`a[href$="service/mysql"] circle`)
	b.run(chromedp.DragAndDropXY(x, y, x+120, y+60))
	b.until(`fetch("/dashboard/admin/default/topology.json").then((r) => r.json()).then((p) => p.nodes.some((n) => n.x !== undefined))`)

	// A unit fails, and its user sees why and resolves it.
	unit, err := s.st.Unit(ctx, "mysql/0")
	s.ok(err)
	s.ok(unit.SetAgentStatus(ctx, entity.Status{Status: entity.StatusExecuting, Message: "running start hook"}))
	s.ok(s.logs.Append(s.st.UUID(), debuglog.Message{Entity: "unit-mysql-0", Timestamp: time.Now(), Severity: "INFO", Module: "unit.mysql/0.start",
		Message: "<b>no room</b>"}))
	s.ok(unit.SetStatus(ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "start"`}))
	s.ok(unit.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
	b.until(`document.querySelector(".node.failing") !== null`)
	b.goes("admin/default/waits")
	b.reads("hook failed")
	b.reads("juju resolved --no-retry mysql/0")
	b.accessible("waits")
	b.goes("admin/default/unit/mysql/0")
	b.reads("running start hook")
	b.until(`document.querySelector("#log").textContent.includes("<b>no room</b>")`)
	b.accessible("unit")
	b.clicks("Retry a failed hook")
	b.reads("Run it")
	b.accessible("plan")
	b.clicks("Run it")
	b.reads("Done")
	if err := unit.Resolve(ctx, true); err == nil || !strings.Contains(err.Error(), "already resolved") {
		t.Errorf("mysql/0 is not resolved: %v", err)
	}
	b.clicks("Close")

	// A plan changes nothing, whatever the line says.
	for _, line := range []string{"add-unit mysql --dry-run=false", "add-unit\tmysql --dry-run=0", "--logging-config add-unit mysql", "disable-command\tall\t-- for now"} {
		if text := evaluate[string](b, fmt.Sprintf(`fetch("/dashboard/admin/default/command?" + new URLSearchParams({ line: %q })).then((r) => r.text())`, line)); strings.Contains(text, "Plan</h1>") {
			t.Errorf("the plan of %q:\n%s", line, text)
		}
	}
	blocks, err := s.st.Blocks().All(ctx)
	if _, added := s.st.Unit(ctx, "mysql/2"); err != nil || added == nil || len(blocks) != 0 {
		t.Errorf("a plan has added a unit (%v) or a block: %v (%v)", added, blocks, err)
	}

	// It is scaled, configured, and runs an action; each time the plan and the command come first.
	b.goes("admin/default/service/mysql")
	b.types(`input[name="units"]`, "3")
	b.clicks("Scale")
	b.reads("juju add-unit mysql -n 1")
	b.clicks("Run it")
	b.reads("Done")
	b.clicks("Close")
	b.until(`document.getElementById("u-mysql/2") !== null`)
	b.clicks("Settings")
	b.types(`#set-size`, "7")
	b.clicks("Configure")
	b.reads("juju config mysql size=7")
	b.clicks("Run it")
	b.reads("Done")
	b.clicks("Close")
	b.until(`document.getElementById("c-size").textContent.includes("7user")`)
	b.accessible("service")
	b.goes("admin/default/unit/mysql/1")
	b.clicks("Run backup")
	b.types(`#backup-where`, "it's 5")
	b.clicks("Run it")
	b.reads(`juju run-action mysql/1 backup 'where=it'\''s 5'`)
	b.clicks("Run it")
	b.reads("Done")
	b.goes("admin/default/operations")
	b.reads("backup")
	b.accessible("operations")

	// A destruction shows how far it is.
	wordpress, err := s.st.Service(ctx, "wordpress")
	s.ok(err)
	s.ok(wordpress.Destroy(ctx, entity.Destruction{}))
	b.goes("admin/default/removals")
	b.reads("wordpress")
	b.accessible("removals")
	for _, path := range []string{"", "admin/default/services", "admin/default/units", "admin/default/machines", "admin/default/machine/0",
		"admin/default/changes", "admin/default/secrets", "admin/default/access", "admin/default/operation/1", "admin/default/command?line=status", "login"} {
		b.goes(path)
		b.reads("test")
		b.accessible(path)
	}

	// The controller goes and comes back: the page says since when it shows old data, and then shows the new.
	b.goes("admin/default/units")
	b.until(`document.getElementById("live").textContent === "live" && document.getElementById("u-mysql/1") !== null`)
	b.quiet.Store(true)
	s.end()
	b.until(`document.getElementById("live").textContent.startsWith("not connected; this is how it was at")`)
	b.accessible("away")
	unit, err = s.st.Unit(ctx, "mysql/1")
	s.ok(err)
	s.ok(unit.SetStatus(ctx, entity.Status{Status: entity.StatusBlocked, Message: "changed meanwhile"}))
	s.serve()
	b.until(`document.getElementById("live").textContent === "live"`)
	b.reads("changed meanwhile")

	// Whose session ends must log in again.
	_, err = s.controller.SetUserPassword(ctx, statetest.Admin, "another")
	s.ok(err)
	b.reads("It prints an address that logs you in once")
}

// center returns where the middle of an element is.
func (b *tab) center(selector string) (x, y float64) {
	b.Helper()
	at := evaluate[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, selector))
	return at[0], at[1]
}
