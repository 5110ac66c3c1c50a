package apiserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state/entity"
)

// A model with many waiting requests does not hold up the others: the next turn goes to the model that has the fewest.
func TestAgentTurnsAreSharedByModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newAgentTurns(2)
		var given []string
		releases := map[string][]func(){}
		ask := func(models ...string) {
			for _, model := range models {
				go func() {
					release, err := turns.take(t.Context(), model)
					if err != nil {
						t.Error(err)
						return
					}
					given, releases[model] = append(given, model), append(releases[model], release)
				}()
				synctest.Wait() // they come one after the other
			}
		}
		end := func(model string) {
			release := releases[model][0]
			releases[model] = releases[model][1:]
			release() // and who is next writes to releases
			synctest.Wait()
		}
		got := func(want string) {
			t.Helper()
			if strings.Join(given, " ") != want {
				t.Fatalf("turns were given to %s, want %s", strings.Join(given, " "), want)
			}
		}
		ask(slices.Repeat([]string{"large"}, 100)...)
		ask("small", "tiny")
		got("large large")
		end("large") // one of large is worked on, none of small and tiny, of which small came first
		got("large large small")
		end("large") // none of large and tiny, of which large came first
		got("large large small large")
		end("small")
		got("large large small large tiny")
		end("tiny")
		got("large large small large tiny large")

		// Who gives up leaves nothing, also if the turn is given at that moment.
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var left error
		go func() { _, left = turns.take(ctx, "small") }()
		synctest.Wait()
		cancel(gone)
		synctest.Wait()
		end("large")
		if given = given[len(given)-1:]; left != gone || given[0] != "large" {
			t.Errorf("who gave up got %v, and the next turn went to %s", left, given)
		}
		for len(releases["large"]) > 0 {
			end("large")
		}
		if turns.free != 2 || len(turns.working)+len(turns.waiting)+len(turns.order) > 0 {
			t.Errorf("at the end there are %+v", turns)
		}
	})
}

// Users' requests do not wait for those of agents, nor do agents that wait for each other. An agent's turn ends when its
// request has applied a transaction, and waits for the disk.
func TestAgentsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.AgentTurns = 1 })).populate()
	ctx, turns := t.Context(), w.server.agentTurns
	u0, u1 := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1")
	first := client.LeadershipServiceFacade{Caller: w.dial(w.info(u0))}
	second := client.LeadershipServiceFacade{Caller: w.dial(w.info(u1))}
	admin := w.dial(w.adminInfo(w.st.UUID()))
	release, err := turns.take(ctx, "another model")
	w.ok(err)
	claimed := make(chan error, 1)
	go func() {
		_, err := first.ClaimLeadership(ctx, u0, time.Minute)
		claimed <- err
	}()
	eventually(t, "the agent does not wait for its turn", func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return len(turns.waiting[w.st.UUID()]) == 1
	})
	_, err = admin.Status(ctx)
	w.ok(err)
	w.ok(second.BlockUntilLeadershipReleased(ctx, u1))
	release()
	w.ok(facadestest.Receive(t, claimed))

	w.server.table = facades.NewTable(append(routes(), facades.Route{"Test", 1, "Change", facades.AtModel, facades.UnitAgent,
		facades.Free, facades.AnyLogin, nil, facades.Act(func(ctx context.Context, c *facades.Caller, _ facades.None) error {
			u, err := c.Model.Unit(ctx, u0.ID)
			if err == nil {
				err = u.SetStatus(ctx, entity.Status{Status: entity.StatusActive, Message: "changed"})
			}
			turns.mu.Lock()
			defer turns.mu.Unlock()
			if err == nil && turns.free != 1 {
				err = entity.Errorf(entity.Invalid, "its turn goes on")
			}
			return err
		})}))
	w.ok(w.raw(w.modelPath()).login(u0, w.info(u0).Password, "").do("Test", 1, "Change", nil, nil))
}
