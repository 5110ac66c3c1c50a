package controller

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// asking returns a hook that runs tools which call the controller for somewhat longer than an
// election takes. A tool that fails fails the hook.
func asking(asks string, times int) string {
	return fmt.Sprintf("#!/bin/sh\nset -e\nfor i in $(seq %d); do\n\tstatus-set maintenance \"asked $i times\"\n"+
		"\tsleep 0.2\ndone\n"+
		"config-get >/dev/null\n%s\nopened-ports >/dev/null\n", times, asks)
}

// TestHooksDoNotNoticeAnElection while units leave a relation: the store's primary is killed
// during their hooks, of which some call the controller all the time, some commit their writes,
// and some are about to begin.
func TestHooksDoNotNoticeAnElection(t *testing.T) {
	election, wordpresses := 2*time.Second, 4
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		election, wordpresses = 15*time.Second, 8
	case testing.Short():
		election, wordpresses = time.Second, 2
	}
	set := mongotest.NewSet(t, 3)
	s := newSystemIn(t, set.URL(), Options{Store: mongo.Options{Dial: set.Dial}})
	s.keepsLog()
	times := int(2*election/time.Second) * 5 / 2
	s.deploy("mysql", statetest.MySQL, 1, "hooks/server-relation-departed",
		asking("relation-get - $JUJU_REMOTE_UNIT >/dev/null || true", 2))
	s.deploy("wordpress", statetest.Wordpress, wordpresses,
		"hooks/db-relation-joined", "#!/bin/sh\nrelation-set name=$JUJU_UNIT_NAME\nopen-port 80\n",
		"hooks/db-relation-departed", asking("close-port 80", times), "hooks/db-relation-broken",
		asking("relation-ids db", 1))
	_, err := s.st.AddRelation(s.ctx, "wordpress", "mysql")
	s.ok(err)
	all := wordpresses + 1
	s.until("idle units", func(m *entity.ModelStatus) bool { idle, there := units(m); return idle == all && there == all })

	r, err := s.st.Relation(s.ctx, "wordpress", "mysql")
	s.ok(err)
	s.ok(r.Destroy(s.ctx, entity.Destruction{}))
	s.until("hooks", func(m *entity.ModelStatus) bool {
		running := 0
		for _, svc := range m.Services {
			for _, u := range svc.Units {
				if strings.HasPrefix(u.Workload.Message, "asked ") {
					running++
				}
			}
		}
		return running >= wordpresses
	})
	began := time.Now()
	set.Kill(election)
	failed := ""
	s.until("the end of the relation", func(m *entity.ModelStatus) bool {
		for _, svc := range m.Services {
			for name, u := range svc.Units {
				if u.Workload.Status == entity.StatusError {
					failed = fmt.Sprintf("%v: %s", name, u.Workload.Message)
				}
			}
		}
		idle, _ := units(m)
		return failed != "" || len(m.Relations) == 0 && idle == all
	})
	if failed != "" {
		t.Fatalf("%s\n%s", failed, &s.log)
	}
	if took := time.Since(began); took < election {
		t.Errorf("all was over after %v: the hooks have met no election", took)
	}
	for i := range wordpresses {
		u, err := s.st.Unit(s.ctx, fmt.Sprintf("wordpress/%d", i))
		s.ok(err)
		ports, err := u.OpenedPorts(s.ctx)
		s.ok(err)
		if len(ports[u.Name()]) != 0 {
			t.Errorf("%s has %v open", u.Name(), ports)
		}
	}
}
