package rehearsal

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A user with many plans has one made at a time, and another user's is the next one; so it is with a model. What is given up
// leaves its place to others.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	var all turns
	names, asked := map[*turn]string{}, []*turn{}
	ask := func(user, model string) {
		one := all.ask(user, model)
		names[one] = fmt.Sprintf("%s/%s.%d", user, model, len(asked))
		asked = append(asked, one)
	}
	began := func() string {
		t.Helper()
		var text []string
		for _, one := range asked {
			select {
			case <-one.begins:
				text = append(text, names[one])
			default:
			}
		}
		return strings.Join(text, " ")
	}
	is := func(want string) {
		t.Helper()
		if got := began(); got != want {
			t.Fatalf("these have begun: %s, want %s", got, want)
		}
	}
	for range 3 {
		ask("ann", "large") // 0, 1, 2
	}
	ask("ann", "small") // 3
	is("ann/large.0")
	ask("bob", "small") // 4
	ask("bob", "large") // 5
	is("ann/large.0 bob/small.4")
	all.end(asked[0])
	is("ann/large.0 ann/large.1 bob/small.4")
	all.end(asked[4])
	ask("cid", "large") // 6
	all.end(asked[1])   // ann had the model twice: it is bob's turn, and ann's in the other one
	is("ann/large.0 ann/large.1 ann/small.3 bob/small.4 bob/large.5")
	all.end(asked[2]) // given up
	all.end(asked[5])
	is("ann/large.0 ann/large.1 ann/small.3 bob/small.4 bob/large.5 cid/large.6")
	for _, user := range []string{"dan", "eve", "fay"} {
		ask(user, user)
	}
	if got := began(); !strings.Contains(got, "eve") || strings.Contains(got, "fay") {
		t.Errorf("there are as many as %s", got)
	}
	for _, one := range asked {
		all.end(one)
	}
	if len(all.taken)+len(all.waiting) > 0 {
		t.Errorf("%v are left", all.taken)
	}
}

// While one user's plan of a model is being made, another's plan of another model is, and whoever waits can give up.
func TestPlansOfOthersGoOn(t *testing.T) {
	t.Parallel()
	h := newTheatre(t)
	nothing := func(context.Context, *controller.Controller, *state.State) error { return nil }
	small, err := h.stage.Controller.AddModel(h.ctx, controller.AddModelParams{Name: "small", Owner: statetest.Admin})
	h.ok(err)
	plan := func(ctx context.Context, user string, st *state.State, change func(context.Context, *controller.Controller, *state.State) error) error {
		_, err := h.stage.Plan(ctx, user, st.UUID(), func(string) bool { return false }, change)
		return err
	}
	h.ok(plan(h.ctx, "ann", h.st, func(ctx context.Context, _ *controller.Controller, _ *state.State) error {
		h.ok(plan(h.ctx, "bob", small, nothing))
		hurried, cancel := context.WithCancelCause(h.ctx)
		cancel(entity.Errorf(entity.Stopped, "no time"))
		for user, st := range map[string]*state.State{"ann": small, "bob": h.st} {
			if err := plan(hurried, user, st, nothing); !strings.Contains(fmt.Sprint(err), "no time") {
				t.Errorf("a plan of %s does not wait: %v", user, err)
			}
		}
		return nil
	}))
	h.ok(plan(h.ctx, "bob", h.st, nothing))
}
