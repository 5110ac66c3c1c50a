package entity

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
)

func TestIsDiskFull(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}: true,
		os.NewSyscallError("write", syscall.EDQUOT):                true,
		&fs.PathError{Op: "write", Path: "f", Err: syscall.EIO}:    false,
		nil: false,
	} {
		if got := IsDiskFull(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestIsShortage(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}:        true,
		os.NewSyscallError("pipe2", syscall.EMFILE):                       true,
		os.NewSyscallError("pipe2", syscall.ENFILE):                       true,
		&fs.PathError{Op: "fork/exec", Path: "juju", Err: syscall.EAGAIN}: true,
		&fs.PathError{Op: "fork/exec", Path: "juju", Err: syscall.ENOMEM}: true,
		&fs.PathError{Op: "fork/exec", Path: "juju", Err: syscall.ENOENT}: false,
		&fs.PathError{Op: "fork/exec", Path: "juju", Err: syscall.EACCES}: false,
		nil: false,
	} {
		if got := IsShortage(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
