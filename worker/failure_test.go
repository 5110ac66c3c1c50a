package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A worker that keeps failing is listed with its last error and the time of the first failure,
// until it has held for a while. One that has failed once is not.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := NewFailures()
		var (
			mu   sync.Mutex
			told [][]Failure
		)
		heard := func() [][]Failure {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(told)
		}
		ctx, cancel := context.WithCancel(WithFailures(t.Context(), failures))
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
			"report": failures.Report(func(_ context.Context, now []Failure) error {
				mu.Lock()
				defer mu.Unlock()
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
		if got := heard(); len(got) != 0 {
			t.Errorf("after one failure it tells %v", got)
		}
		time.Sleep(4 * time.Second)
		if got := heard(); len(got) != 2 || len(got[1]) != 1 || got[1][0] != (Failure{"uniter", "disk full", began}) {
			t.Errorf("of a worker that fails again and again it tells %v", got)
		}
		time.Sleep(2 * stableRun * time.Second) // the last pause, and the time that the worker must hold
		if got := heard(); len(got) != 3 || len(got[2]) != 0 || len(failures.List()) != 0 {
			t.Errorf("when all hold it tells %v", got)
		}
		cancel()
		<-done
	})
}
