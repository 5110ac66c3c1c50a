package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/juju/loggo"

	"juju/state/entity"
)

// fails returns a worker that records when it starts, and ends with the given errors in turn,
// repeating the last.
func fails(starts *[]time.Duration, errs ...error) Func {
	began := time.Now()
	return func(ctx context.Context) error {
		*starts = append(*starts, time.Since(began))
		err := errs[0]
		if len(errs) > 1 {
			errs = errs[1:]
		}
		return err
	}
}

func wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestFailedWorkerIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		lost := errors.New("connection lost")
		err := Run(t.Context(), 3*time.Second, map[string]Func{"uniter": fails(&starts, lost, lost, lost, nil)})
		if err != nil {
			t.Fatalf("all workers are done, but Run returned %v", err)
		}
		if len(starts) != 4 {
			t.Fatalf("started %d times, want 4", len(starts))
		}
		for i, want := range []time.Duration{3 * time.Second, 4500 * time.Millisecond, 6750 * time.Millisecond} {
			pause := starts[i+1] - starts[i]
			if pause < want*8/10 || pause > want*12/10 {
				t.Errorf("pause %d was %v, want %v give or take a fifth", i+1, pause, want)
			}
		}
	})
}

// TestUnavailabilityIsLoggedOnce, however often a worker fails because of it, and when the worker runs again.
func TestUnavailabilityIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log loggo.TestWriter
		if err := loggo.RegisterWriter(t.Name(), loggo.NewMinimumLevelWriter(&log, loggo.INFO)); err != nil {
			t.Fatal(err)
		}
		defer loggo.RemoveWriter(t.Name())
		was := logger.LogLevel()
		logger.SetLogLevel(loggo.INFO)
		defer logger.SetLogLevel(was)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(time.Hour, cancel)
		away, broken := entity.Errorf(entity.Unavailable, "away"), errors.New("broken")
		errs := []error{away, away, away, broken, broken, away, away}
		_ = Run(ctx, time.Second, map[string]Func{"pruner": func(ctx context.Context) error {
			if len(errs) == 0 {
				return wait(ctx)
			}
			err := errs[0]
			errs = errs[1:]
			return err
		}})
		var got []string
		for _, e := range log.Log() {
			got = append(got, e.Level.String()+e.Message[strings.LastIndex(e.Message, " "):])
		}
		if want := []string{"ERROR away", "ERROR broken", "ERROR broken", "ERROR away", "INFO again"}; !slices.Equal(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	})
}

func TestPauseIsBoundedAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var starts []time.Duration
		began := time.Now()
		err := Run(ctx, time.Second, map[string]Func{"flaky": func(ctx context.Context) error {
			starts = append(starts, time.Since(began))
			switch {
			case len(starts) == 40: // it holds for a while, so its past is forgotten
				time.Sleep(stableRun * time.Second)
			case len(starts) == 41:
				cancel()
			}
			return errors.New("no")
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Run returned %v, want the context's cause", err)
		}
		for i := 1; i < 40; i++ {
			if pause := starts[i] - starts[i-1]; pause > 9600*time.Millisecond {
				t.Errorf("pause %d was %v, beyond the bound", i, pause)
			}
		}
		if pause := starts[40] - starts[39] - stableRun*time.Second; pause > 1200*time.Millisecond {
			t.Errorf("a worker that had held was started after %v, want about a second", pause)
		}
	})
}

func TestOtherWorkersKeepRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var starts, healthy []time.Duration
		done := make(chan error)
		go func() {
			done <- Run(ctx, time.Second, map[string]Func{
				"sick":    fails(&starts, errors.New("no")),
				"healthy": func(ctx context.Context) error { healthy = append(healthy, 0); return wait(ctx) },
			})
		}()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if len(starts) < 3 || len(healthy) != 1 {
			t.Errorf("the sick worker started %d times, the healthy one %d times", len(starts), len(healthy))
		}
	})
}

func TestFatalErrorEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		upgrade := fmt.Errorf("new binaries: %w", ErrFatal)
		err := Run(t.Context(), time.Second, map[string]Func{
			"upgrader": func(context.Context) error { return upgrade },
			"other":    func(ctx context.Context) error { err := wait(ctx); ended = true; return err },
		})
		if !errors.Is(err, upgrade) || !ended {
			t.Errorf("Run returned %v; the other worker had ended: %v", err, ended)
		}
	})
}

func TestMostImportantErrorWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), time.Second, map[string]Func{
			"upgrader": func(context.Context) error { return fmt.Errorf("new binaries: %w", ErrFatal) },
			"machiner": func(ctx context.Context) error {
				<-ctx.Done() // the machine turns out to be dead during the shutdown
				time.Sleep(time.Second)
				return fmt.Errorf("machine 0: %w", ErrTerminateAgent)
			},
		})
		if !errors.Is(err, ErrTerminateAgent) {
			t.Errorf("Run returned %v, want ErrTerminateAgent", err)
		}
	})
}

// A lost connection ends the inner set, which the outer one restarts; a dead machine ends both.
func TestNestedSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		lost := errors.New("connection lost")
		connections := 0
		api := func(ctx context.Context) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			connections++
			mine := connections
			log = append(log, fmt.Sprintf("connected %d", mine))
			if mine < 3 {
				time.AfterFunc(time.Minute, func() { cancel(lost) })
			}
			return Run(ctx, time.Second, map[string]Func{
				"machiner": func(ctx context.Context) error {
					log = append(log, fmt.Sprintf("machiner %d", mine))
					if mine == 3 {
						return ErrTerminateAgent
					}
					return wait(ctx)
				},
			})
		}
		outer := 0
		err := Run(t.Context(), 3*time.Second, map[string]Func{
			"api":   api,
			"other": func(ctx context.Context) error { outer++; return wait(ctx) },
		})
		if !errors.Is(err, ErrTerminateAgent) {
			t.Errorf("Run returned %v, want ErrTerminateAgent", err)
		}
		want := []string{"connected 1", "machiner 1", "connected 2", "machiner 2", "connected 3", "machiner 3"}
		if !slices.Equal(log, want) || outer != 1 {
			t.Errorf("got %q and the other worker started %d times", log, outer)
		}
	})
}

func TestCancelledBetweenRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("asked to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		var starts []time.Duration
		time.AfterFunc(time.Minute, func() { cancel(why) })
		err := Run(ctx, time.Hour, map[string]Func{"sick": fails(&starts, errors.New("no"))})
		if !errors.Is(err, why) || len(starts) != 1 {
			t.Errorf("Run returned %v after %d starts", err, len(starts))
		}
	})
}

func TestNoWorkers(t *testing.T) {
	if err := Run(t.Context(), time.Second, nil); err != nil {
		t.Errorf("Run of nothing returned %v", err)
	}
}
