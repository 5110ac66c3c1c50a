package journaltest

import (
	"maps"
	"slices"
	"strings"
)

// A storage is what a unit's hooks were run for with a storage instance.
type storage struct {
	attached bool
	taken    bool // removed by force: no guarantee applies
}

func (u *unit) storage(id string) *storage {
	if u.instances[id] == nil {
		u.instances[id] = &storage{}
	}
	return u.instances[id]
}

// stores records which instances a unit has. Those that it has before its first hook, and does not
// lose, must be attached before install.
func (c *Checker) stores(u *unit, ids []string) {
	c.instances[u.name] = ids
	if u.initial == nil && u.last == nil {
		u.initial = slices.Clone(ids)
	}
	u.initial = slices.DeleteFunc(u.initial, func(id string) bool { return !slices.Contains(ids, id) })
}

// taken records that a relation or storage instance of the unit was removed by force.
func (u *unit) taken(what string) {
	if strings.Contains(what, ":") {
		u.relation(what).taken = true
		return
	}
	*u.storage(what) = storage{taken: true}
	u.initial = slices.DeleteFunc(u.initial, func(id string) bool { return id == what })
}

// attached returns the sorted ids of the instances for which storage-attached has run.
func (u *unit) attached() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(u.instances)) {
		if u.instances[id].attached {
			ids = append(ids, id)
		}
	}
	return ids
}

// checkStorage checks a hook that is about a storage instance or must wait for storage. again means
// that the hook is retried.
func (u *unit) checkStorage(h *hook, again bool, wrong report) {
	s := &storage{}
	if h.storage != "" {
		s = u.storage(h.storage)
	}
	switch {
	case s.taken: // the agent may not know yet
	case h.kind == "-storage-attached" && s.attached:
		wrong("attached-once", "%s again", h)
	case h.kind == "-storage-detaching" && !s.attached:
		wrong("attached-first", "%s of an instance that is not attached", h)
	case h.kind == "install":
		for _, id := range u.initial {
			if !u.storage(id).attached {
				wrong("attached-before-install", "install before %s is attached", id)
			}
		}
	case h.kind == "stop" && len(u.attached()) > 0:
		wrong("stop-after-detached", "stop before %v are detached", u.attached())
	case h.kind == "-relation-departed" && h.Values["departing"] == u.name && len(u.attached()) > 0 && !again:
		wrong("detached-before-departed", "%s before %v are detached", h, u.attached())
	}
}

// succeed records that a hook of the instance succeeded.
func (s *storage) succeed(h *hook) { s.attached = h.kind == "-storage-attached" && !s.taken }

// missingOfStorage reports the storage hooks that have yet to run.
func (c *Checker) missingOfStorage(u *unit, wrong report) {
	has, known := c.instances[u.name]
	if !known {
		return
	}
	for _, id := range has {
		if s := u.storage(id); !s.attached && !s.taken {
			wrong("attached-each", "storage-attached has not run for %s", id)
		}
	}
	for _, id := range u.attached() {
		if !slices.Contains(has, id) {
			wrong("detached-each", "storage-detaching has not run for %s", id)
		}
	}
}
