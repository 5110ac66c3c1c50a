package apiserver

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/commandline"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/statetest"
)

// playsCommand is set in the process of a command, which this program plays.
var playsCommand = flag.Bool("command", false, "play a command of a user")

// playCommand plays a command: "hang", or an API call.
func playCommand() {
	r, dial, err := commandline.Receive(os.Stdin)
	if r.Plan {
		r.Text = "plan of " + r.Text
	}
	if err == nil && r.Text == "hang" {
		fmt.Println("hanging")
		select {}
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
		defer cancel()
		var conn *client.Conn
		conn, err = client.Dial(ctx, client.Info{Dial: dial, Model: r.UUID, Tag: entity.UserTag(r.User), Password: r.Password})
		if err == nil {
			_, _, err = conn.AddMachine(ctx, client.MachineArgs{})
		}
	}
	fmt.Println(r.Text, "in", r.Model, err)
	os.Exit(0)
}

// runsCommands has a server run this program for commands.
func runsCommands(c *Config) {
	c.CommandLine = []string{os.Args[0], "-command"}
	c.API = func() ([]string, string) { return nil, "" }
	c.Limits = DefaultLimits()
	c.Limits.Commands, c.Limits.UserCommands = 3, 2
}

// commandBar connects as Juju's dashboard does.
func (w *world) commandBar() *rawConn {
	w.Helper()
	r := w.raw("/model/" + w.st.UUID() + "/commands")
	if _, first, err := r.ws.ReadMessage(); err != nil || string(first) != "{}\n" {
		w.Fatalf("the first frame is %q, %v", first, err)
	}
	return r
}

// sends sends commands.
func (r *rawConn) sends(user, password string, commands ...string) {
	r.Helper()
	if err := r.ws.WriteJSON(params.CLICommands{User: user, Credentials: password, Commands: commands}); err != nil {
		r.Fatal(err)
	}
}

// line returns the next line of output; false if the commands are done.
func (r *rawConn) line() (string, bool) {
	r.Helper()
	var status params.CLIStatus
	_, frame, err := r.ws.ReadMessage()
	if err == nil {
		err = json.Unmarshal(frame, &status)
	}
	if err != nil || status.Done == (len(status.Output) == 1) {
		r.Fatalf("%q: %v", frame, err)
	}
	if status.Done {
		return "", false
	}
	return status.Output[0], true
}

// prints returns all output of what sends has sent.
func (r *rawConn) prints() (lines []string) {
	r.Helper()
	for {
		line, more := r.line()
		if !more {
			return lines
		}
		lines = append(lines, line)
	}
}

// needConfinement skips a test where no command can be run.
func needConfinement(t *testing.T, lines []string) {
	t.Helper()
	verify.NoRace(t)
	if strings.Contains(strings.Join(lines, ""), "cannot confine") || strings.Contains(strings.Join(lines, ""), "no Landlock") {
		t.Skip(lines)
	}
}

// Each request for commands logs in by itself and does what its user may do; the audit log says who did it from where.
func TestCommandsAreTheirUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runsCommands)
	bar := w.commandBar()
	bar.sends(statetest.Admin, statetest.Password, "first", "second")
	lines := bar.prints()
	needConfinement(t, lines)
	if want := []string{"first in admin/default <nil>", "second in admin/default <nil>"}; !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	entries, err := w.controller.AuditLog(t.Context(), entity.AuditFilter{Limit: 10})
	if err != nil || len(entries) != 2 || entries[0].User != statetest.Admin || entries[0].From != bar.ws.LocalAddr().String() {
		t.Errorf("audited: %+v, %v", entries, err)
	}
	w.addUser("reader")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "reader", "read", ""))
	bar.sends("reader", w.passwords[entity.UserTag("reader")], "third")
	if lines := bar.prints(); len(lines) != 1 || !strings.Contains(lines[0], "permission denied") {
		t.Errorf("of a reader: %q", lines)
	}
	for i := range DefaultLimits().Logins {
		bar.sends(statetest.Admin, "guess", "fourth")
		if lines := bar.prints(); !slices.Equal(lines, []string{"ERROR invalid entity name or password"}) {
			t.Errorf("guess %d: %q", i, lines)
		}
	}
	if _, _, err := bar.ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) { // not for silence
		t.Errorf("another guess is allowed: %v", err)
	}
}

// A command ends with its connection; a user can run few at once, and must not send more than a few in advance.
func TestCommandsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runsCommands)
	hang := func() *rawConn {
		bar := w.commandBar()
		bar.sends(statetest.Admin, statetest.Password, "hang")
		line, _ := bar.line()
		needConfinement(t, []string{line})
		return bar
	}
	one, two := hang(), hang()
	third := w.commandBar()
	third.sends(statetest.Admin, statetest.Password, "now")
	if lines := third.prints(); len(lines) != 1 || !strings.HasPrefix(lines[0], "ERROR too many commands are running") {
		t.Errorf("a third one: %q", lines)
	}
	one.ws.Close()
	for { // until the server has noticed
		third.sends(statetest.Admin, statetest.Password, "now")
		said := third.prints()
		if said[0] == "now in admin/default <nil>" {
			break
		}
		if !strings.HasPrefix(said[0], "ERROR too many commands") {
			t.Fatalf("%q", said)
		}
	}
	if err := two.ws.SetReadDeadline(time.Now().Add(verify.Patience)); err != nil {
		t.Fatal(err)
	}
	for range commandsInLine + 1 {
		two.sends(statetest.Admin, statetest.Password, "later")
	}
	if _, _, err := two.ws.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("with too many in advance: %v", err)
	}
}

// Who does not send commands is not waited for, and nothing runs where nothing can be run.
func TestCommandBarsThatAreNotUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runsCommands, func(c *Config) { c.Limits.LoginTime = 50 * time.Millisecond })
	if _, _, err := w.commandBar().ws.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("silent: %v", err)
	}
	w = newWorld(t)
	bar := w.commandBar()
	bar.sends(statetest.Admin, statetest.Password, "now")
	if lines := bar.prints(); !slices.Equal(lines, []string{"ERROR this controller runs no commands"}) {
		t.Errorf("%q", lines)
	}
	if err := bar.ws.WriteMessage(websocket.TextMessage, []byte("status")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := bar.ws.ReadMessage(); err == nil {
		t.Error("a frame that is not JSON is answered")
	}
}
