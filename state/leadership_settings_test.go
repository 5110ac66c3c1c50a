package state_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/statetest"
)

func TestOnlyTheLeaderSetsSettingsForAllUnits(t *testing.T) {
	c := newControllers(t, 1)
	w := c.worlds[0]
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("wordpress", statetest.Wordpress, 1)
	first, second := w.unit("mysql/0"), w.unit("mysql/1")
	sees := func(want entity.LeaderSettings, version int64) {
		w.Helper()
		got, err := second.LeaderSettings(w.ctx)
		w.ok(err)
		info, err := second.Info(w.ctx)
		w.ok(err)
		if !maps.Equal(got, want) || info.LeaderSettingsVersion != version {
			w.Errorf("the leader's settings are %v, version %d, want %v, %d", got, info.LeaderSettingsVersion, want, version)
		}
	}
	sees(entity.LeaderSettings{}, 0)
	err := first.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "1"})
	w.refused(err, entity.LeadershipRefused, `unit "mysql/0" is not the leader of service "mysql"`)
	w.claims("mysql/0", 1)
	w.ok(first.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"none": ""}))
	sees(entity.LeaderSettings{}, 0)
	w.ok(first.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "1", "b.$": "2", "none": ""}))
	sees(entity.LeaderSettings{"a": "1", "b.$": "2"}, 1)
	w.ok(first.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "3", "b.$": ""}))
	sees(entity.LeaderSettings{"a": "3"}, 2)
	w.ok(first.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "3"})) // no change
	sees(entity.LeaderSettings{"a": "3"}, 2)
	w.refused(second.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "4"}), entity.LeadershipRefused,
		"is not the leader")

	// A leader that was replaced can't write any more, even what changes nothing.
	c.pass(term)
	w.claims("mysql/1", 2)
	w.refused(first.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "3"}), entity.LeadershipRefused,
		"is not the leader")
	w.ok(second.SetLeaderSettings(w.ctx, 2, entity.LeaderSettings{"a": "5"}))
	sees(entity.LeaderSettings{"a": "5"}, 3)
	// It is replaced while it writes.
	w.st.Before(func() {
		w.ok(second.ReleaseLeadership(w.ctx))
		w.claims("mysql/0", 3)
	})
	w.refused(second.SetLeaderSettings(w.ctx, 2, entity.LeaderSettings{"a": "6"}), entity.LeadershipRefused,
		"is not the leader")
	sees(entity.LeaderSettings{"a": "5"}, 3)
	// What only the leader writes, a unit that is gone is told alike.
	gone := w.deploy("gone", statetest.MySQL, 1).Name() + "/0"
	u := w.unit(gone)
	w.ok(w.unit(gone).Destroy(w.ctx, entity.Destruction{}))
	w.refused(u.SetLeaderSettings(w.ctx, 1, entity.LeaderSettings{"a": "1"}), entity.NotFound, `unit "gone/0" not found`)
	w.refused(u.SetServiceStatus(w.ctx, 1, entity.Status{Status: entity.StatusActive}), entity.NotFound, "not found")
	_, err = u.ServiceStatus(w.ctx)
	w.refused(err, entity.NotFound, "not found")

	other, err := w.unit("wordpress/0").LeaderSettings(w.ctx)
	w.ok(err)
	if len(other) > 0 {
		w.Errorf("another service sees %v", other)
	}
}

// A new service of the name does not see what the leaders of the old one have set.
func TestLeaderSettingsGoWithTheService(t *testing.T) {
	w := newWorld(t)
	for i := range 2 {
		s := w.deploy("mysql", statetest.MySQL, 1)
		u := w.unit(fmt.Sprintf("mysql/%d", i))
		if settings, err := u.LeaderSettings(w.ctx); err != nil || len(settings) > 0 {
			t.Fatalf("%v, %v", settings, err)
		}
		epoch, err := u.ClaimLeadership(w.ctx, term)
		w.ok(err)
		w.ok(u.SetLeaderSettings(w.ctx, epoch, entity.LeaderSettings{"a": "1"}))
		w.ok(u.Destroy(w.ctx, entity.Destruction{}))
		w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	}
}

func TestTheLeaderSetsTheStatusOfTheService(t *testing.T) {
	w, _ := forcedWorld(t) // whose clock moves with each look
	w.deploy("mysql", statetest.MySQL, 2)
	first, second := w.unit("mysql/0"), w.unit("mysql/1")
	shows := func(want entity.StatusWord, message string) {
		w.Helper()
		got := w.status("mysql").Services[0].Status
		if got.Status != want || got.Message != message {
			w.Errorf("status shows %s %q, want %s %q", got.Status, got.Message, want, message)
		}
	}
	w.ok(second.SetStatus(w.ctx, entity.Status{Status: entity.StatusBlocked, Message: "no disk"}))
	shows(entity.StatusBlocked, "no disk")
	active := entity.Status{Status: entity.StatusActive, Message: "one serves"}
	w.refused(first.SetServiceStatus(w.ctx, 1, active), entity.LeadershipRefused, "is not the leader")
	_, err := first.ServiceStatus(w.ctx)
	w.refused(err, entity.LeadershipRefused, "is not the leader")
	w.claims("mysql/0", 1)
	all, err := first.ServiceStatus(w.ctx)
	w.ok(err)
	if all.Service.Status != entity.StatusBlocked || len(all.Units) != 2 || all.Units["mysql/1"].Message != "no disk" {
		w.Errorf("before the leader sets it: %+v", all)
	}
	var since []time.Time
	for range 2 { // the second says nothing new, so it leaves the time
		w.ok(first.SetServiceStatus(w.ctx, 1, active))
		shows(entity.StatusActive, "one serves")
		since = append(since, w.status("mysql").Services[0].Status.Since)
	}
	if !since[0].Equal(since[1]) {
		w.Errorf("active since %v, and then since %v", since[0], since[1])
	}
	w.refused(second.SetServiceStatus(w.ctx, 1, active), entity.LeadershipRefused, "is not the leader")
	all, err = first.ServiceStatus(w.ctx)
	w.ok(err)
	if all.Service.Status != entity.StatusActive || all.Units["mysql/1"].Status != entity.StatusBlocked {
		w.Errorf("after: %+v", all)
	}
	_, err = second.ServiceStatus(w.ctx)
	w.refused(err, entity.LeadershipRefused, "is not the leader")
}

// Each unit says the version of its workload, and the last one that of its service. It does not wake the agents of the
// others.
func TestWorkloadVersion(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.claims("mysql/0", 1)
	w.ok(w.unit("mysql/1").SetWorkloadVersion(w.ctx, "8.0"))
	if got := w.status("mysql").Services[0].WorkloadVersion; got != "8.0" {
		t.Errorf("status shows %q", got)
	}
	w.ok(w.unit("mysql/0").SetServiceStatus(w.ctx, 1, entity.Status{Status: entity.StatusActive}))
	w.ok(w.unit("mysql/0").SetWorkloadVersion(w.ctx, "8.1"))
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, entity.Status{Status: entity.StatusActive}))
	s := w.status("mysql").Services[0]
	if s.WorkloadVersion != "8.1" || s.Status.Status != entity.StatusActive {
		t.Errorf("status shows %q, %+v", s.WorkloadVersion, s.Status)
	}
	if s.Units[0].WorkloadVersion != "8.1" || s.Units[1].WorkloadVersion != "8.0" {
		t.Errorf("the units have %q and %q", s.Units[0].WorkloadVersion, s.Units[1].WorkloadVersion)
	}
	w.ok(w.unit("mysql/1").SetWorkloadVersion(w.ctx, "8.1"))
	if got := w.status("mysql").Services[0].Units[1].WorkloadVersion; got != "8.1" {
		t.Errorf("the unit has %q, as its service has", got)
	}
}
