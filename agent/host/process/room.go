package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"juju/state/entity"
)

// CheckRoom returns an error that wraps syscall.ENOSPC if the directory's file system has fewer free bytes
// than need. It returns nil if the free space can't be determined.
func CheckRoom(dir string, need uint64) error {
	var disk unix.Statfs_t
	if need == 0 || unix.Statfs(dir, &disk) != nil {
		return nil
	}
	free := disk.Bavail * uint64(disk.Bsize)
	if free >= need {
		return nil
	}
	return entity.WithHint(fmt.Errorf("%w: %s has %d KiB free, and %d KiB are needed", syscall.ENOSPC, dir, free>>10,
		need>>10),
		"Make room there; what waits for it is then started by itself.")
}
