package rehearsal

import (
	"context"
	"maps"

	"juju/state"
	"juju/state/entity"
	"juju/state/watcher"
)

// maxMembers is how many counterparts all units together may have to know: as many take some 300 MB. A unit that nothing
// happens to needs to know none.
const maxMembers = 5_000_000

// A scope is a relation's units, and the versions of their settings, as those at the other end see them. It is read once
// for all of these, and then followed.
type scope struct {
	of      state.Scope
	changes *watcher.Subscription
	now     map[string]int64
	before  map[string]int64 // what it was when it was first read, if it has changed since
	// application is the version of their service's settings, which nothing changes in a rehearsal.
	application int64
}

// scope returns a unit's scope in a relation as it is now.
func (r *rehearsal) scope(ctx context.Context, unit entity.UnitInfo, rel entity.RelationInfo) (*scope, error) {
	w := r.st.Watches()
	of := w.ScopeOf(unit, rel)
	s := r.scopes[of]
	if s == nil {
		s = &scope{of: of, changes: r.changes.Subscribe(of.Topic())}
		var err error
		if s.now, err = w.Members(ctx, of, nil); err != nil {
			return nil, err
		}
		if s.application, err = w.Application(ctx, of); err != nil {
			return nil, err
		}
		r.scopes[of] = s
		return s, nil
	}
	var names []string
	changes, _ := s.changes.Take()
	for _, c := range changes {
		if name, ok := of.Member(c); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return s, nil
	}
	now, err := w.Members(ctx, of, names)
	if err != nil {
		return nil, err
	}
	if s.before == nil {
		s.before = maps.Clone(s.now)
	}
	for _, name := range names {
		if version, in := now[name]; in {
			s.now[name] = version
		} else {
			delete(s.now, name)
		}
	}
	return s, nil
}

// first returns the units that were there when the scope was first read.
func (s *scope) first() map[string]int64 {
	if s.before != nil {
		return s.before
	}
	return s.now
}

// but returns members without a unit itself, which its peers have among them.
func (u *unit) but(members map[string]int64) (map[string]int64, error) {
	members = maps.Clone(members)
	delete(members, u.tag.ID)
	if u.known += len(members); u.known > maxMembers {
		return nil, entity.WithHint(entity.Errorf(entity.Unavailable,
			"cannot plan: units would have to know more than %d others", maxMembers),
			"Each unit knows all those that it is related to. Plan a change of fewer units.")
	}
	return members, nil
}
