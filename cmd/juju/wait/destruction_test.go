package wait_test

import (
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// What a forced destruction left behind is an error.
func TestForceReportsLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Model.Returns.Explanations = []entity.Explanation{
			{Name: "machine 3", Life: entity.Dying, Reasons: []entity.Reason{{Text: "the agent of machine 3 must set it dead"}}},
			{Name: "machine 3", Life: entity.Gone, Leftovers: []entity.Leftover{
				{What: "instance i-3 of machine 3", Where: "cloud local", Why: "it is on fire", How: "Put it out: rm -r /dir"}}},
		}
		u.Types("destroy-machine", "3", "--force")
		u.Sees(1, "", "Waiting for 3: the agent of machine 3 must set it dead\n"+
			"ERROR machine 3 is removed, but instance i-3 of machine 3 is left in cloud local: it is on fire\n"+
			"Put it out: rm -r /dir\n")
	})
}

// A host's containers are stopped one after another, each of which may take as long as the
// cloud may take.
func TestForceWaitsWhileItMakesProgress(t *testing.T) {
	t.Parallel()
	dying := func(containers ...string) (e entity.Explanation) {
		e = entity.Explanation{Name: "machine 3", Life: entity.Dying}
		for _, c := range containers {
			e.Reasons = append(e.Reasons, entity.Reason{Text: "machine 3 has container " + c})
		}
		return e
	}
	for end, test := range map[string]struct {
		containers []string
		life       entity.Life
		wait       time.Duration
		says       string
	}{
		"all go": {[]string{"a", "b", "c"}, entity.Gone, 3 * time.Minute, ""},
		"one never does": {[]string{"a", "b"}, entity.Dying, 3*time.Minute + 30*time.Second,
			"ERROR gave up after 3m30s: still waiting for 3\nTo see why: juju explain 3\n"},
	} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUser(t)
				begin := time.Now()
				for i := range test.containers {
					time.AfterFunc(time.Duration(i+1)*time.Minute, func() { u.Model.Change(nil) })
				}
				u.Model.Returns.Explain = func() entity.Explanation {
					gone := min(int(time.Since(begin)/time.Minute), len(test.containers))
					e := dying(test.containers[gone:]...)
					if gone == len(test.containers) {
						e.Life = test.life
					}
					return e
				}
				u.Types("destroy-machine", "3", "--force", "-q")
				code := 0
				if test.says != "" {
					code = 1
				}
				u.Sees(code, "", test.says)
				if took := time.Since(begin).Truncate(30 * time.Second); took != test.wait {
					t.Errorf("it took %v, want %v", took, test.wait)
				}
			})
		})
	}
}

// A controller that does not answer does not keep --force from giving up.
func TestForceGivesUpOnASilentController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Model.Returns.Silent = true
		u.Model.Returns.Explain = func() entity.Explanation { return entity.Explanation{Name: "machine 3", Life: entity.Dying} }
		begin := time.Now()
		u.Types("destroy-machine", "3", "--force", "-q")
		u.Sees(1, "", "ERROR gave up after 2m30s: still waiting for 3\nTo see why: juju explain 3\n")
		if took := time.Since(begin); took != 150*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
