package admission

import (
	"testing"

	"juju/state/entity"
)

// A user has no more than what users have, and all together no more than all. What has ended leaves nothing.
func TestUserSlots(t *testing.T) {
	var s UserSlots
	alice, bob := entity.UserTag("alice"), entity.UserTag("bob")
	var ends []func()
	for _, c := range []struct {
		user      entity.Tag
		ok        bool
		mine, all int
	}{{alice, true, 0, 0}, {alice, true, 1, 1}, {alice, false, 2, 2}, {bob, true, 0, 2}, {bob, false, 1, 3}} {
		end, mine, all := s.Take(c.user, 2, 3)
		if (end != nil) != c.ok || mine != c.mine || all != c.all {
			t.Errorf("%s: %v, %d, %d; want %v, %d, %d", c.user, end != nil, mine, all, c.ok, c.mine, c.all)
		}
		if end != nil {
			ends = append(ends, end)
		}
	}
	for _, end := range ends {
		end()
	}
	if s.count != 0 || len(s.users) > 0 {
		t.Errorf("at the end there are %d, of %v", s.count, s.users)
	}
}
