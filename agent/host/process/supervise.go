package process

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/juju/loggo"

	"juju/agent/host/cgroup"
)

var logger = loggo.GetLogger("juju.agent.host.process")

// Supervise keeps the process running: it starts it, or watches the one that already runs, and
// starts it again whenever it ends, at once the first time, and after growing pauses if it
// keeps ending soon. It returns nil when the process has ended for good, an error that wraps
// ErrRemoved when its directory is gone, and ctx's error when ctx is done; the process then goes on.
func Supervise(ctx context.Context, spec Spec) error {
	var b backoff
	full := false
	for {
		began := time.Now()
		kills := cgroup.Kills(os.DirFS("/"))
		started, err := Start(ctx, spec)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrEnded):
			return nil
		case errors.Is(err, fs.ErrNotExist) && !exists(spec.Dir):
			return removed(spec.Dir)
		case spec.Room > 0 && errors.Is(err, syscall.ENOSPC):
			if !full {
				logger.Errorf("%v", err)
			}
			full = true
			if err := wait(ctx, roomPause); err != nil {
				return err
			}
			continue
		case err != nil:
			logger.Errorf("%v", err)
		default:
			full = false
			if started {
				logger.Infof("started %s in %s", spec.Path, spec.Dir)
			}
			if err := WaitEnd(ctx, spec.Dir); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				logger.Errorf("cannot watch %s: %v", spec.Dir, err)
			}
			noteKill(spec.Dir, killed(spec.Dir), cgroup.Kills(os.DirFS("/")) > kills)
		}
		if _, ended := Ended(spec.Dir); ended {
			return nil
		}
		d := b.next(time.Since(began))
		logger.Warningf("%s in %s has ended; starting it again in %v", spec.Path, spec.Dir, d)
		if err := wait(ctx, d); err != nil {
			return err
		}
	}
}

// backoff says how long to wait before the next start.
type backoff struct{ young int }

// roomPause is the time between two checks for room on the disk.
const roomPause = time.Second

const (
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 30 * time.Second
	// backoffGrown is how long a process must have run for its end to reset the pauses.
	backoffGrown = 10 * time.Second
)

// next returns the pause after a process that ran for the given time.
func (b *backoff) next(ran time.Duration) time.Duration {
	if ran >= backoffGrown {
		b.young = 0
	}
	b.young++
	if b.young == 1 {
		return 0
	}
	d := backoffMax
	if shift := b.young - 2; shift < 9 {
		d = min(backoffFirst<<shift, backoffMax)
	}
	// Agents that died together must not come back together.
	return d/2 + rand.N(d/2+1)
}
