package pruner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type state func(ctx context.Context, age time.Duration) (int, error)

func (s state) PruneTransactions(ctx context.Context, age time.Duration) (int, error) {
	return s(ctx, age)
}

func TestPrunesByAge(t *testing.T) {
	for _, test := range []struct {
		about     string
		config    Config
		age, took time.Duration // took: time until the third pass
	}{
		{"in service", Config{}, time.Hour, time.Hour},
		{"a short age", Config{Age: 2 * time.Second}, 2 * time.Second, 2 * time.Second},
		{"a period of its own", Config{Age: 2 * time.Second, Period: time.Minute}, 2 * time.Second, 2 * time.Minute},
	} {
		t.Run(test.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				passes := 0
				no := errors.New("database is gone")
				began := time.Now()
				test.config.API = state(func(_ context.Context, age time.Duration) (int, error) {
					if age != test.age {
						t.Errorf("asked for age %v, want %v", age, test.age)
					}
					if passes++; passes == 3 {
						return 0, no
					}
					return 7, nil
				})
				if err := New(test.config)(t.Context()); !errors.Is(err, no) || time.Since(began) != test.took {
					t.Errorf("%d passes in %v, then %v", passes, time.Since(began), err)
				}
			})
		})
	}
}
