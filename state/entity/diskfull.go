package entity

import (
	"errors"
	"syscall"
)

// IsDiskFull reports whether err says that a disk or a user's quota is full. What failed can be
// tried again once there is room.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
