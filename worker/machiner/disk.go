package machiner

import (
	"context"
	"time"

	"juju/state/entity"
	"juju/worker"
)

const (
	// diskPause is the interval between checks of the disk. A check is one call of the kernel.
	diskPause = 10 * time.Second
	// roomNeeded is how much should be free on a machine's disk, in bytes: enough for a charm and new agent binaries.
	roomNeeded = 64 << 20
	// roomToWork is how much must be free for hooks and commands to begin and to record how they end, in bytes.
	roomToWork = 1 << 20
)

// DiskAPI is what WatchDisk needs of the controller.
type DiskAPI interface {
	// SetFullDisk shows users that a machine's disk is full or nearly so; the zero value that it has room.
	SetFullDisk(ctx context.Context, machine entity.Tag, disk entity.FullDisk) error
}

// WatchDisk returns the worker that reports when the disk of a machine is full or nearly so, and when it has room
// again. dir is a directory on it, and free returns how many of its bytes are free. Only changes are reported.
func WatchDisk(api DiskAPI, machine entity.Tag, dir string, free func(dir string) (uint64, error)) worker.Func {
	return func(ctx context.Context) error {
		reported := entity.FullDisk{} // the controller forgets what it was told when the agent disconnects
		return worker.Every(ctx, diskPause, func(ctx context.Context) error {
			bytes, err := free(dir)
			if err != nil {
				logger.Debugf("%v", err) // the directory was removed, and the agent ends
				return nil
			}
			now := judge(dir, bytes, reported)
			if now == reported {
				return nil
			}
			if err := api.SetFullDisk(ctx, machine, now); err != nil {
				return err
			}
			if now.IsZero() {
				logger.Infof("the disk of %s has room again", dir)
			} else {
				logger.Warningf("%v", now)
			}
			reported = now
			return nil
		})
	}
}

// judge returns what to report of a disk. A quarter more than a bound must be free for the disk to leave it, so that
// what is reported does not change back and forth.
func judge(dir string, free uint64, before entity.FullDisk) entity.FullDisk {
	for _, bound := range []uint64{roomToWork, roomNeeded} {
		enough := bound
		if before.Below != 0 && before.Below <= bound {
			enough += bound / 4
		}
		if free < enough {
			return entity.FullDisk{Dir: dir, Below: bound, Need: roomNeeded, Stops: bound == roomToWork}
		}
	}
	return entity.FullDisk{}
}
