package entity

import (
	"errors"
	"syscall"
)

// IsDiskFull reports whether err says that a disk, or what a user may take of it, is
// full. What failed for that may be tried again once there is room.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
