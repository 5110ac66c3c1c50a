package status_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// A status that is watched shows what has changed and gone, and no more than fits; nothing of a longer one before is left.
func TestWatchedStatusOnAScreen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(72, 20)
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=active web/1=waiting web=waiting 0=started 1=pending")}
		change := func(at time.Duration, words string) {
			time.AfterFunc(at+clitest.OffTick, func() { u.Model.Change(waittest.Model(words)) })
		}
		change(3*time.Second, "web/0=active web/1=active web=active 0=started 1=started")
		change(15*time.Second, "web/1=active web=active 1=started")
		many := ""
		for i := range 40 {
			many += fmt.Sprintf("web/%d=active ", i)
		}
		change(30*time.Second, many)
		ctx, cancel := context.WithCancel(t.Context())
		for at, name := range map[time.Duration]string{2: "begins", 5: "changes", 17: "goes", 31: "overflows"} {
			time.AfterFunc(at*time.Second+2*clitest.OffTick, func() { s.Shows(t, "watch-"+name+".txt", s.String()) })
		}
		time.AfterFunc(32*time.Second+clitest.OffTick, cancel)
		u.TypesUntil(ctx, "status", "--watch", "1s", "--utc")
		if u.Code != 0 {
			t.Errorf("exit code %d", u.Code)
		}
	})
}
