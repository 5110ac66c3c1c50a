package simulationtest

import (
	"fmt"
	"strings"
	"time"

	"juju/state/entity"
)

// A Storage is a storage instance.
type Storage struct {
	Life
	ID        string
	Machine   *Machine // the machine it is on and is removed with; nil if it outlives machines
	Made      bool     // the cloud has made a filesystem
	Kept      bool     // the filesystem is released
	Erred     bool     // the cloud has reported an error
	DeadSince time.Time
	Held      *Attachment // nil while no unit has it
}

// An Attachment is a unit's right to a storage instance.
type Attachment struct {
	Life
	Unit    *Unit
	Storage *Storage
	There   bool // the unit can use it
}

func (s *Storage) name() string    { return s.ID }
func (a *Attachment) name() string { return a.Unit.Name + ":" + a.Storage.ID }

// A Store is what a charm declares about storage of one name.
type Store struct{ Min, Max int }

// store returns the name of the store that the instance is for.
func (s *Storage) store() string { return strings.Split(s.ID, "/")[0] }

// Stores maps services to the stores of their charms, by name.
type Stores map[string]map[string]Store

// has returns how many Alive instances of a store a unit has.
func (u *Unit) has(store string) (n int) {
	for a := range u.Attached {
		if a.Storage.store() == store && a.Life.Life == entity.Alive {
			n++
		}
	}
	return n
}

// MayAddStorage returns the errors that adding n more instances of a store to a unit may return.
func (m *Model) MayAddStorage(u *Unit, store string, n int) (why Answer) {
	s, ok := m.Stores[u.Service.Name][store]
	switch {
	case u.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case !ok:
		why = Answer{entity.Invalid}
	case u.has(store)+n > s.Max:
		why = Answer{entity.Invalid}
	}
	if u.Life.Life != entity.Alive || m.Life.Life != entity.Alive {
		why = append(why, entity.NotAlive)
	}
	return why
}

// GiveStorage adds an instance that state has created for a unit. onMachine is set if it is on the disk of
// the unit's machine.
func (m *Model) GiveStorage(id string, u *Unit, onMachine bool) {
	m.fresh("st#" + id)
	s := &Storage{ID: id}
	if onMachine {
		s.Machine = u.host()
		s.Machine.Storage[s] = true
	}
	m.Storage[id] = s
	m.Attach(s, u)
}

// host returns the machine that a unit is on.
func (u *Unit) host() *Machine {
	if u.Principal != nil {
		return u.Principal.Machine
	}
	return u.Machine
}

// Attach attaches an unattached instance to a unit.
func (m *Model) Attach(s *Storage, u *Unit) {
	s.Held = &Attachment{Unit: u, Storage: s}
	u.Attached[s.Held] = true
}

// MayAttach returns the errors that attaching an existing instance may return, besides those of
// MayAddStorage.
func (m *Model) MayAttach(s *Storage) (why Answer) {
	switch {
	case s.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case s.Life.Life != entity.Alive:
		why = Answer{entity.NotAlive}
	}
	if s.Held != nil {
		why = append(why, entity.InUse)
	}
	return why
}

// MayAttachNew returns the errors that attaching an existing instance to a new unit of a service may return;
// on is the machine the unit is placed on, or "".
func (m *Model) MayAttachNew(s *Storage, to *Service, on string) Answer {
	why := m.MayAttach(s)
	if s.Machine != nil && s.Machine.ID != on {
		why = append(why, entity.Invalid)
	}
	if _, ok := m.Stores[to.Name][s.store()]; !ok {
		why = append(why, entity.Invalid)
	}
	return why
}

// AttachStorage is juju attach-storage.
func (m *Model) AttachStorage(s *Storage, u *Unit) Answer {
	held := s.Held != nil && s.Held.Unit == u && s.Held.Life.Life == entity.Alive
	if held && u.Life.Life == entity.Alive && m.Life.Life == entity.Alive {
		return nil
	}
	why := append(m.MayAttach(s), m.MayAddStorage(u, s.store(), 1)...)
	if s.Machine != nil && s.Machine != u.host() {
		why = append(why, entity.Invalid)
	}
	if why != nil {
		return why
	}
	m.Attach(s, u)
	return nil
}

// Detach is juju detach-storage.
func (m *Model) Detach(s *Storage, d Destruction) (why Answer) {
	a := s.Held
	switch {
	case s.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case a == nil:
		return Answer{entity.Invalid}
	case d.Strength == entity.Force:
	case s.Machine != nil:
		return Answer{entity.NotSupported}
	case a.Life.Life == entity.Alive && a.Unit.Life.Life == entity.Alive:
		if a.Unit.has(s.store()) <= m.Stores[a.Unit.Service.Name][s.store()].Min {
			return Answer{entity.Invalid}
		}
	}
	m.endAttachment(a, d)
	return nil
}

// RemoveStorage is juju remove-storage. keep releases the filesystem.
func (m *Model) RemoveStorage(s *Storage, d Destruction, keep bool) Answer {
	if s.Life.Life == entity.Gone {
		return nil
	}
	dead := s.Life.Life == entity.Dead
	if keep && dead && s.Made && !m.Keeps(s) {
		return Answer{entity.NotAlive}
	}
	why := m.endStorage(s, d)
	s.Kept = s.Kept || !dead && why == nil && keep
	return why
}

// endStorage sets an instance Dying. While it is attached, only force does so, and also detaches it.
func (m *Model) endStorage(s *Storage, d Destruction) Answer {
	switch {
	case s.Life.Life == entity.Gone:
		return nil
	case s.Life.Life != entity.Alive:
		if !s.raise(d) {
			return nil
		}
	case s.Held != nil && d.Strength != entity.Force:
		m.bar("attachment", "storage", "dying")
		return Answer{entity.InUse}
	default:
		s.Life.Life = entity.Dying
		s.raise(d)
	}
	if d.Strength == entity.Force {
		m.owe(func() {
			if s.Held != nil {
				m.endAttachment(s.Held, d)
			}
		})
	}
	return nil
}

// endAttachment begins to detach storage from a unit.
func (m *Model) endAttachment(a *Attachment, d Destruction) {
	if a.Life.Life == entity.Alive {
		a.Life.Life = entity.Dying
	}
	a.raise(d.alone())
}

// endAttachments handles the storage of a unit that ends.
func (m *Model) endAttachments(u *Unit, d Destruction) {
	for _, a := range sorted(u.Attached) {
		if a.Life.Life == entity.Alive || d.Strength > entity.Plain {
			m.endAttachment(a, d)
		}
	}
}

// GiveUp records that the unit's agent no longer uses storage.
func (m *Model) GiveUp(a *Attachment) Answer {
	switch {
	case a.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case a.Life.Life == entity.Alive && a.Unit.Life.Life == entity.Alive:
		return Answer{entity.Invalid}
	}
	a.Life.Life = entity.Dead
	return nil
}

// removeAttachment detaches storage from a unit. Storage on the unit's machine, or to be destroyed with the
// unit or its service, ends unless another unit has it in the meantime.
func (m *Model) removeAttachment(a *Attachment) {
	s, u := a.Storage, a.Unit
	a.Life.Life = entity.Gone
	s.Held = nil
	delete(u.Attached, a)
	if s.Machine == nil && (u.Life.Life == entity.Alive || !u.WithStorage && !u.Service.WithStorage) {
		return
	}
	d := Destruction{Strength: u.Strength, Deadline: u.Deadline}
	m.owe(func() {
		if s.Held == nil {
			m.endStorage(s, d)
		}
	})
}

// Detached records that the cloud has detached storage.
func (m *Model) Detached(a *Attachment) Answer {
	switch a.Life.Life {
	case entity.Gone:
		return Answer{entity.NotFound}
	case entity.Dead:
		m.removeAttachment(a)
		return nil
	}
	return Answer{entity.Invalid}
}

// Attached records that a unit can use its storage.
func (m *Model) Attached(a *Attachment) Answer {
	switch {
	case a.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case a.Life.Life != entity.Alive:
		return Answer{entity.NotAlive}
	case !a.There:
		a.There, a.Storage.Erred = true, false
	}
	return nil
}

// Make records that the cloud has created a filesystem.
func (m *Model) Make(s *Storage) Answer {
	switch {
	case s.Life.Life == entity.Gone:
		return Answer{entity.NotFound}
	case s.Made:
	case s.Life.Life == entity.Dead:
		return Answer{entity.NotAlive}
	default:
		s.Made, s.Erred = true, false
	}
	return nil
}

// StorageErrs records an error from the cloud.
func (m *Model) StorageErrs(s *Storage) Answer {
	if s.Life.Life == entity.Gone {
		return Answer{entity.NotFound}
	}
	s.Erred = true
	return nil
}

// StorageDead sets an instance Dead.
func (m *Model) StorageDead(s *Storage) Answer {
	switch {
	case s.Life.Life >= entity.Dead:
		return nil
	case s.Life.Life == entity.Alive:
		return Answer{entity.Invalid}
	case s.Held != nil:
		m.bar("attachment", "storage", "dead")
		return Answer{entity.InUse}
	}
	s.Life.Life, s.DeadSince = entity.Dead, m.Now
	return nil
}

// StorageGone records that the cloud has destroyed a filesystem.
func (m *Model) StorageGone(s *Storage) Answer {
	switch s.Life.Life {
	case entity.Gone:
		return nil
	case entity.Dead:
		m.removeStorage(s)
		return nil
	}
	return Answer{entity.Invalid}
}

func (m *Model) removeStorage(s *Storage) {
	s.Life.Life = entity.Gone
	delete(m.Storage, s.ID)
	if s.Machine != nil {
		delete(s.Machine.Storage, s)
	}
}

func (m *Model) forceAttachment(a *Attachment) {
	m.endAttachment(a, m.forced())
	m.removeAttachment(a)
}

// forceStorage removes an instance, and reports whether it made progress. It waits for the cloud to destroy
// or release the filesystem, just as forceMachine waits for an instance.
func (m *Model) forceStorage(s *Storage) (did bool) {
	if s.Strength != entity.Force {
		m.endStorage(s, m.forced())
		did = true
	}
	if s.Held != nil {
		m.forceAttachment(s.Held)
		did = true
	}
	if s.Life.Life == entity.Dying {
		s.Life.Life, s.DeadSince = entity.Dead, m.Now
		did = true
	}
	if s.Made && !s.Erred && m.Now.Before(s.DeadSince.Add(cloudTimeout)) {
		return did
	}
	if s.Made {
		m.Leftovers++
	}
	if s.Made && !m.Keeps(s) {
		m.Left++
	}
	m.removeStorage(s)
	return true
}

// Keeps reports whether the user keeps the filesystem of an instance, because of a choice made for the
// instance or for its model.
func (m *Model) Keeps(s *Storage) bool {
	return s.Kept || s.Machine == nil && m.Life.Life != entity.Alive && !m.Life.WithStorage
}

// endOnMachines ends the unattached storage on ending machines, and reports whether it changed anything.
func (m *Model) endOnMachines() (did bool) {
	for _, x := range values(m.Machines) {
		for _, d := range x.wants {
			for _, s := range sorted(x.Storage) {
				before := s.Life
				if s.Life.Life == entity.Alive || d.Strength > entity.Plain {
					m.endStorage(s, d)
				}
				did = did || s.Life != before
			}
		}
	}
	return did
}

// StorageFact returns the line of a storage instance.
func StorageFact(l Life, machine string, made, kept bool) string {
	return fmt.Sprintf("%s on %q made=%t kept=%t", l, machine, made, kept)
}

// AttachmentFact returns the line of an attachment.
func AttachmentFact(l Life, there bool) string { return fmt.Sprintf("%s there=%t", l, there) }

// Ending returns the names of the ending attachments, sorted.
func (m *Model) Ending() (names []string) {
	for _, s := range values(m.Storage) {
		if s.Held != nil && s.Held.Life.Life != entity.Alive {
			names = append(names, s.Held.name())
		}
	}
	return names
}
