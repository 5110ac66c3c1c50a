package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/debuglog"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// addUser adds a user with a password.
func (w *world) addUser(name string) {
	w.Helper()
	tag := entity.UserTag(name)
	w.passwords[tag] = name + "'s password"
	_, err := w.controller.AddUser(w.Context(),
		controller.AddUserParams{Name: name, Password: w.passwords[tag], Creator: statetest.Admin})
	w.ok(err)
}

// guests adds the users bob and eve, and returns a model of bob's.
func (w *world) guests() *state.State {
	w.Helper()
	w.addUser("bob")
	w.addUser("eve")
	mine, err := w.controller.AddModel(w.Context(), controller.AddModelParams{Name: "mine", Owner: "bob", Series: "jammy"})
	w.ok(err)
	return mine
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// user logs in at a path.
func (w *world) user(name, path string) *rawConn {
	w.Helper()
	tag := entity.UserTag(name)
	return w.raw(path).login(tag, w.passwords[tag], "")
}

// With each level of access a user can call what the table says, and nothing else. All levels
// use one connection, since access is looked up for each request.
func TestAccessLevels(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "read", ""))
	model, controller := w.user("bob", w.modelPath()), w.user("bob", "/api")
	levels := []struct {
		model, controller string
		rise              func() error
	}{
		{"read", "login", func() error { return nil }},
		{"write", "add-model", func() error {
			return errors.Join(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "write", ""),
				w.controller.GrantController(ctx, "bob", "add-model"))
		}},
		{"admin", "superuser", func() error {
			return errors.Join(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "admin", ""),
				w.controller.GrantController(ctx, "bob", "superuser"))
		}},
	}
	rank := map[string]int{}
	for i, level := range levels {
		rank[level.model], rank[level.controller] = i, i
	}
	for i, level := range levels {
		w.ok(level.rise())
		for _, r := range routes() {
			name := r.Facade + "." + r.Method
			needed, _, said := strings.Cut(forUsers[name], " ")
			if !said {
				continue // TestBlocks reports missing methods
			}
			if _, known := rank[needed]; !known {
				t.Fatalf("forUsers has %q of %s", needed, name)
			}
			conn := model
			if r.At == facades.AtController {
				conn = controller
			}
			err := conn.call(r.Facade, r.Version, r.Method, struct{}{}).Err()
			if got, want := !refused(err), i >= rank[needed]; got != want {
				t.Errorf("with %s and %s, %s: allowed %v, want %v (%v)", level.model, level.controller, name, got, want, err)
			}
		}
	}
}

// A user who loses access loses it at once on open connections. The next request is refused
// and ends the connection, and streams end by themselves. Others are not affected.
func TestLostRights(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t).populate()
	agent := w.dial(w.info(entity.UnitTag("mysql/0")))
	for user, lose := range map[string]func(user string) error{
		"revoked":  func(user string) error { return w.controller.RevokeModel(ctx, w.st.UUID(), user, "read") },
		"shut-out": func(user string) error { return w.controller.RevokeController(ctx, user, "login") },
		"disabled": func(user string) error { return w.controller.DisableUser(ctx, user) },
		"removed":  func(user string) error { return w.controller.RemoveUser(ctx, user) },
		"reset": func(user string) error {
			_, err := w.controller.ResetUserPassword(ctx, user)
			return err
		},
	} {
		w.addUser(user)
		w.ok(w.controller.GrantModel(ctx, w.st.UUID(), user, "write", ""))
		info := w.info(entity.UserTag(user))
		ours, raw := w.dial(info), w.user(user, w.modelPath())
		log, _, err := (&websocket.Dialer{TLSClientConfig: clientTLS()}).Dial("wss://"+w.address+"/model/"+w.st.UUID()+"/log",
			basicAuth(info))
		w.ok(err)
		defer log.Close()
		var first params.ErrorResult
		w.ok(log.ReadJSON(&first))
		_, err = ours.Expose(ctx, "mysql", nil)
		w.ok(err)

		w.ok(lose(user))
		if err := ours.Unexpose(ctx, "mysql"); !errors.Is(err, entity.Unauthorized) || err.Error() != "permission denied" {
			t.Errorf("%s: the next request: %v", user, err)
		}
		if code := raw.ended(); code != params.CloseRevoked {
			t.Errorf("%s: the connection ends with code %d", user, code)
		}
		w.ok(log.SetReadDeadline(time.Now().Add(verify.Patience)))
		var line debuglog.Message
		for err == nil {
			err = log.ReadJSON(&line)
		}
		if !websocket.IsCloseError(err, params.CloseRevoked) {
			t.Errorf("%s: debug-log: %v", user, err)
		}
		if s, err := w.st.Service(ctx, "mysql"); err != nil || s.ExposedEndpoints() == nil {
			t.Errorf("%s: the request was done: %v", user, err)
		}
		if _, err := client.Dial(ctx, info); !errors.Is(err, entity.Unauthorized) {
			t.Errorf("%s: a new connection: %v", user, err)
		}
	}
	deployer := client.DeployerFacade{Caller: agent}
	if _, err := deployer.DeployedUnits(ctx, entity.UnitTag("mysql/0")); err != nil {
		t.Errorf("an agent is affected: %v", err)
	}
}

func basicAuth(info client.Info) http.Header {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(params.TagOf(info.Tag).String(), info.Password)
	return r.Header
}

// A watch ends when the user loses the right to it; others on the connection do not. When the
// user has no rights left the connection ends, even without a request.
func TestLostRightsEndWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	begin := func(ch <-chan []string) facades.Handler {
		return facades.Watch(func(context.Context, *facades.Caller, facades.None) (facades.Stream, error) {
			return facades.Names(ch, nil)
		})
	}
	ch := make(chan []string)
	w.server.table = facades.NewTable(append(routes(),
		facades.Route{"Test", 1, "WatchAsReader", facades.AtModel, facades.Reader, facades.Reads, facades.AnyLogin, nil, begin(ch)},
		facades.Route{"Test", 1, "WatchAsWriter", facades.AtModel, facades.Writer, facades.Changes, facades.AnyLogin, nil, begin(make(chan []string))}))
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "write", ""))
	c := w.user("bob", w.modelPath())
	var kept, lost params.WatcherID
	w.ok(json.Unmarshal(c.call("Test", 1, "WatchAsReader", nil).Response, &kept))
	w.ok(json.Unmarshal(c.call("Test", 1, "WatchAsWriter", nil).Response, &lost))
	next := c.send("Watcher", 1, "Next", lost.ID, nil)
	w.ok(w.controller.RevokeModel(t.Context(), w.st.UUID(), "bob", "write"))
	// No more events come, even if Next was waiting already.
	if reply := c.read(); reply.RequestID != next || !errors.Is(reply.Err(), entity.Stopped) &&
		!errors.Is(reply.Err(), entity.NotFound) {
		t.Errorf("the watch: %+v", reply)
	}
	if err := c.call("Test", 1, "WatchAsWriter", nil).Err(); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("the watch once more: %v", err)
	}
	next = c.send("Watcher", 1, "Next", kept.ID, nil)
	ch <- []string{"x"}
	if reply := c.read(); reply.RequestID != next || reply.Err() != nil {
		t.Errorf("the other watch: %+v", reply)
	}
	w.ok(w.controller.DisableUser(t.Context(), "bob"))
	if code := c.ended(); code != params.CloseRevoked {
		t.Errorf("the connection ends with code %d", code)
	}
}

// A key works once, on a connection without a login. Wrong guesses are limited.
func TestRegister(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	var added params.AddUserResults
	w.ok(json.Unmarshal(admin.call("UserManager", 3, "AddUser",
		params.AddUsers{Users: []params.AddUser{{Username: "bob", DisplayName: "Bob"}}}).Response, &added))
	key := added.Results[0].SecretKey
	info := w.info(entity.UserTag("bob"))
	info.Model, info.Password = "", "secret"
	if err := client.Register(t.Context(), info, []byte("guess")); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a guess: %v", err)
	}
	w.ok(client.Register(t.Context(), info, key))
	w.dial(info)
	if err := client.Register(t.Context(), info, key); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("once more: %v", err)
	}
	guesser := w.raw("/api")
	for range w.server.limits.Logins {
		if err := guesser.call("Admin", 3, "Register",
			params.RegisterRequest{User: params.TagOf(info.Tag), Key: key, Password: "x"}).Err(); !errors.Is(err,
			entity.Unauthorized) {
			t.Fatal(err)
		}
	}
	guesser.ended()
}
