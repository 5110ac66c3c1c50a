package dashboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/deltas"
)

// All who look at a model share a mirror, which ends a while after the last has left; when the model ends, it ends too, and
// who comes next gets another.
func TestMirrorsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Mirrors
		begun := 0
		takes := make(chan deltas.Take)
		var following context.Context
		watch := func(ctx context.Context) (<-chan deltas.Take, error) {
			begun++
			following = ctx
			return takes, nil
		}
		go func() { takes <- func() (deltas.News, error) { return deltas.News{Whole: true, Revision: "a-1"}, nil } }()
		first, _, leaveFirst, err := all.Open(t.Context(), "uuid", watch)
		if err != nil || first.Revision() != "a-1" {
			t.Fatalf("the mirror is at %v, %v", first, err)
		}
		second, done, leaveSecond, err := all.Open(t.Context(), "uuid", watch)
		if err != nil || second != first || begun != 1 {
			t.Errorf("the second got another mirror: begun %d, %v", begun, err)
		}
		leaveFirst()
		leaveFirst()
		time.Sleep(2 * keptFor)
		if following.Err() != nil {
			t.Error("the mirror has ended, but someone looks at it")
		}
		close(takes)
		<-done
		leaveSecond()
		gone := errors.New("gone")
		_, _, _, err = all.Open(t.Context(), "uuid", func(context.Context) (<-chan deltas.Take, error) { return nil, gone })
		if !errors.Is(err, gone) {
			t.Errorf("a mirror of a model that is gone: %v", err)
		}
		time.Sleep(2 * keptFor)

		takes = make(chan deltas.Take, 1)
		takes <- func() (deltas.News, error) { return deltas.News{Whole: true, Revision: "b-1"}, nil }
		_, _, leave, err := all.Open(t.Context(), "uuid", watch)
		if err != nil || begun != 2 {
			t.Errorf("who comes later gets no mirror: %v", err)
		}
		leave()
		time.Sleep(keptFor / 2)
		if following.Err() != nil {
			t.Error("the mirror has ended at once")
		}
		time.Sleep(keptFor)
		if following.Err() == nil {
			t.Error("the mirror goes on without anyone")
		}
		close(takes)
		all.Close()
	})
}
