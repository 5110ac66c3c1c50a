package uniter

import (
	"fmt"
	"slices"
	"strconv"

	"juju/state/entity"
)

// The callers of what follows hold the controller's lock.

// store makes something happen to the storage of the unit. Only a charm with storage hooks has
// storage.
func (l *life) store(alive bool) {
	all := l.c.unit.Storage
	switch what := l.rand.IntN(10); {
	case what < 4 && alive:
		l.addStorage()
	case what < 7:
		l.provide(1)
	case len(all) == 0:
	case what < 9:
		l.changeStorage(l.rand.IntN(len(all)), func(s *entity.UnitStorage) { s.Life = entity.Dying })
		l.noteStorage()
	default:
		taken := all[l.rand.IntN(len(all))].ID
		l.note("taken web/0 %s", taken)
		l.lent = slices.DeleteFunc(l.lent, func(id string) bool { return id == taken })
		l.c.unit.Storage = slices.DeleteFunc(slices.Clone(all), func(s entity.UnitStorage) bool { return s.ID == taken })
		l.noteStorage()
	}
}

// changeStorage changes one storage instance.
func (l *life) changeStorage(i int, f func(*entity.UnitStorage)) {
	all := slices.Clone(l.c.unit.Storage) // the agent may read the other
	f(&all[i])
	l.c.unit.Storage = all
}

// addStorage adds an instance to the unit: a new one, or one that it has given up.
func (l *life) addStorage() {
	if !l.later {
		return
	}
	id := "data/" + strconv.Itoa(l.next)
	has := func(id string) bool {
		return slices.ContainsFunc(l.c.unit.Storage, func(s entity.UnitStorage) bool { return s.ID == id })
	}
	if old := slices.DeleteFunc(slices.Clone(l.lent), has); len(old) > 0 && l.chance(2) {
		id = old[l.rand.IntN(len(old))]
	} else {
		l.lent = append(l.lent, id)
	}
	l.c.unit.Storage = append(slices.Clone(l.c.unit.Storage), entity.UnitStorage{ID: id})
	l.noteStorage()
}

// provide makes n instances usable that are not.
func (l *life) provide(n int) {
	for i, s := range l.c.unit.Storage {
		if s.Location == "" && n > 0 {
			l.changeStorage(i, func(s *entity.UnitStorage) { s.Location = "/srv/" + s.ID })
			n--
		}
	}
}

// withdraw makes all instances unusable, until the unit's next machine has them.
func (l *life) withdraw() {
	for i := range l.c.unit.Storage {
		l.changeStorage(i, func(s *entity.UnitStorage) { s.Location = "" })
	}
}

// noteStorage notes the storage that the unit has, and is to keep.
func (l *life) noteStorage() {
	line := "stores web/0"
	for _, s := range l.c.unit.Storage {
		if s.Life == entity.Alive {
			line += " " + s.ID
		}
	}
	l.note("%s", line)
}

// tell has something to be told to the unit about a secret of its own, of its service's or of others.
func (l *life) tell() {
	kinds := []entity.SecretEventKind{entity.SecretChanged, entity.SecretRemove, entity.SecretRotate, entity.SecretExpired}
	l.c.unit.Secrets = append(slices.Clone(l.c.unit.Secrets), entity.SecretEvent{Kind: kinds[l.rand.IntN(len(kinds))],
		ID: fmt.Sprintf("%c0000000000000000000", 'a'+l.rand.IntN(4)), Revision: l.next, OfService: l.chance(2)})
}

// act gives the unit a task, or cancels one.
func (l *life) act() {
	if refs := l.c.refs(); len(refs) > 0 && l.chance(3) {
		t := l.c.task(refs[l.rand.IntN(len(refs))].ID)
		switch t.Status {
		case entity.TaskPending:
			t.Status = entity.TaskCancelled
			l.note("cancelled web/0 %s", t.ID)
		case entity.TaskRunning:
			t.Status = entity.TaskAborting
		}
		return
	}
	l.c.tasks = append(l.c.tasks, entity.Task{ID: fmt.Sprint(l.next), Name: "act", Status: entity.TaskPending})
	l.note("queued web/0 %d", l.next)
}
