package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/spf13/pflag"

	"juju/apiserver/params"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
	"juju/cmd/juju/store"
)

// A command that a controller runs for a user elsewhere reads and writes no file there, whatever its arguments and flags
// are: here the process could, since only the session prevents it.
func TestEmbeddedCommandsUseNoFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret, fresh := filepath.Join(dir, "secret"), filepath.Join(dir, "new.json")
	clitest.Write(t, secret, "a: topsecret\n")
	settled := func() string {
		var b strings.Builder
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b.WriteString(f.Name() + "\n")
		}
		text, _ := os.ReadFile(secret)
		return b.String() + string(text)
	}
	before := settled()
	u := newUser(t)
	u.Session.Embedded = true
	tried := 0
	try := func(line ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // some commands wait
		defer cancel()
		u.TypesUntil(ctx, line...)
		tried++
		if said := u.Out.String() + u.Err.String() + strings.Join(u.Model.Calls, "\n"); strings.Contains(said, "topsecret") {
			t.Errorf("%q reads a file:\n%s", line, said)
		}
		if now := settled(); now != before {
			t.Fatalf("%q leaves\n%s", line, now)
		}
	}
	texts, want := []string{secret, "@" + secret, "a=@" + secret, fresh}, 1500
	for i, cmd := range commands.New(&cli.Session{}).Commands() {
		example, _, _ := strings.Cut(cmd.Example, "\n")
		words := strings.Fields(example)
		if len(words) < 2 {
			continue // a hidden one
		}
		words = words[1:]
		try(words...)
		if strings.Contains(u.Err.String(), "not supported when run via a controller") {
			continue
		}
		if testing.Short() { // each command with one of the texts
			texts, want = []string{secret, "@" + secret, "a=@" + secret, fresh}[i%4:][:1], 400
		}
		for _, text := range texts {
			try(append(slices.Clone(words), text)...)
			try(words[0], text)
			try(words[0], "web", text)
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.NoOptDefVal == "" {
					try(append([]string{words[0], "--" + f.Name, text}, words[1:]...)...)
				}
			})
		}
	}
	if tried < want {
		t.Errorf("only %d command lines were tried", tried)
	}
}

// A controller runs command lines for the users of Juju's dashboard: those that need nothing but the API.
func TestCommandBar(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a controller")
	}
	t.Parallel()
	s := newClientSystem(t)
	st, err := store.New(s.data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Read()
	if err != nil {
		t.Fatal(err)
	}
	ctrl := c.Controllers[c.Current]
	s.run(t, "", nil, "juju", "deploy", filepath.Join(s.charms, "app"), "-q")
	newer := filepath.Join(t.TempDir(), "app")
	if err := os.CopyFS(newer, os.DirFS(filepath.Join(s.charms, "app"))); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(newer, "newer"), "")
	s.run(t, "", nil, "juju", "upgrade-charm", "app", "--path", newer, "-q")
	d := websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	connect := func() *websocket.Conn {
		ws, _, err := d.DialContext(t.Context(), "wss://"+ctrl.Addresses[0]+"/model/"+ctrl.Models[ctrl.Model]+"/commands", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ws.Close() })
		if _, first, err := ws.ReadMessage(); err != nil || string(first) != "{}\n" {
			t.Fatalf("%q, %v", first, err)
		}
		return ws
	}
	frame := func(ws *websocket.Conn) (status params.CLIStatus) {
		t.Helper()
		_, text, err := ws.ReadMessage()
		if err == nil {
			err = json.Unmarshal(text, &status)
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return status
	}
	send := func(ws *websocket.Conn, line string) {
		t.Helper()
		if err := ws.WriteJSON(params.CLICommands{User: ctrl.User, Credentials: ctrl.Password, Commands: []string{line}}); err != nil {
			t.Fatal(err)
		}
	}
	ws := connect()
	typed := func(line string) string {
		t.Helper()
		send(ws, line)
		var lines []string
		for {
			status := frame(ws)
			if status.Done {
				return strings.Join(lines, "\n")
			}
			lines = append(lines, status.Output...)
		}
	}
	_, url, _ := strings.Cut(typed("status --format yaml"), "    charm: ")
	url, _, _ = strings.Cut(url, "\n")
	old := strings.TrimSuffix(url, "-1") + "-0"
	const refusal = `ERROR juju "%" is not supported when run via a controller API call`
	secret := filepath.Join(s.data, "controllers.yaml")
	for _, test := range []struct{ line, want string }{
		{"status", "Model    Controller  Cloud/Region"},
		{"juju config app 'title=a  $HOME `id` ; rm x | cat > y'", ""},
		{"config app title", "a  $HOME `id` ; rm x | cat > y"},
		{`config app "title=\"quoted\" \\ \n"`, ""},
		{"config app title", `"quoted" \ \n`},
		{"add-unit app -n 2 -q", ""},
		{"run-action app/0 hi --wait=2m -q who=you && id", `ERROR argument "&&" must be of the form`},
		{"show-model -m controller", "controller:"},
		{"whoami", "Controller:  local"},
		{"show-controller", "local:"},
		{"help ssh", "ERROR unrecognized command: juju ssh"},
		{"", "Juju runs services: you declare which"},
		{"status 'x", "ERROR the command line ends within a quotation"},
		{"../../bin/sh -c id", "ERROR unrecognized command: juju ../../bin/sh"},
		{"config app title=@" + secret, `ERROR cannot use the file "` + secret},
		{"config app --file " + secret, `ERROR cannot use the file "` + secret},
		{"model-config --file " + secret, `ERROR cannot use the file "` + secret},
		{"run-action app/0 hi --params " + secret, `ERROR cannot use the file "` + secret},
		{"status --format yaml -o " + secret, `ERROR cannot use the file "` + secret},
		{"export-bundle --filename " + secret, `ERROR cannot use the file "` + secret},
		{"deploy " + old + " second -n 2 -q --config title=hello", ""},
		{"config second title", "hello"},
		{"deploy " + old, `ERROR cannot add service "app": service already exists`},
		{"deploy local:jammy/app-9 third", `ERROR charm "local:jammy/app-9" not found`},
		{"deploy app", `ERROR cannot add service "app": service already exists`},
		{"deploy local:app", `ERROR cannot deploy charm "local:app": the controller runs this command, and has only charms of the model`},
		{"deploy ./app", `ERROR cannot use the file "./app"`},
		{"deploy -", `ERROR cannot use the file "-"`},
		{"deploy " + old + " third --config " + secret, `ERROR cannot use the file "` + secret},
		{"deploy " + old + " third --resource image=" + secret, `ERROR cannot use the file "` + secret},
		{"deploy " + old + " third --repository /", `ERROR cannot use the file "/"`},
		{"upgrade-charm app", `ERROR cannot upgrade from charm "` + url + `": the controller runs this command`},
		{"upgrade-charm app --switch cs:app", `ERROR cannot upgrade from charm "cs:app": the controller runs this command`},
		{"upgrade-charm app --path ./app", `ERROR cannot use the file "./app"`},
		{"refresh app --revision 0", `Upgrading service "app" to charm "app"`},
		{"upgrade-charm app --switch " + url + " -q", ""},
		{"add-model other", `Model "other" is created on controller "local". To use it, add -m other to a command`},
		{"show-model other", "other:"},
		{"deploy " + old + " -m other", `ERROR charm "` + old + `" not found`},
		{"add-user dora", "User \"dora\" added\nPlease send this command to dora:\n    juju register "},
		{"add-machine ssh:root@localhost", "ERROR cannot add the host ssh:root@localhost"},
		{"destroy-service app --dry-run", "ACTION"},
	} {
		if said := typed(test.line); !strings.HasPrefix(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%s: %s", test.line, said)
		}
	}
	for _, name := range []string{"ssh", "scp", "apply", "bootstrap", "create-backup", "attach-resource", "login", "register",
		"destroy-environment", "import-ssh-key", "debug-hooks", "completion", "documentation", "__complete", "keeper", "switch", "charm-history",
		"controllers"} {
		want := strings.Replace(refusal, "%", name, 1)
		if said := typed(name + " x"); !strings.HasPrefix(said, want) {
			t.Errorf("%s: %s", name, said)
		}
	}
	// A command that never ends does so when its user leaves.
	other := connect()
	send(other, "status --watch 100ms")
	frame(other)
	if running(t, s.bin) == 0 {
		t.Error("no process runs the command")
	}
	other.Close()
	for running(t, s.bin) > 0 {
		if t.Context().Err() != nil {
			t.Fatal("the process of a user who has left still runs")
		}
	}
}

// running counts the processes that run commands of users.
func running(t *testing.T, bin string) (n int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		if strings.HasSuffix(string(line), "\x00command-line\x00") && strings.HasPrefix(exe, bin) {
			n++
		}
	}
	return n
}
