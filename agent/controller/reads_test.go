package controller

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// maxReads is how many reads of a MongoDB, each a round trip, one more unit with its machine may cost. It is 57 to 62:
// events that come together cost less. What agents read because of an event must come from copies (see
// modeltxn.DB.AsWatched), and no request should read a document twice.
const maxReads = 66

// A tally counts reads by database and collection, and the writes of barriers.
type tally struct {
	mu       sync.Mutex
	counts   map[string]int // nil while none are counted
	barriers int
}

// hear counts a command of the controller.
func (c *tally) hear(command mongotest.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.counts == nil || command.Client != "controller":
	case command.Reads():
		c.counts[command.Database+"."+command.Collection]++
	case command.Collection == "barrier":
		c.barriers++
	}
}

// during counts the reads for a model while f runs. It leaves out those of the controller's beats, which come with the time:
// each reads the beats, the last upgrade, the row of the controller's model, and the machines of that.
func (c *tally) during(model string, f func()) (counts map[string]int, sum int) {
	c.mu.Lock()
	c.counts = map[string]int{}
	c.mu.Unlock()
	f()
	c.mu.Lock()
	all := c.counts
	c.counts = nil
	c.mu.Unlock()
	all["juju.models"] -= all["juju.controllerbeats"]
	counts = map[string]int{}
	for name, n := range all {
		database, collection, _ := strings.Cut(name, ".")
		switch {
		case n == 0, slices.Contains([]string{"controllerbeats", "controllerupgrades", "presence"}, collection):
		case database == controller.DB:
			counts[name] = n
			sum += n
		case database == model:
			counts["model."+collection] = n
			sum += n
		}
	}
	return counts, sum
}

// active reports whether there are n units, all active and idle.
func active(n int) func(*entity.ModelStatus) bool {
	return func(m *entity.ModelStatus) bool {
		idle, all := units(m)
		for _, svc := range m.Services {
			for _, u := range svc.Units {
				if u.Workload.Status != entity.StatusActive {
					return false
				}
			}
		}
		return idle == n && all == n
	}
}

// One more unit, with its machine, costs few reads of a MongoDB until it is active, and no writes but its own changes.
func TestReadsOfAUnit(t *testing.T) {
	t.Parallel()
	set, reads := mongotest.NewSet(t, 1), &tally{}
	set.Heard = reads.hear
	// The lease on the workers that must run once is not renewed meanwhile.
	s := newSystemIn(t, set.URL(), Options{Store: mongo.Options{Dial: set.DialAs("controller")}, LeadTerm: time.Hour})
	s.deploy("web", `{name: web, summary: s, description: d}`, 0, "hooks/install", "#!/bin/sh\n",
		"hooks/config-changed", "#!/bin/sh\n", "hooks/start", "#!/bin/sh\nstatus-set active\n")

	// What this test reads itself is not counted.
	url, err := mongo.ParseURL(set.URL())
	s.ok(err)
	store, err := mongo.OpenURL(s.ctx, url, mongo.Options{Dial: set.Dial})
	s.ok(err)
	defer store.Close()
	beside, err := controller.Attach(t.Context(), store, controller.Options{Shared: true})
	s.ok(err)
	defer beside.Close()
	s.st, err = beside.Model(s.ctx, s.model)
	s.ok(err)

	conn, err := client.Dial(s.ctx, client.Info{Dial: s.c.server.Dial, Model: s.model, Tag: entity.UserTag(statetest.Admin),
		Password: statetest.Password})
	s.ok(err)
	defer conn.Close()
	add := func(all int) {
		_, _, err := conn.AddUnits(s.ctx, "web", 1, nil)
		s.ok(err)
		s.until("active units", active(all))
	}
	add(1) // the first one also costs what a service and a model read once
	counts, sum := reads.during(s.model, func() { add(2) })
	for _, name := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	}) {
		t.Logf("%4d %s", counts[name], name)
	}
	t.Logf("%4d reads", sum)
	if reads.barriers > 0 {
		t.Errorf("replies and events cost %d writes", reads.barriers)
	}
	if sum > maxReads || sum == 0 {
		t.Errorf("a unit costs %d reads; at most %d are allowed", sum, maxReads)
	}
}
