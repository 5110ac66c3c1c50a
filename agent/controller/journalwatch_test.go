package controller

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch makes changed fire when a line was written to the journal, or the model's status may have
// changed.
func (p *player) watch() {
	p.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	p.ok(err)
	writes := os.NewFile(uintptr(fd), "inotify")
	_, err = unix.InotifyAddWatch(fd, p.file.Name(), unix.IN_MODIFY)
	p.ok(err)
	statuses, err := p.st.Watches().Status(p.ctx)
	p.ok(err)
	changed := make(chan struct{}, 1)
	p.changed = changed
	fire := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		for buf := make([]byte, 4096); ; fire() {
			if _, err := writes.Read(buf); err != nil {
				return
			}
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		for range statuses {
			fire()
		}
	}()
	p.Cleanup(func() {
		writes.Close()
		<-done
		<-done
	})
}

// await calls holds at once and after each change until it returns true, but not longer than d. It
// reports whether it has.
func (p *player) await(d time.Duration, holds func() bool) bool {
	p.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !holds() {
		select {
		case <-timer.C:
			return false
		case <-p.changed:
		}
	}
	return true
}
