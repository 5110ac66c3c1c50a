package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
	"juju/worker/provisioner"
)

const forceTimeout = 300 * time.Millisecond

// settled bounds the wait for hundreds of agents on a busy machine.
const settled = 4 * patience

// worlds lists them all: for each cell one in which the destruction is helped on until
// it ends, and one for each strength to begin with.
func worlds(s *system) (all []*world) {
	for _, kind := range kinds {
		for _, obstacle := range obstacles {
			o := outcomes[[2]string{kind, obstacle}]
			if o.none != "" {
				s.Logf("no %s, %s: %s", kind, obstacle, o.none)
				continue
			}
			var lists [][]entity.Strength
			for from := entity.Plain; from <= entity.Force; from++ {
				var list []entity.Strength
				for strength := from; strength <= max(from, o.ends); strength++ {
					list = append(list, strength)
				}
				lists = append(lists, list)
			}
			switch {
			case testing.Short():
				lists = [][]entity.Strength{lists[0], lists[2]}
			case !soaks() && o.ends == entity.Force:
				lists = [][]entity.Strength{lists[0], lists[2]}
			}
			for _, list := range lists {
				all = append(all, &world{system: s, outcome: o, kind: kind, obstacle: obstacle, strengths: list,
					prefix: fmt.Sprintf("w%d", len(all))})
			}
		}
	}
	return all
}

// Every kind of thing, with everything in the way of its end, with each strength: it
// is gone within a bound; or it is there, by no force, and what is in the way is named.
func TestDestructionMatrix(t *testing.T) {
	if !soaks() {
		matrix(t, 0)
		return
	}
	for range 5 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { matrix(t, seed) })
	}
}

func soaks() bool { return os.Getenv("JUJU_SOAK") != "" }

// matrix goes through all cells; with a seed in another order, and with pauses.
func matrix(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSystem(t, Options{Provisioner: provisioner.Config{
		Retry: 200 * time.Millisecond, Look: 300 * time.Millisecond, Sure: 200 * time.Millisecond}})
	all := worlds(s)
	rest := func() {}
	if seed != 0 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		rest = func() { time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond) }
	}
	charms := newCharms(s)
	began := time.Now()
	for _, w := range all {
		w.build(charms)
	}
	s.settle("built", all, func(w *world, m *entity.ModelStatus) string { return w.unready(m) })
	t.Logf("%d worlds after %v", len(all), time.Since(began))
	for _, w := range all {
		w.obstruct()
		rest()
	}
	s.settle("obstructed", all, func(w *world, _ *entity.ModelStatus) string { return w.unobstructed() })
	for i := range 3 {
		for _, w := range all {
			if i < len(w.strengths) && w.obstacle != restarted {
				w.destroy(w.strengths[i])
				rest()
			}
		}
		s.settle(fmt.Sprintf("destroyed for the %d. time", i+1), all, func(w *world, _ *entity.ModelStatus) string {
			if i >= len(w.strengths) || w.obstacle == restarted {
				return ""
			}
			return w.unended(w.strengths[i])
		})
		t.Logf("destroyed for the %d. time after %v", i+1, time.Since(began))
	}
	s.restart(all, random)
	t.Logf("restarted, and all over, after %v", time.Since(began))
	findings, err := s.st.Check(s.ctx, false)
	s.ok(err)
	for _, f := range findings {
		t.Errorf("found afterwards: %v", f)
	}
}

// restart ends the controller in the midst of destructions, and runs it again.
func (s *system) restart(all []*world, random *rand.Rand) {
	s.Helper()
	all = slices.DeleteFunc(slices.Clone(all), func(w *world) bool { return w.obstacle != restarted })
	when := len(all)/2 + random.IntN(len(all)/2)
	for i, w := range all {
		if i == when {
			s.stop()
			s.start()
			var err error
			s.st, err = s.c.ctrl.Model(s.ctx, s.model)
			s.ok(err)
		}
		w.destroy(w.strengths[0])
	}
	s.settle("over after a restart", all, func(w *world, _ *entity.ModelStatus) string { return w.unended(w.strengths[0]) })
}

// settle waits until nothing is missing of any world; it looks when something has
// changed.
func (s *system) settle(what string, all []*world, missing func(*world, *entity.ModelStatus) string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, settled)
	defer cancel()
	events, err := s.st.WatchStatus(ctx)
	s.ok(err)
	looks := s.cloud.Watch(ctx) // residues go after one
	left := slices.Clone(all)
	var last []string
	for len(left) > 0 {
		select {
		case _, ok := <-events:
			if !ok {
				s.Fatalf("waited in vain for worlds to be %s:\n%s", what, strings.Join(last, "\n"))
			}
		case <-looks:
		}
		began := time.Now()
		m, err := s.st.Status(ctx)
		if err != nil {
			continue
		}
		last = nil
		left = slices.DeleteFunc(left, func(w *world) bool {
			lack := missing(w, m)
			if lack != "" {
				last = append(last, w.String()+": "+lack)
			}
			return lack == ""
		})
		// The looks are not to be most of the work.
		select {
		case <-time.After(4 * time.Since(began)):
		case <-ctx.Done():
		}
	}
}
