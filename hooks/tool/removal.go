package tool

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// onRemoval calls f once if the file of this name in dir is removed before stop is called. When stop
// returns, f does not run.
func onRemoval(dir, name string, f func()) (stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot watch %s: %w", dir, err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_DELETE); err != nil {
		events.Close()
		return nil, fmt.Errorf("cannot watch %s: %w", dir, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			n, err := events.Read(buf)
			if err != nil {
				return // closed
			}
			for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
				event := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
				end := unix.SizeofInotifyEvent + int(event.Len)
				if strings.TrimRight(string(rest[unix.SizeofInotifyEvent:end]), "\x00") == name {
					f()
					return
				}
				rest = rest[end:]
			}
		}
	}()
	return func() {
		events.Close()
		<-done
	}, nil
}
