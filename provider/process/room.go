package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"juju/state/entity"
)

// CheckRoom fails, with an error that is syscall.ENOSPC, when fewer bytes are
// free in the file system that a directory is in than a process needs. What
// can't be found out is no reason to fail.
func CheckRoom(dir string, need uint64) error {
	var disk unix.Statfs_t
	if need == 0 || unix.Statfs(dir, &disk) != nil {
		return nil
	}
	free := disk.Bavail * uint64(disk.Bsize)
	if free >= need {
		return nil
	}
	return entity.WithHint(fmt.Errorf("%w: %s has %d KiB free, and %d KiB are needed", syscall.ENOSPC, dir, free>>10, need>>10),
		"Make room there; what waits for it is then started by itself.")
}
