package controller

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"juju/state/entity"
	"juju/worker/provisioner"
)

const forceTimeout = 300 * time.Millisecond

// worlds returns, for each cell, one world in which the obstacle is removed until the
// destruction ends, and one for each strength to begin with. In short mode it returns a world
// for every second cell, in turn one of the former and one that begins with force, and upgrades in one of their states.
func worlds(s *system) (all []*world) {
	cells := rand.IntN(2)
	offset := rand.IntN(2)
	rolling := obstacles[len(obstacles)-1-rand.IntN(3)]
	for i, kind := range kinds {
		for j, obstacle := range obstacles {
			if testing.Short() && ((i+j)%2 == offset || isRolling(obstacle) && obstacle != rolling) {
				continue
			}
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
				cells++
				lists = [][]entity.Strength{lists[cells%2*2]}
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

// Every kind of entity, with every obstacle to its end, is destroyed with each strength. Either
// it is gone within a bound, or it is there, was not forced, and its obstacle is named.
func TestDestructionMatrix(t *testing.T) {
	t.Parallel()
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

// matrix tests all cells; with a seed in random order, and with pauses.
func matrix(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSystem(t, Options{Provisioner: provisioner.Config{
		Retry: 200 * time.Millisecond, ScanInterval: 300 * time.Millisecond, LostAfter: 200 * time.Millisecond}})
	all := worlds(s)
	rest := func() {}
	if seed != 0 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		rest = func() { time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond) }
	}
	charms, other := newCharms(s), newOther(s)
	for _, w := range all {
		w.other = other
		w.build(charms)
	}
	s.settle("built", all, (*world).unready)
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
	}
	s.restart(all, random)
	other.settle()
	findings, err := s.st.Check(s.ctx, false)
	s.ok(err)
	for _, f := range findings {
		t.Errorf("found afterwards: %v", f)
	}
}

// restart stops the controller during the destructions, and starts it again.
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
	s.settle("over after a restart", all,
		func(w *world, _ *entity.ModelStatus) string { return w.unended(w.strengths[0]) })
}

// settle is settle for worlds, which share one model.
func (s *system) settle(what string, all []*world, missing func(*world, *entity.ModelStatus) string) {
	s.Helper()
	var m *entity.ModelStatus
	settle(s, what, all, func() (err error) {
		m, err = s.st.Status(s.ctx)
		return err
	}, func(w *world) string { return missing(w, m) })
}
