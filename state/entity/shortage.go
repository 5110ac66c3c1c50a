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

// IsShortage reports whether err says that a host has no more of what others may release: disk space, open files,
// memory or processes. The failed operation can be retried then.
func IsShortage(err error) bool {
	for _, lacks := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		if errors.Is(err, lacks) {
			return true
		}
	}
	return IsDiskFull(err)
}
