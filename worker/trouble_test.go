package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A worker that fails again and again is known, with its last error and since when,
// until it has held for a while; one that has failed once is not.
func TestTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		troubles := NewTroubles()
		var told [][]Trouble
		ctx, cancel := context.WithCancel(WithTroubles(t.Context(), troubles))
		defer cancel()
		began := time.Now()
		full, wrong := errors.New("disk full"), errors.New("something else")
		errs := []error{wrong, wrong, full}
		once := []error{errors.New("connection lost")}
		set := map[string]Func{
			"uniter": func(ctx context.Context) error {
				if len(errs) == 0 {
					return wait(ctx)
				}
				err := errs[0]
				errs = errs[1:]
				return err
			},
			"deployer": func(ctx context.Context) error {
				if len(once) == 0 {
					return wait(ctx)
				}
				err := once[0]
				once = nil
				return err
			},
			"report": troubles.Report(func(_ context.Context, now []Trouble) error {
				told = append(told, now)
				return nil
			}),
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(ctx, time.Second, set)
		}()
		time.Sleep(900 * time.Millisecond / 2)
		synctest.Wait()
		if len(told) != 0 {
			t.Errorf("after one failure it tells %v", told)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if len(told) != 2 || len(told[1]) != 1 || told[1][0] != (Trouble{"uniter", "disk full", began}) {
			t.Errorf("of a worker that fails again and again it tells %v", told)
		}
		time.Sleep(2 * heldLong * time.Second) // the last pause, and the time that the worker must hold
		synctest.Wait()
		if len(told) != 3 || len(told[2]) != 0 || len(troubles.List()) != 0 {
			t.Errorf("when all hold it tells %v", told)
		}
		cancel()
		<-done
	})
}
