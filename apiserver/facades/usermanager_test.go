package facades_test

import (
	"testing"

	"juju/state/controller"
)

// Superusers manage other users; a user manages nobody. Each user that a request names is judged alone.
func TestUsersAreManagedBySuperusers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	const nobody = `user "nobody" not found → To list the users: juju users. To add one: juju add-user nobody`
	w.root().says(
		step{"UserManager 3 AddUser", `{"users":[{"username":"ann","password":"a long password"},{"username":"bob"}]}`,
			`{"tag":"user-ann"}
failed to create user: username unavailable → To list the users: juju users --all`},
		step{"UserManager 3 DisableUser", `{"entities":[{"tag":"user-ann"},{"tag":"user-nobody"},{"tag":"machine-0"}]}`,
			"{}\nfailed to disable user: " + nobody + "\n" + `"machine-0" is not a valid user tag`},
		step{"UserManager 3 UserInfo", `{"entities":[{"tag":"user-nobody"},{"tag":"unit-a-0"}]}`,
			nobody + "\n" + `"unit-a-0" is not a valid user tag`},
		step{"Controller 12 GetControllerAccess", `{"entities":[{"tag":"user-ann"}]}`, `{"result":{"user-tag":"user-ann","access":""}}`},
		step{"UserManager 3 EnableUser", `{"entities":[{"tag":"user-ann"},{"tag":"user-nobody"}]}`, "{}\nfailed to enable user: " + nobody},
		step{"Controller 12 GetControllerAccess", `{"entities":[{"tag":"user-ann"}]}`, `{"result":{"user-tag":"user-ann","access":"login"}}`},
		step{"UserManager 3 ResetPassword", `{"entities":[{"tag":"user-admin"},{"tag":"user-nobody"}]}`,
			"permission denied → To change your own password: juju change-user-password\n" +
				`failed to reset password of user "nobody": ` + nobody},
		step{"UserManager 3 RemoveUser", `{"entities":[{"tag":"user-ann"},{"tag":"user-ann"}]}`,
			"{}\n" + `failed to delete user "ann": user "ann" is permanently deleted → To add another user of this name: juju add-user ann`},
		step{"Controller 12 ModifyControllerAccess", `{"changes":[{"user-tag":"user-bob","action":"grant","access":"add-model"},
			{"user-tag":"user-bob","action":"give","access":"superuser"},{"user-tag":"user-bob","action":"grant","access":"read"}]}`,
			"{}\n" + `unknown action "give"` + "\n" +
				`could not grant controller access: "read" controller access not valid → The levels are: login, add-model, superuser`},
		step{"Controller 12 GetControllerAccess", `{"entities":[{"tag":"user-bob"},{"tag":"user-nobody"}]}`,
			`{"result":{"user-tag":"user-bob","access":"add-model"}}` + "\n" + nobody},
		step{"Controller 12 ModifyControllerAccess", `{"changes":[{"user-tag":"user-bob","action":"revoke","access":"add-model"}]}`, "{}"},
		step{"Controller 12 GetControllerAccess", `{"entities":[{"tag":"user-bob"}]}`, `{"result":{"user-tag":"user-bob","access":"login"}}`},
	)
	const no = `permission denied → This needs "superuser" access to the controller; bob has "login". A superuser can grant it: juju grant bob superuser`
	bob := w.user("bob", "")
	for _, method := range []string{"AddUser", "EnableUser", "DisableUser", "RemoveUser", "ResetPassword"} {
		bob.says(step{"UserManager 3 " + method, `{"entities":[{"tag":"user-admin"}]}`, no})
	}
	bob.says(step{"UserManager 3 UserInfo", `{"entities":[{"tag":"user-admin"}]}`, no})
}

// Access to a model is changed for a user, of a model, and in a way that there is.
func TestAccessToModelsIsChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	change := func(user, action, model, want string) step {
		return step{"ModelManager 10 ModifyModelAccess", `{"changes":[{"user-tag":"` + user + `","action":"` + action +
			`","access":"read","model-tag":"` + model + `"}]}`, want}
	}
	model := "model-" + w.st.UUID()
	access := func(want string) {
		t.Helper()
		rights, err := w.controller.Rights(t.Context(), "bob", w.st.UUID())
		if w.ok(err); rights.Model != want {
			t.Errorf("bob has %q access, want %q", rights.Model, want)
		}
	}
	w.root().says(change("user-bob", "give", model, `unknown action "give"`), change("unit-a-0", "grant", model, `"unit-a-0" is not a valid user tag`),
		change("user-bob", "grant", "user-bob", `"user-bob" is not a valid model tag`))
	access("")
	w.root().says(change("user-bob", "grant", model, "{}"))
	access(controller.AccessRead)
	w.root().says(change("user-bob", "revoke", model, "{}"))
	access("")
}
