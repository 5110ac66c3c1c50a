package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func TestUserLifecycle(t *testing.T) {
	w := newWorld(t)
	w.addUser("Bob")
	w.may("bob", "login", "")
	w.logsIn("bob", "Bob's", true)
	w.logsIn("bob", "guess", false)
	_, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bOB", Password: "x"})
	w.refused(err, entity.AlreadyExists, "failed to create user: username unavailable")
	_, err = w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "b b"})
	w.refused(err, entity.Invalid, `failed to create user: invalid user name "b b"`)

	w.ok(w.ctrl.GrantModel(w.ctx, w.st.UUID(), "bob", "write", statetest.Admin))
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	w.logsIn("bob", "Bob's", false)
	w.may("bob", "", "")
	all, err := w.ctrl.Users(w.ctx, false)
	w.ok(err)
	if len(all) != 1 || all[0].Name != statetest.Admin {
		t.Errorf("the users are %+v", all)
	}
	w.ok(w.ctrl.EnableUser(w.ctx, "bob"))
	w.logsIn("bob", "Bob's", true)
	w.may("bob", "login", "write")

	setPassword := func(name, password string) error {
		_, err := w.ctrl.SetUserPassword(w.ctx, name, password)
		return err
	}
	known := func(password string, want bool) {
		t.Helper()
		u, ok, err := w.ctrl.CheckKnownUser(w.ctx, "bob", password)
		if w.ok(err); ok != want || ok && u.Name != "Bob" {
			t.Errorf("the password %q is known: %v, of %+v", password, ok, u)
		}
	}
	known("Bob's", true)
	known("guess", false)
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	known("Bob's", false)
	w.ok(w.ctrl.EnableUser(w.ctx, "bob"))
	w.ok(setPassword("bob", "other"))
	known("Bob's", false)
	known("other", false) // it was not verified yet
	w.logsIn("bob", "Bob's", false)
	w.logsIn("bob", "other", true)
	w.refused(setPassword("bob", ""), entity.Invalid, "cannot use an empty password")
	w.refused(setPassword("eve", "x"), entity.NotFound, `user "eve" not found`)

	w.ok(w.ctrl.RemoveUser(w.ctx, "bob"))
	w.logsIn("bob", "other", false)
	w.may("bob", "", "")
	deleted := `user "bob" is permanently deleted`
	for _, err := range []error{
		w.ctrl.RemoveUser(w.ctx, "bob"), w.ctrl.EnableUser(w.ctx, "bob"), setPassword("bob", "x"),
		w.ctrl.GrantController(w.ctx, "bob", "superuser"), w.ctrl.GrantModel(w.ctx, w.st.UUID(), "bob", "read", "admin"),
	} {
		w.refused(err, entity.NotFound, deleted)
	}
	users, err := w.ctrl.ModelUsers(w.ctx, w.st.UUID())
	w.ok(err)
	if len(users) != 1 || users[0].Name != statetest.Admin || users[0].Access != "admin" {
		t.Errorf("the model's users are %+v", users)
	}
}

// The name of a removed user can be used again. Whoever has it then has nothing that the removed one had, and can be given it.
func TestNameOfARemovedUser(t *testing.T) {
	w := newWorld(t)
	model := w.st.UUID()
	key, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "eve"})
	w.ok(err)
	w.addUser("bob")
	w.ok(w.ctrl.GrantController(w.ctx, "bob", controller.AccessSuperuser))
	w.ok(w.ctrl.GrantModel(w.ctx, model, "bob", controller.AccessAdmin, statetest.Admin))
	w.ok(w.ctrl.GrantOffer(w.ctx, model, offer, "bob", controller.AccessConsume, statetest.Admin))
	mine, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "mine", Owner: "bob", Series: "jammy"})
	w.ok(err)
	w.ok(w.ctrl.NoteLogin(w.ctx, "bob", model))
	token, _, err := w.ctrl.CreateToken(w.ctx, "bob", "monitor", model, time.Hour)
	w.ok(err)
	unused, _, err := w.ctrl.CreateLogin(w.ctx, "bob")
	w.ok(err)
	login, _, err := w.ctrl.CreateLogin(w.ctx, "bob")
	w.ok(err)
	session, _, err := w.ctrl.BeginSession(w.ctx, login)
	w.ok(err)
	consumer, err := w.ctrl.NewConsumer(w.ctx, "bob", model, offer)
	w.ok(err)
	was, err := w.ctrl.Rights(w.ctx, "bob", model)
	w.ok(err)
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	w.ok(w.ctrl.RemoveUser(w.ctx, "bob"))
	w.ok(w.ctrl.RemoveUser(w.ctx, "eve"))

	for _, name := range []string{"Bob", "eve"} {
		_, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: name, Password: "another", DisplayName: "New"})
		w.ok(err)
	}
	_, err = w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bob", Password: "x"})
	w.refused(err, entity.AlreadyExists, "username unavailable")
	u, err := w.ctrl.User(w.ctx, "bob")
	w.ok(err)
	if u.Name != "Bob" || u.DisplayName != "New" || u.Disabled || !u.LastLogin.IsZero() {
		t.Errorf("the new user is %+v", u)
	}
	w.logsIn("bob", "bob's", false)
	w.logsIn("bob", "another", true)
	w.refused(w.ctrl.RegisterUser(w.ctx, "eve", key, "x"), entity.Unauthorized, "invalid entity name or password")
	for _, of := range []string{model, mine.UUID(), ""} {
		now, err := w.ctrl.Rights(w.ctx, "bob", of)
		if w.ok(err); now.Controller != controller.AccessLogin || now.Model != "" || now.Password == was.Password {
			t.Errorf("the rights for model %q are %+v", of, now)
		}
	}
	rows, _, err := w.ctrl.ModelsOf(w.ctx, "bob")
	if w.ok(err); len(rows) > 0 {
		t.Errorf("the new user has the models %v", rows)
	}
	w.same("the users of the removed one's model", accesses(w.ctrl.ModelUsers(w.ctx, mine.UUID())), []string(nil))
	if at, err := w.ctrl.LastLogins(w.ctx, "bob", []string{model}); len(at) > 0 || err != nil {
		t.Errorf("the last logins are %v, %v", at, err)
	}
	_, err = w.ctrl.CheckToken(w.ctx, token)
	w.refused(err, entity.Unauthorized, "")
	_, _, err = w.ctrl.BeginSession(w.ctx, unused)
	w.refused(err, entity.Unauthorized, "")
	_, err = w.ctrl.CheckSession(w.ctx, session)
	w.refused(err, entity.Unauthorized, "")

	// Even with the right to consume, the name is not enough for what the removed user consumed.
	w.ok(w.ctrl.GrantOffer(w.ctx, model, offer, "bob", controller.AccessConsume, statetest.Admin))
	consumes := func(token string, want bool) {
		t.Helper()
		who, err := w.ctrl.CheckConsumer(w.ctx, token)
		w.ok(err)
		may, err := w.ctrl.MayConsume(w.ctx, who.User, model, offer)
		if w.ok(err); may != want {
			t.Errorf("%s may consume: %v", who.User, may)
		}
	}
	consumes(consumer, false)
	consumer, err = w.ctrl.NewConsumer(w.ctx, "bob", model, offer)
	w.ok(err)
	consumes(consumer, true)
	w.ok(w.ctrl.GrantModel(w.ctx, mine.UUID(), "bob", controller.AccessRead, statetest.Admin))
	now, err := w.ctrl.Rights(w.ctx, "bob", mine.UUID())
	if w.ok(err); now.Model != controller.AccessRead {
		t.Errorf("the access to the removed user's model is %q", now.Model)
	}

	// It can happen again, and a model that the new user adds is the new user's.
	w.ok(w.ctrl.GrantController(w.ctx, "bob", controller.AccessAddModel))
	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "own", Owner: "Bob", Series: "jammy"})
	w.ok(err)
	w.ok(w.ctrl.RemoveUser(w.ctx, "bob"))
	w.addUser("bob")
	w.ok(w.ctrl.GrantOffer(w.ctx, model, offer, "bob", controller.AccessConsume, statetest.Admin))
	consumes(consumer, false)
	rows, _, err = w.ctrl.ModelsOf(w.ctx, "bob")
	if w.ok(err); len(rows) > 0 {
		t.Errorf("the third user has the models %v", rows)
	}
}

// A registration key sets one password, and becomes invalid once any password is set.
func TestRegistration(t *testing.T) {
	w := newWorld(t)
	key, err := w.ctrl.AddUser(w.ctx, controller.AddUserParams{Name: "bob", DisplayName: "Bob"})
	w.ok(err)
	w.may("bob", "", "") // bob has no password yet
	w.logsIn("bob", "", false)
	wrong := func(name string, key []byte) {
		t.Helper()
		w.refused(w.ctrl.RegisterUser(w.ctx, name, key, "x"), entity.Unauthorized, "invalid entity name or password")
	}
	wrong("bob", nil)
	wrong("bob", []byte("guess"))
	wrong("eve", key)
	wrong(statetest.Admin, nil)
	w.refused(w.ctrl.RegisterUser(w.ctx, "bob", key, ""), entity.Invalid, "cannot use an empty password")
	w.before(func() { w.ok(w.ctrl.RegisterUser(w.ctx, "bob", key, "first")) })
	wrong("bob", key)
	w.logsIn("bob", "first", true)
	wrong("bob", key)

	second, err := w.ctrl.ResetUserPassword(w.ctx, "bob")
	w.ok(err)
	w.logsIn("bob", "first", false)
	w.may("bob", "", "")
	third, err := w.ctrl.ResetUserPassword(w.ctx, "bob")
	w.ok(err)
	wrong("bob", second)
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	wrong("bob", third)
	_, err = w.ctrl.ResetUserPassword(w.ctx, "bob")
	w.refused(err, entity.NotAlive, "user deactivated")
	w.ok(w.ctrl.EnableUser(w.ctx, "bob"))
	w.ok(w.ctrl.RegisterUser(w.ctx, "bob", third, "again"))
	w.logsIn("bob", "again", true)
	_, err = w.ctrl.ResetUserPassword(w.ctx, statetest.Admin)
	w.refused(err, entity.InUse, "only superuser")
}

// Granting a level raises a user's access; revoking one leaves the level below.
func TestAccessLevels(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	model := w.st.UUID()
	for _, level := range []string{"read", "write", "admin"} {
		w.ok(w.ctrl.GrantModel(w.ctx, model, "bob", level, statetest.Admin))
		w.may("bob", "login", level)
		w.refused(w.ctrl.GrantModel(w.ctx, model, "bob", level, ""), entity.AlreadyExists,
			fmt.Sprintf("user already has %q access or greater", level))
	}
	for _, step := range []struct{ revoked, left string }{{"admin", "write"}, {"write", "read"}, {"read", ""}} {
		w.ok(w.ctrl.RevokeModel(w.ctx, model, "bob", step.revoked))
		w.may("bob", "login", step.left)
		w.refused(w.ctrl.RevokeModel(w.ctx, model, "bob", step.revoked), entity.NotFound,
			fmt.Sprintf(`user "bob" does not have %q access`, step.revoked))
	}
	w.ok(w.ctrl.GrantModel(w.ctx, model, "bob", "admin", ""))
	w.ok(w.ctrl.RevokeModel(w.ctx, model, "bob", "read")) // all access
	w.may("bob", "login", "")
	w.ok(w.ctrl.GrantController(w.ctx, "bob", "superuser"))
	w.may("bob", "superuser", "admin")
	w.refused(w.ctrl.GrantController(w.ctx, "bob", "add-model"), entity.AlreadyExists,
		`could not grant controller access: user already has "add-model" access or greater`)
	for _, step := range []struct{ has, revoked, left string }{{"superuser", "superuser", "login"}, {"superuser", "add-model", "login"},
		{"add-model", "add-model", "login"}, {"superuser", "login", ""}, {"add-model", "login", ""}, {"login", "login", ""}} {
		if rights, err := w.ctrl.Rights(w.ctx, "bob", ""); err != nil || rights.Controller != step.has {
			w.ok(err)
			w.ok(w.ctrl.GrantController(w.ctx, "bob", step.has))
		}
		w.ok(w.ctrl.RevokeController(w.ctx, "bob", step.revoked))
		w.may("bob", step.left, "")
	}
	// A user without login access has no rights, and gets them back with it.
	w.ok(w.ctrl.GrantModel(w.ctx, model, "bob", "write", ""))
	w.may("bob", "", "")
	w.ok(w.ctrl.GrantController(w.ctx, "bob", "login"))
	w.may("bob", "login", "write")

	err := w.ctrl.GrantModel(w.ctx, model, "bob", "login", "")
	w.refused(err, entity.Invalid, `"login" model access not valid`)
	w.same("the hint", entity.Hint(err), "The levels are: read, write, admin")
	w.refused(w.ctrl.RevokeController(w.ctx, "bob", "read"), entity.Invalid, `"read" controller access not valid`)
	err = w.ctrl.GrantModel(w.ctx, model, "eve", "read", "")
	w.refused(err, entity.NotFound, `could not grant model access: user "eve" not found`)
	if hint := entity.Hint(err); hint != "To list the users: juju users. To add one: juju add-user eve" {
		t.Errorf("the hint is %q", hint)
	}
	w.refused(w.ctrl.GrantModel(w.ctx, "nope", "bob", "read", ""), entity.NotFound, `model "nope" not found`)
	w.refused(w.ctrl.RevokeModel(w.ctx, model, statetest.Admin, "admin"), entity.InUse,
		`user "admin" owns model "default"`)
}

// The owner of a model is its admin, and has no rights to other models.
func TestModelOwners(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	mine, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "mine", Owner: "bob", Series: "jammy"})
	w.ok(err)
	rights, err := w.ctrl.Rights(w.ctx, "bob", mine.UUID())
	w.ok(err)
	if rights.Model != "admin" {
		t.Errorf("the owner has rights %+v", rights)
	}
	w.may("bob", "login", "")
	w.ok(w.ctrl.GrantModel(w.ctx, w.st.UUID(), "bob", "read", ""))
	rows, access, err := w.ctrl.ModelsOf(w.ctx, "bob")
	w.ok(err)
	if len(rows) != 2 || rows[0].Name != "default" || !slices.Equal(access, []string{"read", "admin"}) {
		t.Errorf("bob's models are %+v with %v", rows, access)
	}
	rows, _, err = w.ctrl.ModelsOf(w.ctx, statetest.Admin)
	w.ok(err)
	if len(rows) != 3 {
		t.Errorf("a superuser's models are %+v", rows)
	}
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	if rows, _, err = w.ctrl.ModelsOf(w.ctx, "bob"); err != nil || len(rows) > 0 {
		t.Errorf("a disabled user's models are %+v, %v", rows, err)
	}
}

// The last superuser cannot be removed, disabled or demoted, not even by concurrent changes.
func TestLastSuperuserIsKept(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	ways := map[string]func(string) error{
		"disable": func(u string) error { return w.ctrl.DisableUser(w.ctx, u) },
		"remove":  func(u string) error { return w.ctrl.RemoveUser(w.ctx, u) },
		"revoke":  func(u string) error { return w.ctrl.RevokeController(w.ctx, u, "superuser") },
		"revoke login": func(u string) error {
			return w.ctrl.RevokeController(w.ctx, u, "login")
		},
	}
	for _, way := range ways {
		err := way(statetest.Admin)
		w.refused(err, entity.InUse, `user "admin" is the only superuser who can log in`)
		// A superuser who cannot log in is not enough.
		w.ok(w.ctrl.GrantController(w.ctx, "bob", "superuser"))
		w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
		w.refused(way(statetest.Admin), entity.InUse, "only superuser")
		w.ok(w.ctrl.EnableUser(w.ctx, "bob"))
		// The second one is disabled between the reads and the commit of the change to the first.
		w.before(func() { w.ok(w.ctrl.DisableUser(w.ctx, "bob")) })
		w.refused(way(statetest.Admin), entity.InUse, "only superuser")
		w.ok(w.ctrl.RevokeController(w.ctx, "bob", "superuser"))
		w.ok(w.ctrl.EnableUser(w.ctx, "bob"))
		w.may(statetest.Admin, "superuser", "admin")
	}
}

// A disabled superuser becomes the only enabled one just before revoking their access is committed.
func TestRevokeWhileBecomingTheLastSuperuser(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	w.ok(w.ctrl.GrantController(w.ctx, "bob", "superuser"))
	w.ok(w.ctrl.DisableUser(w.ctx, "bob"))
	w.before(func() {
		w.ok(w.ctrl.EnableUser(w.ctx, "bob"))
		w.ok(w.ctrl.DisableUser(w.ctx, statetest.Admin))
	})
	w.refused(w.ctrl.RevokeController(w.ctx, "bob", "superuser"), entity.InUse,
		`user "bob" is the only superuser who can log in`)
}

// Several superusers change each other's rights concurrently: each change succeeds or fails, and at
// least one superuser remains.
func TestConcurrentGrantsAndRevokes(t *testing.T) {
	w := newWorld(t)
	names := []string{statetest.Admin, "ann", "bob"}
	for _, name := range names[1:] {
		w.addUser(name)
		w.ok(w.ctrl.GrantController(w.ctx, name, "superuser"))
	}
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		var group sync.WaitGroup
		for range 6 {
			name, what := names[r.IntN(3)], r.IntN(5)
			group.Go(func() {
				var err error
				switch what {
				case 0:
					err = w.ctrl.DisableUser(w.ctx, name)
				case 1:
					err = w.ctrl.EnableUser(w.ctx, name)
				case 2, 3:
					err = w.ctrl.RevokeController(w.ctx, name, "superuser")
				case 4:
					err = w.ctrl.GrantController(w.ctx, name, "superuser")
				}
				if kind := entity.KindOf(err); err != nil && kind != entity.InUse && kind != entity.NotFound &&
					kind != entity.AlreadyExists {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		group.Wait()
		left := 0
		for _, name := range names {
			rights, err := w.ctrl.Rights(w.ctx, name, "")
			w.ok(err)
			if rights.Controller == "superuser" {
				left++
			}
		}
		if left == 0 {
			t.Fatalf("no superuser remains in round %d", round)
		}
	}
}

// One of several identical concurrent grants succeeds, and so does one of several revokes.
func TestConcurrentGrantSucceedsOnce(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	at := func(do func(context.Context) error) (done int) {
		var mu sync.Mutex
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				err := do(w.ctx)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					done++
				} else if kind := entity.KindOf(err); kind != entity.AlreadyExists && kind != entity.NotFound {
					t.Error(err)
				}
			})
		}
		group.Wait()
		return done
	}
	model := w.st.UUID()
	for range 5 {
		if n := at(func(ctx context.Context) error { return w.ctrl.GrantModel(ctx, model, "bob", "write", "") }); n != 1 {
			t.Errorf("%d grants succeeded, want 1", n)
		}
		w.may("bob", "login", "write")
		if n := at(func(ctx context.Context) error { return w.ctrl.RevokeModel(ctx, model, "bob", "write") }); n != 1 {
			t.Errorf("%d revokes succeeded, want 1", n)
		}
		w.may("bob", "login", "read")
		w.ok(w.ctrl.RevokeModel(w.ctx, model, "bob", "read"))
	}
}

// A model can't be added if its owner is removed concurrently.
func TestAddModelDuringRemoveUser(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	w.before(func() { w.ok(w.ctrl.RemoveUser(w.ctx, "bob")) })
	_, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "mine", Owner: "bob", Series: "jammy"})
	w.refused(err, entity.NotFound, `cannot add model "mine": user "bob" is permanently deleted`)
}

// A grant to a user who is removed concurrently fails.
func TestGrantDuringRemoveUser(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	w.before(func() { w.ok(w.ctrl.RemoveUser(w.ctx, "bob")) })
	w.refused(w.ctrl.GrantModel(w.ctx, w.st.UUID(), "bob", "read", ""), entity.NotFound, "permanently deleted")
	w.may("bob", "", "")
}

// Changing a user's rights triggers the watch.
func TestWatchRights(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	bob := w.ctrl.WatchRights(w.ctx, "bob", w.st.UUID())
	event := func(ch <-chan struct{}) {
		t.Helper()
		select {
		case <-ch:
		case <-time.After(verify.Patience):
			t.Fatal("no event")
		}
	}
	event(bob)
	_, token, err := w.ctrl.CreateToken(w.ctx, "bob", "t", w.st.UUID(), time.Hour)
	w.ok(err)
	login, _, err := w.ctrl.CreateLogin(w.ctx, "bob")
	w.ok(err)
	_, session, err := w.ctrl.BeginSession(w.ctx, login)
	w.ok(err)
	all := w.ctrl.WatchUsers(w.ctx)
	models, err := w.ctrl.WatchModelsOf(w.ctx, "BOB")
	w.ok(err)
	watches := []<-chan struct{}{bob, w.ctrl.WatchToken(w.ctx, token), w.ctrl.WatchSession(w.ctx, session, w.st.UUID()), all, models}
	for _, ch := range watches[1:] {
		event(ch)
	}
	for _, change := range []func() error{
		func() error { return w.ctrl.GrantModel(w.ctx, w.st.UUID(), "bob", "read", "") },
		func() error { return w.ctrl.RevokeModel(w.ctx, w.st.UUID(), "bob", "read") },
		func() error { return w.ctrl.GrantController(w.ctx, "bob", "superuser") },
		func() error { return w.ctrl.DisableUser(w.ctx, "bob") },
	} {
		w.ok(change())
		for _, ch := range watches {
			event(ch)
		}
	}
	ends := w.ctrl.WatchToken(w.ctx, token)
	event(ends)
	w.ok(w.ctrl.RevokeToken(w.ctx, "bob", "t"))
	event(ends)
	ends = w.ctrl.WatchSession(w.ctx, session, "")
	event(ends)
	w.ok(w.ctrl.EndSession(w.ctx, session.ID))
	event(ends)
	w.mustAddModel("another")
	event(models)
}
