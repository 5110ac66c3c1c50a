package admission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A model with many waiting requests does not hold up the others: the next turn goes to the model that has the fewest.
func TestAgentTurnsAreSharedByModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewAgentTurns(2)
		var given []string
		releases := map[string][]func(){}
		ask := func(models ...string) {
			for _, model := range models {
				go func() {
					release, err := turns.Take(t.Context(), model)
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
		go func() { _, left = turns.Take(ctx, "small") }()
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
