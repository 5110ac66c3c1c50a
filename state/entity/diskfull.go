package entity

import (
	"errors"
	"syscall"
)

// IsDiskFull reports whether err says that a disk or a user's quota is full. The failed operation can
// be retried once there is space.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
