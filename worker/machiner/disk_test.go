package machiner

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// diskTold records what WatchDisk reports.
type diskTold struct {
	reports []string
	fails   error
}

func (d *diskTold) SetFullDisk(_ context.Context, machine entity.Tag, disk entity.FullDisk) error {
	if machine != entity.MachineTag("3") {
		return errors.New("of another machine")
	}
	d.reports = append(d.reports, disk.String())
	return d.fails
}

// What changes of a disk is reported, within ten seconds and once, however much its room goes up and down by little.
func TestAFullDiskIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			kib    = 1 << 10
			nearly = "the disk is nearly full: /d has less than 64 MiB free"
			full   = "the disk is full: /d has less than 1 MiB free, and needs 64 MiB; hooks and commands wait or fail"
		)
		told := &diskTold{}
		var room atomic.Uint64
		var gone atomic.Bool
		free := func(dir string) (uint64, error) {
			if gone.Load() {
				return 0, errors.New("no such directory")
			}
			if dir != "/d" {
				t.Errorf("it looks at %s", dir)
			}
			return room.Load(), nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		room.Store(64 << 20)
		done := make(chan error)
		go func() { done <- WatchDisk(told, entity.MachineTag("3"), "/d", free)(ctx) }()
		for _, step := range []struct {
			free uint64 // KiB
			want []string
		}{
			{free: 65 << 10}, {free: 64 << 10}, {free: 63 << 10, want: []string{nearly}}, {free: 66 << 10}, {free: 63 << 10},
			{free: 2 << 10}, {free: 1 << 10}, {free: 1000, want: []string{full}}, {free: 1100}, {free: 0}, {free: 1200},
			{free: 1300, want: []string{nearly}}, {free: 1100}, {free: 1000, want: []string{full}},
			{free: 79 << 10, want: []string{nearly}}, {free: 80 << 10, want: []string{""}}, {free: 65 << 10},
			{free: 12, want: []string{full}}, {free: 1 << 20, want: []string{""}},
		} {
			told.reports = nil
			room.Store(step.free * kib)
			time.Sleep(time.Minute)
			synctest.Wait()
			if !slices.Equal(told.reports, step.want) {
				t.Errorf("with %d KiB free it reports %q, want %q", step.free, told.reports, step.want)
			}
		}
		// What is not known is not reported, and a report that fails ends the worker.
		told.reports = nil
		room.Store(0)
		gone.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(told.reports) > 0 {
			t.Errorf("without a directory it reports %q", told.reports)
		}
		told.fails = errors.New("no connection")
		gone.Store(false)
		if err := <-done; !errors.Is(err, told.fails) {
			t.Errorf("it ends with %v", err)
		}
		told.fails = nil
		go func() { done <- WatchDisk(told, entity.MachineTag("3"), "/d", free)(ctx) }()
		synctest.Wait()
		if want := []string{full, full}; !slices.Equal(told.reports, want) {
			t.Errorf("on a new connection it has reported %q, want %q", told.reports, want)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
}
