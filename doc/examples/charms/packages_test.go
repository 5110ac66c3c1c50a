package charms_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Charms whose hooks install packages need dedicated machines. These tests only run the functions
// of their hooks, with files in the unit's directory and fakes for the packages' commands. The map
// has shell code that sets this up, by charm.
var packaged = map[string]string{
	"postgresql": "settings=$STATE; mkdir -p $STATE/conf.d\n" + `sql() { tee -a "$STATE/sql" | sed -n "$ANSWERS"; }`,
	"guestbook":  "conf=$STATE/conf",
	"haproxy":    "conf=$STATE/conf",
}

func newPackaged(t *testing.T, world, charm, name string, number int) *unit {
	u := newUnit(t, world, "", charm, name, number)
	u.write("tools/opened-ports", `#!/bin/sh
cat "$STATE/ports"`, 0o755)
	u.write("tools/systemctl", `#!/bin/sh
echo "$*" >>"$STATE/systemctl"`, 0o755)
	u.write("tools/haproxy", `#!/bin/sh
[ "$1 $2 $3" = "-c -q -f" ] && ! grep -q broken "$4"`, 0o755)
	return u
}

// call runs shell code that can use the charm's functions, and returns its output.
func (u *unit) call(code string, env ...string) (string, error) {
	u.t.Helper()
	lib, _ := filepath.Glob(u.charm() + "/lib/*.sh")
	charm := strings.TrimSuffix(filepath.Base(lib[0]), ".sh")
	cmd := exec.Command("sh", "-euc", ". "+lib[0]+"\n"+packaged[charm]+"\n"+code)
	cmd.Env = append([]string{"PATH=" + filepath.Join(u.dir, "tools") + ":" + os.Getenv("PATH"),
		"CHARM_DIR=" + u.charm(), "JUJU_UNIT_NAME=" + u.name,
		"STATE=" + filepath.Join(u.dir, "state"), "WORLD=" + u.world}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (u *unit) mustCall(code string, env ...string) string {
	u.t.Helper()
	out, err := u.call(code, env...)
	if err != nil {
		u.t.Fatalf("%s: %v\n%s", code, err, out)
	}
	return out
}

// set writes a unit's settings in a relation.
func set(t *testing.T, world string, relation int, unit string, settings ...string) {
	t.Helper()
	dir := filepath.Join(world, fmt.Sprint(relation), strings.ReplaceAll(unit, "/", "-"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		if err := os.WriteFile(filepath.Join(dir, key), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (u *unit) wantFile(name, want string) {
	u.t.Helper()
	if got := u.read(name); got != want {
		u.t.Errorf("%s: %s is\n%s\nwant\n%s", u.name, name, got, want)
	}
}

func TestHaproxyServersFollowTheRelation(t *testing.T) {
	world := t.TempDir()
	u := newPackaged(t, world, "haproxy", "haproxy/0", 20)
	u.config("port", "80")
	servers := func() string {
		t.Helper()
		u.mustCall("apply")
		return strings.Join(regexp.MustCompile(`(?m)^ *server .*$`).FindAllString(u.read("state/conf"), -1), "\n")
	}
	if got := servers(); got != "" {
		t.Errorf("servers without a relation: %q", got)
	}
	u.wantStatus("waiting: for units to forward requests to")

	u.related("reverseproxy:1", "web/0", "web/1", "web/2")
	set(t, world, 1, "web/0", "hostname=10.0.0.1", "port=8080")
	set(t, world, 1, "web/1", "hostname=10.0.0.2", "port=8081")
	set(t, world, 1, "web/2", "hostname=10.0.0.3") // it has not set its port yet
	want := "    server web-0 10.0.0.1:8080 check inter 1s\n    server web-1 10.0.0.2:8081 check inter 1s"
	if got := servers(); got != want {
		t.Errorf("servers:\n%s\nwant:\n%s", got, want)
	}
	u.wantStatus("active: at http://ADDR:80/, units: 2")
	if last := u.read("state/systemctl"); !strings.HasSuffix(last, "enable --quiet --now haproxy\nreload haproxy") {
		t.Errorf("systemctl: %s", last)
	}

	// Departed units are dropped, although their settings remain.
	u.related("reverseproxy:1", "web/1")
	u.config("port", "8000")
	if got := servers(); got != "    server web-1 10.0.0.2:8081 check inter 1s" {
		t.Errorf("servers: %s", got)
	}
	if !strings.Contains(u.read("state/conf"), "\n    bind *:8000\n") {
		t.Errorf("port: %s", u.read("state/conf"))
	}
	u.wantFile("state/ports", "8000/tcp")

	// A configuration that haproxy rejects does not replace the current one.
	before := u.read("state/conf")
	set(t, world, 1, "web/1", "hostname=broken")
	if out, err := u.call("apply"); err == nil {
		t.Errorf("apply with a broken configuration succeeded: %s", out)
	}
	u.wantFile("state/conf", before)
	u.config("port", "70000")
	u.mustCall("apply")
	u.wantStatus("blocked: port must be between 1 and 65535, not 70000")
}

func TestGuestbookWaitsForItsDatabase(t *testing.T) {
	world := t.TempDir()
	u := newPackaged(t, world, "guestbook", "guestbook/1", 21)
	u.config("port", "8080")
	u.config("title", "\"Us\" \\ `and` $THEM\nall")
	u.mustCall("apply")
	u.wantStatus("blocked: no relation to a database")
	u.wantFile("state/conf", "")
	u.wantFile("state/ports", "8080/tcp")

	u.related("db:3", "postgresql/0")
	set(t, world, 3, "postgresql/0", "host=10.0.0.9", "port=5432", "database=d", "user=u", "password=p",
		"allowed-units=guestbook/0 guestbook/10")
	u.mustCall("apply")
	u.wantStatus("waiting: for the database to admit this unit")

	set(t, world, 3, "postgresql/0", "allowed-units=guestbook/0 guestbook/1")
	u.related("website:4", "haproxy/0")
	u.mustCall("apply")
	u.wantStatus("active: at http://ADDR:8080/")
	u.wantFile("state/conf", "# Written by juju.\nTITLE=\"\\\"Us\\\" \\\\ \\`and\\` \\$THEM all\"\n"+
		"UNIT=guestbook/1\nPORT=8080\nPGHOST=10.0.0.9\nPGPORT=5432\nPGDATABASE=d\nPGUSER=u\nPGPASSWORD=p")
	if info, err := os.Stat(filepath.Join(u.dir, "state/conf")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the password: %v, %v", info, err)
	}
	for setting, want := range map[string]string{"4/guestbook-1/hostname": u.addr, "4/guestbook-1/port": "8080",
		"3/guestbook-1/private-address": u.addr} {
		if got, _ := os.ReadFile(filepath.Join(world, setting)); string(got) != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}

	// The server is restarted only for a change.
	u.write("state/systemctl", "", 0o644)
	u.mustCall("apply")
	u.wantFile("state/systemctl", "enable --quiet --now guestbook")
	u.config("port", "8081")
	u.mustCall("apply")
	u.wantFile("state/systemctl", "enable --quiet --now guestbook\nstop guestbook\nenable --quiet --now guestbook")
	u.wantFile("state/ports", "8081/tcp")

	// Nothing is set in a relation that is being removed.
	if err := os.RemoveAll(filepath.Join(world, "3/guestbook-1")); err != nil {
		t.Fatal(err)
	}
	u.mustCall("leaving_relation=db:3; apply")
	if settings, err := os.ReadDir(filepath.Join(world, "3/guestbook-1")); err == nil {
		t.Errorf("set in the removed relation: %v", settings)
	}
	u.wantStatus("blocked: no relation to a database")
	if last := u.read("state/systemctl"); !strings.HasSuffix(last, "\ndisable --quiet --now guestbook") {
		t.Errorf("systemctl: %s", last)
	}
	u.config("port", "80")
	u.mustCall("apply")
	u.wantStatus("blocked: port must be between 1024 and 65535, not 80")
}

func TestPostgresqlClientsFollowTheRelation(t *testing.T) {
	world := t.TempDir()
	u := newPackaged(t, world, "postgresql", "postgresql/0", 22)
	u.config("max-connections", "100")
	const server = "/current_setting/s/.*/*|100/p" // answers the query for the server's settings
	apply := func(env ...string) {
		t.Helper()
		u.mustCall("run_server; update_clients", append(env, "ANSWERS="+server)...)
	}
	const local = "# Written by juju. Do not edit.\nlocal all all peer"
	apply()
	u.wantFile("state/pg_hba.conf", local)
	u.wantStatus("active: at ADDR:5432, clients: 0")

	u.related("db:5", "my-app/0", "my-app/1", "my-app/2")
	set(t, world, 5, "my-app/0", "private-address=10.0.0.1")
	set(t, world, 5, "my-app/1", "private-address=10.0.0.2") // the third unit has not set its address yet
	apply()
	u.wantFile("state/pg_hba.conf", local+"\nhost juju_my_app juju_my_app 10.0.0.1/32 scram-sha-256\n"+
		"host juju_my_app juju_my_app 10.0.0.2/32 scram-sha-256")
	u.wantStatus("active: at ADDR:5432, clients: 3")
	published := func(setting string) string {
		text, _ := os.ReadFile(filepath.Join(world, "5/postgresql-0", setting))
		return string(text)
	}
	password := published("password")
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(password) {
		t.Errorf("password %q", password)
	}
	for setting, want := range map[string]string{"host": u.addr, "port": "5432", "database": "juju_my_app",
		"user": "juju_my_app", "allowed-units": "my-app/0 my-app/1 my-app/2"} {
		if got := published(setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	for _, statement := range []string{"CREATE ROLE juju_my_app LOGIN;",
		"CREATE DATABASE juju_my_app OWNER juju_my_app;", "ALTER ROLE juju_my_app PASSWORD '" + password + "';"} {
		if !strings.Contains(u.read("state/sql"), statement) {
			t.Errorf("no %s in:\n%s", statement, u.read("state/sql"))
		}
	}

	// After a unit departs, its address is no longer admitted; the password stays the same.
	u.write("state/sql", "", 0o644)
	u.related("db:5", "my-app/1")
	apply()
	u.wantFile("state/pg_hba.conf", local+"\nhost juju_my_app juju_my_app 10.0.0.2/32 scram-sha-256")
	if got := published("allowed-units"); got != "my-app/1" || published("password") != password {
		t.Errorf("allowed: %q; password %q", got, published("password"))
	}
	if sql := u.read("state/sql"); strings.Contains(sql, "ROLE") {
		t.Errorf("the database was created again: %s", sql)
	}

	// In a new relation, the service gets its old database with a new password.
	u.write("state/sql", "", 0o644)
	u.related("db:6", "my-app/1")
	u.mustCall("update_clients", "ANSWERS=/^SELECT 1/s/.*/1/p")
	sql := u.read("state/sql")
	if strings.Contains(sql, "CREATE") || !strings.Contains(sql, "ALTER ROLE juju_my_app PASSWORD") {
		t.Errorf("statements for an existing database: %s", sql)
	}

	// The server is restarted only if its settings differ from its file.
	if strings.Contains(u.read("state/systemctl"), "restart") {
		t.Errorf("systemctl: %s", u.read("state/systemctl"))
	}
	u.config("max-connections", "50")
	apply()
	if !strings.HasSuffix(u.read("state/systemctl"), "restart postgresql@15-main") ||
		!strings.Contains(u.read("state/conf.d/juju.conf"), "max_connections = 50") {
		t.Errorf("systemctl: %s\n%s", u.read("state/systemctl"), u.read("state/conf.d/juju.conf"))
	}
}
