package resumer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type state func(ctx context.Context) error

func (s state) ResumeTransactions(ctx context.Context) error { return s(ctx) }

func TestResumesEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := 0
		no := errors.New("database is gone")
		began := time.Now()
		err := New(Config{API: state(func(context.Context) error {
			if passes++; passes == 4 {
				return no
			}
			return nil
		})})(t.Context())
		if !errors.Is(err, no) || time.Since(began) != 3*time.Minute {
			t.Errorf("%d passes in %v, then %v", passes, time.Since(began), err)
		}
	})
}
