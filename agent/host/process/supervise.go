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
	"juju/state/entity/backoff"
)

var logger = loggo.GetLogger("juju.agent.host.process")

// Supervise keeps the process running. It starts the process, or watches the one that is already running, and
// restarts it whenever it exits: immediately the first time, and with exponential backoff if it keeps exiting
// early. It returns nil when the process has ended permanently, an error that wraps ErrRemoved if the
// directory was removed, and ctx's error when ctx is done; in that case the process keeps running.
func Supervise(ctx context.Context, spec Spec) error {
	pauses := newRestarts()
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
			if err := backoff.Sleep(ctx, roomPause); err != nil {
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
		d := pauses.next(time.Since(began))
		logger.Warningf("%s in %s has exited; restarting it in %v", spec.Path, spec.Dir, d)
		if err := backoff.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// roomPause is the interval between checks for disk space.
const roomPause = time.Second

const (
	backoffFirst = 100 * time.Millisecond
	backoffMax   = 30 * time.Second
	// backoffReset is how long a process must have run for its exit to reset the backoff.
	backoffReset = 10 * time.Second
)

// restarts has the pauses before restarts of a process: none after its first exit, and longer ones if it keeps exiting.
type restarts struct {
	again  bool // it has exited before
	pauses *backoff.Backoff
}

func newRestarts() *restarts { return &restarts{pauses: backoff.New(backoffFirst, backoffMax)} }

// next returns the pause after a process that ran for the given time.
func (r *restarts) next(ran time.Duration) time.Duration {
	if ran >= backoffReset {
		r.again = false
		r.pauses.Reset()
	}
	if !r.again {
		r.again = true
		return 0
	}
	d := r.pauses.Next()
	// The jitter keeps agents that died together from restarting together.
	return d/2 + rand.N(d/2+1)
}
