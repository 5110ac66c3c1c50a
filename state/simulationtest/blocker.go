package simulationtest

import (
	"strings"

	"juju/state/entity"
)

// Blockers explains why an ending entity still exists: how many references of
// each name block it, and who must act next on the entity itself, as a tag or
// an actor. by is "" if only references block it. key is one returned by Ends.
func (m *Model) Blockers(key string) (refs map[string]int, by string) {
	refs = map[string]int{}
	count := func(name string, n int) {
		if n > 0 {
			refs[name] = n
		}
	}
	kind, id, _ := strings.Cut(key, "#")
	switch kind {
	case "s", "rs":
		count("units", len(m.Services[id].Units))
		count("relations", len(m.Services[id].Relations))
		count("offers", len(m.offersOf(m.Services[id])))
	case "o":
		count("connections", len(m.Offers[id].Relations))
	case "r":
		for _, r := range m.Relations {
			if r.Key == id {
				count("scopes", len(r.In))
			}
		}
	case "u":
		u := m.Units[id]
		count("subordinates", len(u.Subs))
		count("scopes", len(u.Scopes))
		count("attachments", len(u.Attached))
		by = u.waitsFor()
	case "m":
		x := m.Machines[id]
		count("units", len(x.Units))
		count("containers", len(x.Containers))
		count("storage", len(x.Storage))
		switch {
		case len(refs) > 0:
		case x.Instance && x.Life.Life == entity.Dying:
			by = entity.MachineTag(id).String()
		default:
			by = entity.ByProvisioner
		}
	case "st":
		switch s := m.Storage[id]; {
		case s.Held == nil, s.Held.Life.Life == entity.Dead:
			by = entity.ByProvisioner
		case s.Held.Life.Life == entity.Dying:
			by = entity.UnitTag(s.Held.Unit.Name).String()
		default:
			count("attachments", 1)
		}
	}
	return refs, by
}

// waitsFor returns who must act on a unit: its deployer if it is Dead or its
// agent never started; the user if a hook has failed and was not skipped;
// otherwise its agent.
func (u *Unit) waitsFor() string {
	deployer := entity.Tag{}
	if u.Principal != nil {
		deployer = entity.UnitTag(u.Principal.Name)
	} else {
		deployer = entity.MachineTag(u.Machine.ID)
	}
	switch {
	case u.Life.Life == entity.Dead:
		return deployer.String()
	case u.Erred && !u.Resolved && u.Strength == entity.Plain:
		return entity.ByUser
	case !u.Started && !u.Erred:
		return deployer.String()
	}
	return entity.UnitTag(u.Name).String()
}
