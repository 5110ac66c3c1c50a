package facades_test

import (
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/state/controller"
	"juju/state/entity"
)

// A user has tokens, of which superusers can list and revoke others'. What is made in a browser's session does not outlive it.
func TestTokensOfUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", controller.AccessRead, ""))
	w.user("bob", w.st.UUID()).says(step{"Tokens 1 Create", `{"name":"dash","age":0}`, `cannot create token "dash": it must expire after more than 0s…`})
	if _, _, err := w.user("bob", w.st.UUID()).client().CreateToken(t.Context(), "dash", time.Hour); err != nil {
		t.Fatal(err)
	}
	const no = `permission denied → This needs "superuser" access to the controller; bob has "login". A superuser can grant it: juju grant bob superuser`
	w.user("bob", "").says(
		step{"Tokens 1 List", `{}`, `{"tokens":[{"user":"bob","name":"dash",…`},
		step{"Tokens 1 List", `{"user":"user-admin"}`, no},
		step{"Tokens 1 Revoke", `{"names":["dash"],"user":"user-admin"}`, no},
		step{"Tokens 1 CreateLogin", `{}`, `{"text":"…`},
	)
	w.root().says(
		step{"Tokens 1 List", `{}`, `{"tokens":[]}`},
		step{"Tokens 1 List", `{"user":"user-bob"}`, `{"tokens":[{"user":"bob","name":"dash",…`},
		step{"Tokens 1 Revoke", `{"names":["none","dash"],"user":"user-bob"}`, `cannot revoke token "none": token "none" not found` + "\n{}"},
		step{"Tokens 1 List", `{"user":"user-bob"}`, `{"tokens":[]}`},
	)
	inSession := &facades.Caller{Identity: facades.Identity{Tag: entity.UserTag("bob"), InSession: true}, Backend: w.backend, Model: w.st, Request: w.root()}
	for _, method := range []string{"Create", "CreateLogin"} {
		_, err := w.backend.Table.Route("Tokens", 1, method).Call(t.Context(), inSession, []byte(`{"name":"x","age":3600000000000}`))
		if entity.KindOf(err) != entity.Unauthorized || err.Error() != "a session of a browser may not do this" {
			t.Errorf("%s in a session: %v", method, err)
		}
	}
}
