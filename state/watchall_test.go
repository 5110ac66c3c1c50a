package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A view is what a watcher knows from events alone, each followed by a read of
// what it names. It is right if it matches the model once nothing changes any
// more.
type view struct {
	name  string
	mu    sync.Mutex
	seen  string
	fresh func() string
}

func (v *view) right() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	fresh := v.fresh()
	return v.seen == fresh || fresh == "gone"
}

// watching reads events, sometimes slowly, and updates the view on each.
func watching[T any](w *world, group *sync.WaitGroup, v *view, slow func() bool, events <-chan T,
	update func(T) string) *view {
	group.Go(func() {
		for event := range events {
			if slow() {
				w.st.Counts(w.Context())
			}
			v.mu.Lock()
			v.seen = update(event)
			v.mu.Unlock()
		}
	})
	return v
}

func asText(value any, err error) string {
	if err != nil {
		return "none"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// watch starts a watch of a random kind on a random entity; nil if that does
// not exist.
func (w *world) watch(ctx context.Context, rnd *rand.Rand, group *sync.WaitGroup) *view {
	var mu sync.Mutex
	slow := func() bool { mu.Lock(); defer mu.Unlock(); return rnd.IntN(4) == 0 }
	units := w.someUnits()
	if len(units) == 0 {
		return nil
	}
	unit := units[rnd.IntN(len(units))]
	notified := func(name string, events <-chan struct{}, err error, read func() string) *view {
		if err != nil {
			return nil
		}
		return watching(w, group, &view{name: name, fresh: read}, slow, events, func(struct{}) string { return read() })
	}
	named := func(name string, events <-chan []string, err error, life func(string) (entity.Life,
		error), all func() map[string]entity.Life) *view {
		if err != nil {
			return nil
		}
		lives := map[string]entity.Life{}
		return watching(w, group, &view{name: name, fresh: func() string { return asText(all(), nil) }}, slow, events,
			func(ids []string) string {
				for _, id := range ids {
					if now, err := life(id); err == nil {
						lives[id] = now
					} else {
						delete(lives, id)
					}
				}
				return asText(lives, nil)
			})
	}
	background := context.Background()
	switch rnd.IntN(9) {
	case 0:
		events, err := w.st.Watches().Machines(ctx)
		return named("machines", events, err,
			func(id string) (entity.Life, error) {
				m, err := w.st.Machine(background, id)
				if err != nil {
					return 0, err
				}
				return m.Life(), nil
			}, func() map[string]entity.Life {
				lives := map[string]entity.Life{}
				all, _ := w.st.Machines(background)
				for _, m := range all {
					lives[m.ID()] = m.Life()
				}
				return lives
			})
	case 1, 2:
		parent := entity.MachineTag(fmt.Sprint(rnd.IntN(6)))
		if rnd.IntN(2) == 0 {
			parent = entity.UnitTag(unit)
		}
		events, err := w.st.Watches().Deployed(ctx, parent)
		deployed := func() map[string]entity.Life {
			lives := map[string]entity.Life{}
			all, _ := w.st.Agents().Deployed(background, parent)
			for _, u := range all {
				lives[u.Name] = u.Life
			}
			return lives
		}
		return named("what "+parent.String()+" deploys", events, err,
			func(name string) (entity.Life, error) {
				if life, ok := deployed()[name]; ok {
					return life, nil
				}
				return 0, entity.NotFound
			}, deployed)
	case 3:
		events, err := w.st.Watches().Unit(ctx, unit)
		return notified("unit "+unit, events, err, func() string {
			u, err := w.st.Unit(background, unit)
			if err != nil {
				return "none"
			}
			return asText(u.Info(background))
		})
	case 4:
		events, err := w.st.Watches().Relations(ctx, unit)
		return notified("relations of "+unit, events, err, func() string { return w.aliveRelations(unit) })
	case 5:
		events, err := w.st.Cleaner().WatchCleanups(ctx)
		return notified("cleanups", events, err, func() string {
			counts, _ := w.st.Counts(ctx)
			return fmt.Sprint(counts["cleanups"] > 0)
		})
	}
	u, err := w.st.Unit(background, unit)
	if err != nil {
		return nil
	}
	relations, err := u.Relations(background)
	if err != nil || len(relations) == 0 {
		return nil
	}
	relation := relations[rnd.IntN(len(relations))].ID
	events, err := w.st.Watches().RelationUnits(ctx, unit, relation)
	if err != nil {
		return nil
	}
	members := map[string]int64{}
	v := &view{name: fmt.Sprintf("units that %s sees in relation %d", unit, relation)}
	v.fresh = func() string {
		if _, err := w.st.Unit(background, unit); err != nil {
			return "gone"
		}
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		events, err := w.st.Watches().RelationUnits(ctx, unit, relation)
		if err != nil {
			return "{}" // the relation is gone, so all units have left
		}
		return asText(notNull((<-events).Changed), nil)
	}
	return watching(w, group, v, slow, events, func(change entity.RelationUnitsChange) string {
		maps.Copy(members, change.Changed)
		for _, u := range change.Departed {
			delete(members, u)
		}
		return asText(notNull(members), nil)
	})
}

// aliveRelations returns the Alive relations that a unit's agent sees. Dying
// ones are left out: a watch does not report that the unit itself has left one.
func (w *world) aliveRelations(unit string) string {
	u, err := w.st.Unit(context.Background(), unit)
	if err != nil {
		return "gone" // reported by the watch of the unit
	}
	relations, err := u.Relations(context.Background())
	if err != nil {
		return "none"
	}
	var ids []int
	for _, r := range relations {
		if r.Life == entity.Alive {
			ids = append(ids, r.ID)
		}
	}
	return fmt.Sprint(ids)
}

func notNull(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}

// watchedWorld returns a world with a small log, so that watches that are slow miss changes, and with charms by their
// names. loseTail breaks the connection on which the watches learn of changes.
func watchedWorld(t *testing.T) (w *world, charms map[string]string, loseTail func()) {
	ctrl, st := statetest.ControllerWith(t, controller.Options{Sizes: state.Sizes{Log: 16 << 10, History: 1 << 16}})
	charms = map[string]string{}
	for name, meta := range map[string]string{"mysql": statetest.MySQL, "wordpress": statetest.Wordpress,
		"logging": statetest.Logging} {
		charms[name] = statetest.Charm(t, st, meta)
	}
	return &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}, charms, st.LosableTail()
}

// Every watch, of anything, started at any moment and read however slowly, ends
// up with the current state, even if the log wraps or is lost.
func TestEveryWatchConverges(t *testing.T) {
	w, charms, loseTail := watchedWorld(t)
	st, seed := w.st, testSeed(t)
	names := []string{"mysql", "wordpress", "logging"}
	steps := 150
	if testing.Short() {
		steps = 40
	}
	ctx, cancel := context.WithCancel(t.Context())
	var readers, actors sync.WaitGroup
	var mu sync.Mutex
	var views []*view
	first, err := st.Cleaner().WatchCleanups(ctx) // so that there is always a tail to lose
	w.ok(err)
	readers.Go(func() {
		for range first {
		}
	})
	for actor := range 3 {
		rnd := rand.New(rand.NewPCG(seed, uint64(actor)))
		actors.Go(func() {
			for i := range steps {
				if err := w.something(rnd, names, charms); err != nil && entity.KindOf(err) == "" {
					t.Errorf("an error of no kind: %v", err)
				}
				if v := w.watch(ctx, rand.New(rand.NewPCG(seed, rnd.Uint64())), &readers); v != nil {
					mu.Lock()
					views = append(views, v)
					mu.Unlock()
				}
				if actor == 0 && i%40 == 20 {
					loseTail()
				}
			}
		})
	}
	actors.Wait()
	// From here on nothing changes.
	deadline := time.Now().Add(verify.Patience)
	kinds := map[string]int{}
	for _, v := range views {
		for pause := time.Millisecond; !v.right() && time.Now().Before(deadline); pause = min(2*pause, 100*time.Millisecond) {
			time.Sleep(pause) // no event says that none is missing, so poll
		}
		if !v.right() {
			t.Errorf("the watch of %s shows\n%s\nwant\n%s", v.name, v.seen, v.fresh())
		}
		kinds[strings.Fields(v.name)[0]]++
	}
	t.Logf("%d watches: %v", len(views), kinds)
	cancel()
	readers.Wait()
}
