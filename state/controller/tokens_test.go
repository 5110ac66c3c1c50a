package controller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func TestTokenLifecycle(t *testing.T) {
	w := newWorld(t)
	text, token, err := w.ctrl.CreateToken(w.ctx, statetest.Admin, "grafana", w.st.UUID(), time.Hour)
	w.ok(err)
	if token.ModelUUID != w.st.UUID() || token.User != statetest.Admin || token.Expires.Sub(token.Created) != time.Hour {
		t.Errorf("the token is %+v", token)
	}
	valid := func(text string) {
		t.Helper()
		if got, err := w.ctrl.CheckToken(w.ctx, text); err != nil || got.Name != token.Name {
			t.Errorf("the token is %+v, %v", got, err)
		}
	}
	invalid := func(text string) {
		t.Helper()
		_, err := w.ctrl.CheckToken(w.ctx, text)
		w.refused(err, entity.Unauthorized, "the token is not valid")
	}
	valid(text)
	invalid(text + "x")
	invalid("")
	create := func(user, name, model string, age time.Duration) error {
		_, _, err := w.ctrl.CreateToken(w.ctx, user, name, model, age)
		return err
	}
	w.refused(create("admin", "grafana", w.st.UUID(), time.Hour), entity.AlreadyExists,
		`cannot create token "grafana": you have a token with this name`)
	w.refused(create("admin", "Grafana", w.st.UUID(), time.Hour), entity.Invalid,
		`cannot create token "Grafana": "Grafana" is not a valid name: token names may only contain lowercase letters, digits and hyphens`)
	w.refused(create("admin", "x", w.st.UUID(), 0), entity.Invalid,
		`cannot create token "x": it must expire after more than 0s and at most 43800h0m0s, not after 0s`)
	w.refused(create("admin", "x", stray, time.Hour), entity.NotFound, `cannot create token "x": model "`+stray+`" not found`)
	w.refused(create("eve", "x", w.st.UUID(), time.Hour), entity.NotFound, `cannot create token "x": user "eve" not found`)
	w.ok(w.ctrl.RevokeToken(w.ctx, "admin", "grafana"))
	w.refused(w.ctrl.RevokeToken(w.ctx, "admin", "grafana"), entity.NotFound,
		`cannot revoke token "grafana": token "grafana" not found`)
	invalid(text)
}

// A token that has expired is refused. Its name can be used again, and it does not count.
func TestTokensExpire(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Now())
	var texts []string
	for i := range controller.MaxTokens {
		text, _, err := n.CreateToken(w.ctx, "admin", fmt.Sprint("t", i), w.st.UUID(), time.Duration(i+1)*time.Hour)
		w.ok(err)
		texts = append(texts, text)
	}
	_, _, err := n.CreateToken(w.ctx, "admin", "more", w.st.UUID(), time.Hour)
	w.refused(err, entity.InUse, `cannot create token "more": a user can have 100 tokens`)

	w.addUser("bob") // whose tokens are counted apart
	_, _, err = n.CreateToken(w.ctx, "Bob", "t1", w.st.UUID(), time.Hour)
	w.ok(err)
	bobs, _, err := n.CreateToken(w.ctx, "bob", "t2", w.st.UUID(), time.Minute)
	w.ok(err)

	n.passes(2 * time.Hour)
	_, err = n.CheckToken(w.ctx, texts[1])
	w.refused(err, entity.Unauthorized, "the token has expired")
	again, _, err := n.CreateToken(w.ctx, "admin", "t1", w.st.UUID(), time.Hour)
	w.ok(err)
	_, err = n.CheckToken(w.ctx, texts[1])
	w.refused(err, entity.Unauthorized, "the token is not valid")
	_, err = n.CheckToken(w.ctx, again)
	w.ok(err)
	_, err = n.CheckToken(w.ctx, bobs)
	w.refused(err, entity.Unauthorized, "the token has expired")
	all, err := w.ctrl.Tokens(w.ctx, "ADMIN")
	w.ok(err)
	if len(all) != controller.MaxTokens-1 || all[0].Name != "t1" || all[0].Model != "admin/default" ||
		all[1].Name != "t2" { // t0 has expired
		t.Errorf("%d tokens, %+v", len(all), all[0])
	}
}

// Tokens go with their user and with their model.
func TestTokensGoWithTheirUserAndModel(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	bobs, _, err := w.ctrl.CreateToken(w.ctx, "bob", "t", w.st.UUID(), time.Hour)
	w.ok(err)
	text, _, err := w.ctrl.CreateToken(w.ctx, "admin", "t", w.st.UUID(), time.Hour)
	w.ok(err)
	w.ok(w.ctrl.RemoveUser(w.ctx, "bob"))
	_, err = w.ctrl.CheckToken(w.ctx, bobs)
	w.refused(err, entity.Unauthorized, "the token is not valid")
	_, err = w.ctrl.CheckToken(w.ctx, text)
	w.ok(err)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.st.EnsureDead(w.ctx))
	w.ok(w.ctrl.RemoveModel(w.ctx, w.st.UUID()))
	left, err := statetest.ResumeModels(w.ctx, w.ctrl, func(context.Context, controller.ModelRow) error { return nil })
	w.ok(err)
	if left > 0 {
		t.Errorf("%d models are not removed", left)
	}
	_, err = w.ctrl.CheckToken(w.ctx, text)
	w.refused(err, entity.Unauthorized, "the token is not valid")
}
