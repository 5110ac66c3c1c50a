package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"juju/state/entity"
)

// Room returns how many bytes are free for users on the directory's file system.
func Room(dir string) (uint64, error) {
	free, _, err := Space(dir)
	return free, err
}

// Space returns Room, and the size of the file system in bytes.
func Space(dir string) (free, size uint64, err error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, 0, fmt.Errorf("cannot find out how much room %s has: %w", dir, err)
	}
	return disk.Bavail * uint64(disk.Bsize), disk.Blocks * uint64(disk.Bsize), nil
}

// CheckRoom returns an error that wraps syscall.ENOSPC if the directory's file system has fewer free bytes
// than need. It returns nil if the free space can't be determined.
func CheckRoom(dir string, need uint64) error {
	free, err := Room(dir)
	if err != nil || free >= need {
		return nil
	}
	return entity.WithHint(fmt.Errorf("%w: %s has %d KiB free, and %d KiB are needed", syscall.ENOSPC, dir, free>>10,
		need>>10),
		"Make room there; what waits for it is then started by itself.")
}
