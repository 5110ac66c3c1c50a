package controller

import (
	"errors"
	"slices"
	"strings"

	"juju/state"
	"juju/state/entity"
)

// tolerates fails unless err is nil or says that someone else was faster.
func (p *player) tolerates(err error) {
	p.Helper()
	for _, kind := range []entity.Kind{entity.NotFound, entity.NotAlive, entity.InUse, entity.Invalid} {
		if errors.Is(err, kind) {
			return
		}
	}
	p.ok(err)
}

// store does something to the storage of the units of site.
func (p *player) store() {
	p.Helper()
	all, err := p.st.StorageStatus(p.ctx)
	p.ok(err)
	all = slices.DeleteFunc(all, func(s entity.StorageStatus) bool { return s.Life != entity.Alive })
	units := p.alive("site")
	unit, err := p.st.Unit(p.ctx, units[p.rand.IntN(len(units))].Name)
	p.tolerates(err)
	what := p.rand.IntN(8)
	if err != nil || what > 2 && len(all) == 0 {
		return
	}
	if what < 3 {
		_, err = unit.AddStorage(p.ctx, "data", entity.StorageConstraints{Count: 1})
		p.tolerates(err)
		return
	}
	one := all[p.rand.IntN(len(all))]
	s, err := p.st.Storage(p.ctx, one.ID)
	p.tolerates(err)
	switch {
	case err != nil:
	case one.Unit == "" && what < 7:
		err = unit.AttachStorage(p.ctx, one.ID)
	case one.Unit == "":
		err = s.Destroy(p.ctx, entity.Destruction{}, false)
	case what < 7:
		p.stores(all, one.ID)
		err = s.Detach(p.ctx, entity.Destruction{})
	default:
		p.stores(all, one.ID)
		p.note("taken %s %s", one.Unit, one.ID)
		err = s.Detach(p.ctx, entity.Destruction{Strength: entity.Force})
	}
	p.tolerates(err)
}

// stores notes which storage instances the units of site have, and are to keep; not the lost one.
func (p *player) stores(all []entity.StorageStatus, lost string) {
	p.Helper()
	for _, u := range p.alive("site") {
		line := "stores " + u.Name
		for _, s := range all {
			if s.Unit == u.Name && s.ID != lost && s.AttachmentLife == entity.Alive {
				line += " " + s.ID
			}
		}
		p.say("%s", line)
	}
}

// enqueue gives a unit of site a task.
func (p *player) enqueue() {
	p.Helper()
	units := p.alive("site")
	_, _, errs, err := p.st.Tasks().Enqueue(p.ctx, []state.NewTask{
		{Receiver: units[p.rand.IntN(len(units))].Name, Name: "act"}})
	p.ok(err)
	p.tolerates(errs[0])
}

// tasks returns the tasks that are not over.
func (p *player) tasks() (ids []string) {
	p.Helper()
	_, _, err := p.st.Tasks().Operations(p.ctx, func(o entity.Operation) bool {
		for _, t := range o.Tasks {
			if !t.Status.IsOver() {
				ids = append(ids, t.ID)
			}
		}
		return false
	}, 0)
	p.ok(err)
	return ids
}

// coming returns the storage that is not attached to its unit yet, and the tasks that are not over.
func (p *player) coming(all []entity.StorageStatus) string {
	p.Helper()
	ids := p.tasks()
	for _, s := range all {
		if s.Unit != "" && s.AttachmentLife == entity.Alive && s.Status.Status != entity.StatusAttached {
			ids = append(ids, s.ID)
		}
	}
	return strings.Join(ids, " ")
}
