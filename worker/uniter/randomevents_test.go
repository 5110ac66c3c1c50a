package uniter

import (
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
	"juju/worker/uniter/localstate"
)

// anyRelation returns one that is there, or nil.
func (l *life) anyRelation() *relation {
	var all []*relation
	for _, id := range slices.Sorted(maps.Keys(l.c.relations)) {
		if r := l.c.relations[id]; !r.gone {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[l.rand.IntN(len(all))]
}

// happen makes a random event happen.
func (l *life) happen() {
	l.next++
	what := l.rand.IntN(36)
	switch {
	case what == 0:
		l.stop()
		return
	case what == 1 && l.life() == entity.Alive && l.chance(3):
		l.stop()
		l.h.memory = localstate.State{}
		l.note("lost web/0 m%d", l.machine)
		l.machine++
		l.entered(l.scopes())
		l.c.change(l.withdraw)
		return
	}
	l.c.change(func() {
		alive := l.c.unit.Life == entity.Alive && l.c.unit.ServiceLife == entity.Alive
		switch r := l.anyRelation(); {
		case what < 3:
			l.c.unit.ConfigVersion = int64(l.rand.IntN(1000))
			l.noteConfig()
		case what == 3:
			l.c.unit.PrivateAddress = fmt.Sprintf("127.0.1.%d", l.next)
			l.noteConfig()
		case what < 6:
			l.upgrade()
		case what == 24:
			if l.c.leads = 0; l.chance(2) {
				l.c.leads = int64(l.next) // another unit may have led meanwhile
			}
			l.note("leads web/0 %d", l.c.leads)
		case what == 25:
			l.c.unit.LeaderSettingsVersion = int64(l.next)
			l.note("led web %d", l.next)
		case (what == 26 || what == 27) && alive:
			l.tell()
		case what == 23:
			l.c.retryHooks = !l.c.retryHooks
			l.note("retries web %s", map[bool]string{true: "on", false: "off"}[l.c.retryHooks])
		case what > 30:
			l.store(alive)
		case what > 28:
			l.act()
		case what == 6 && alive:
			l.c.unit.Subordinates = append(slices.Clone(l.c.unit.Subordinates), fmt.Sprintf("log/%d", l.next))
		case what < 10 && alive:
			members := map[string]int64{}
			for i := range l.rand.IntN(4) {
				members[fmt.Sprintf("mysql/%d", i)] = 1
			}
			endpoint := []string{"db", "ring", "not-yet"}[l.rand.IntN(8)%3]
			if endpoint == "not-yet" && l.chance(2) {
				return // no charm of ours has it
			}
			if endpoint == "not-yet" {
				endpoint = "db"
			}
			l.c.relations[l.next] = newRelation(l.next, endpoint, "mysql", members)
			l.c.relations[l.next].chatty = l.chance(2)
			l.note("# relation %d with %d units", l.next, len(members))
			l.noteMembers(l.c.relations[l.next])
		case r == nil:
		case what < 14:
			r.members = maps.Clone(r.members)
			r.members[fmt.Sprintf("mysql/%d", l.next)] = 1
			l.noteMembers(r)
		case what < 20:
			if units := slices.Sorted(maps.Keys(r.members)); len(units) > 0 {
				r.members = maps.Clone(r.members)
				if l.chance(2) {
					r.members[units[0]] = int64(l.rand.IntN(100))
				} else {
					delete(r.members, units[0])
				}
				l.noteMembers(r)
			}
		case what < 22:
			r.info.Life = entity.Dying
			r.gone = !r.info.InScope
			l.note("# relation %d is destroyed", r.info.ID)
			l.noteMembers(r)
		case what == 22 && l.chance(4):
			r.gone = true
			l.note("taken web/0 %s", relationID(r.info.Endpoint, r.info.ID))
			l.noteMembers(r)
		}
	})
}

func (l *life) destroy() {
	force := false
	l.note("dying web/0")
	l.c.change(func() {
		switch l.rand.IntN(4) {
		case 0:
			l.c.unit.ServiceLife = entity.Dying
		case 1:
			l.c.unit.OrphanedBySubRel = true
		case 2:
			l.c.unit.Life = entity.Dying
		case 3:
			l.c.unit.Life, l.c.unit.Strength = entity.Dying, entity.Force
			force = true
		}
	})
	if force {
		l.sleep(0) // until the agent knows
		l.note("forced web/0")
	}
}

// upgrade gives the service another charm, one in four times that which the unit has. The caller
// holds the controller's lock.
func (l *life) upgrade() {
	url, forced := fmt.Sprintf("local:web-%d", l.next), ""
	if l.chance(4) {
		now, _ := l.h.Read()
		url = now.Charm
	}
	if url == "" || url == l.c.unit.ServiceCharmURL {
		return
	}
	if l.c.unit.ForceCharm = l.chance(2); l.c.unit.ForceCharm {
		forced = "forced"
	}
	l.note("upgraded web %s %s", url, forced)
	l.c.unit.ServiceCharmURL = url
	l.c.unit.ConfigVersion = int64(1000 + l.next) // its settings may be others
	l.noteConfig()
}
