package tool

import (
	"os"
	"time"
)

// removalPoll is the interval at which onRemoval looks. It does not use inotify: a user has few instances, and the roots
// of all LXD containers on a host are one user.
const removalPoll = 200 * time.Millisecond

// onRemoval calls f once if the file is removed or replaced before stop is called. When stop returns, f does not run.
func onRemoval(path string, f func()) (stop func(), err error) {
	was, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		poll := time.NewTicker(removalPoll)
		defer poll.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-poll.C:
			}
			now, err := os.Lstat(path)
			if err != nil && !os.IsNotExist(err) {
				continue
			}
			if err != nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) {
				f()
				return
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}, nil
}
