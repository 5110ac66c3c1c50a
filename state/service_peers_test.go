package state_test

import (
	"fmt"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

// ringed returns the metadata of a charm with these peers.
func ringed(peers string) string {
	return "{name: ring, summary: s, description: d, peers: {" + peers + "}}"
}

// refreshes changes the charm of the service ring to one with these peers.
func (w *world) refreshes(peers string) {
	w.Helper()
	_, err := w.upgrade("ring", ringed(peers), "{}", state.SetCharmParams{})
	w.ok(err)
}

// rings returns the relations of the service as "name interface life", in the order of their ids.
func (w *world) rings() (text string, ids []int) {
	w.Helper()
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	for _, r := range status.Relations {
		found, err := w.st.RelationByID(w.ctx, r.ID)
		w.ok(err)
		end := found.Endpoints()[0]
		text, ids = text+fmt.Sprintf("%s %s %s; ", end.Name, end.Interface, found.Life()), append(ids, r.ID)
	}
	return text, ids
}

// A charm that adds, drops or changes a peer relation can be followed by any other: the old relation goes once its units
// have left, and the one of the charm that the service has then comes, once. So a bad upgrade is repaired by going back.
func TestPeerRelationsFollowTheCharm(t *testing.T) {
	const ring, other = "ring: {interface: a}", "ring: {interface: b}"
	for _, units := range []int{0, 1, 3} {
		for _, c := range []struct{ name, first, second, before, after string }{
			{"adds it, and back", "", ring, "", "ring a alive; "},
			{"drops it, and back", ring, "", "ring a alive; ", ""},
			{"changes its interface, and back", ring, other, "ring a alive; ", "ring b alive; "},
		} {
			t.Run(fmt.Sprintf("%s, with %d units", c.name, units), func(t *testing.T) {
				w := newWorld(t)
				w.deploy("ring", ringed(c.first), units)
				shows := func(want string) {
					t.Helper()
					if got, _ := w.rings(); got != want {
						t.Fatalf("the relations are %q, want %q", got, want)
					}
				}
				moves := func(leave bool) { // the units enter what is alive, and leave what is not
					t.Helper()
					_, ids := w.rings()
					for _, id := range ids {
						for i := range units {
							u := w.unit(fmt.Sprint("ring/", i))
							if leave {
								w.ok(u.LeaveScope(w.ctx, id))
							} else {
								w.ok(u.EnterScope(w.ctx, id))
							}
						}
					}
				}
				for i := range units {
					w.started(fmt.Sprint("ring/", i))
				}
				shows(c.before)
				moves(false)
				was, old := w.rings()
				for _, step := range []struct{ peers, want string }{{c.second, c.after}, {c.first, c.before}, {c.second, c.after}} {
					w.refreshes(step.peers)
					if _, now := w.rings(); len(old) > 0 && len(now) > 0 && units > 0 && now[0] != old[0] {
						t.Fatalf("relation %d (%s) is gone, and units are in it", old[0], was)
					}
					if len(old) > 0 {
						moves(true)
					}
					w.clean()
					shows(step.want)
					moves(false)
					was, old = w.rings()
				}
				w.checkCounts()
				w.checkClean()
			})
		}
	}
}

// While the old relation ends, the charm can change again and again; when it has ended, the service gets the one peer
// relation of the charm that it has by then, and a Dying service gets none.
func TestPeerRelationsThatChangeInQuickSuccession(t *testing.T) {
	for _, destroyed := range []bool{false, true} {
		w := newWorld(t)
		s := w.deploy("ring", ringed("ring: {interface: a}"), 1)
		u := w.started("ring/0")
		r, err := w.st.Relation(w.ctx, "ring:ring")
		w.ok(err)
		w.ok(u.EnterScope(w.ctx, r.ID()))
		for _, peers := range []string{"", "ring: {interface: a}", "ring: {interface: b}", "", "ring: {interface: a}"} {
			w.refreshes(peers)
			w.clean()
		}
		if got, ids := w.rings(); got != "ring a dying; " || ids[0] != r.ID() {
			t.Errorf("the relations are %q %v", got, ids)
		}
		want := "ring a alive; "
		if destroyed {
			w.ok(s.Destroy(w.ctx, entity.Destruction{}))
			want = ""
		}
		w.ok(u.LeaveScope(w.ctx, r.ID()))
		w.clean()
		if got, ids := w.rings(); got != want || len(ids) > 0 && ids[0] == r.ID() {
			t.Errorf("the relations are %q %v, want %q", got, ids, want)
		}
		w.checkCounts()
		w.checkClean()
	}
}

// The charm changes between the decision of the cleaner and its transaction, and again.
func TestPeerRelationsMeetAnUpgrade(t *testing.T) {
	for _, interfaces := range []string{"c", "cd"} {
		w := newWorld(t)
		w.deploy("ring", ringed("ring: {interface: a}"), 0)
		w.refreshes("ring: {interface: b}")
		w.st.Before(func() {
			for _, as := range interfaces {
				w.refreshes(fmt.Sprintf("ring: {interface: %c}", as))
			}
		})
		_, _, err := w.st.Cleaner().Cleanup(w.ctx)
		w.ok(err)
		w.clean()
		if got, _ := w.rings(); got != fmt.Sprintf("ring %s alive; ", interfaces[len(interfaces)-1:]) {
			t.Errorf("%s: the relations are %q", interfaces, got)
		}
		w.checkClean()
	}
}

// Between the decision of an upgrade and its transaction, other relations take the place of those that it has seen, and
// there are as many as before: the service has the relations of its charm nevertheless.
func TestAnUpgradeMeetsOtherRelations(t *testing.T) {
	const sites = ", provides: {site: {interface: http}, admin: {interface: http}}}"
	with := func(peers, more string) string { return strings.TrimSuffix(ringed(peers), "}") + more }
	for name, c := range map[string]struct {
		first, second string // the charm before, of whose peer relation a unit is still in the scope, and the one there is
		third         string // the one that it gets
		meanwhile     func(w *world)
		want, err     string
	}{
		"the peer relation of the charm comes": {with("ring: {interface: a}", sites), with("ring: {interface: b}", sites), with("", sites),
			func(*world) {}, "", ""},
		"the old one is gone": {with("ring: {interface: a}", sites), with("", sites), with("ring: {interface: c}", sites),
			func(w *world) { w.relate("user:site", "ring:site") }, "ring c alive; ", ""},
		"another endpoint is used": {with("ring: {interface: a}", sites), with("", sites), with("", ", provides: {site: {interface: http}}}"),
			func(w *world) { w.relate("user:site", "ring:admin") }, "", `would break relation "user:site ring:admin"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy("user", "{name: user, summary: s, description: d, requires: {site: {interface: http}}}", 0)
			w.deploy("ring", c.first, 1)
			u := w.started("ring/0")
			_, ids := w.rings()
			w.ok(u.EnterScope(w.ctx, ids[0]))
			_, err := w.upgrade("ring", c.second, "{}", state.SetCharmParams{})
			w.ok(err)
			url := statetest.Charm(t, w.st, c.third, "config.yaml", "{}")
			w.st.Before(func() {
				w.ok(u.LeaveScope(w.ctx, ids[0]))
				w.clean()
				c.meanwhile(w)
			})
			if _, err = mustService(w, "ring").SetCharm(w.ctx, state.SetCharmParams{URL: url}); c.err != "" {
				w.refused(err, entity.Invalid, c.err)
			} else if w.ok(err); c.want == "" {
				w.clean()
			}
			got, _ := w.rings()
			if got = strings.ReplaceAll(got, "site http alive; ", ""); got != c.want {
				t.Errorf("the relations are %q, want %q", got, c.want)
			}
			w.checkCounts()
			w.checkClean()
		})
	}
}

// A service that is destroyed with its peer relation leaves the cleaner nothing to add.
func TestPeersOfADestroyedService(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("ring", ringed("ring: {interface: a}"), 0)
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	for _, c := range dump["cleanups"] {
		if strings.Contains(string(c), modeldb.CleanupPeers) {
			t.Errorf("there is a cleanup %s", c)
		}
	}
}

// An upgrade in batches leaves units with the old charm, which need the relation. One that is ending is needed no more,
// unless one of the charms has another of its name.
func TestABatchDropsNoPeers(t *testing.T) {
	const ring, ringB, other = "ring: {interface: a}", "ring: {interface: b}", "other: {interface: x}"
	w := newWorld(t)
	w.deploy("ring", ringed(ring), 2)
	u := w.started("ring/0")
	r, err := w.st.Relation(w.ctx, "ring:ring")
	w.ok(err)
	w.ok(u.EnterScope(w.ctx, r.ID()))
	batch := func(peers string) error {
		_, err := w.upgrade("ring", ringed(peers), "{}", state.SetCharmParams{Batch: 1, HealthTimeout: 60e9})
		return err
	}
	for _, step := range []struct{ at, refused string }{{ring, ""}, {ring, ringB}, {ringB, ""}, {"", ringB}} {
		w.refreshes(step.at)
		w.refused(batch(step.refused), entity.Invalid, `would break relation "ring:ring", while units still have the charm with it`)
	}
	w.ok(batch(other))
	w.ok(u.LeaveScope(w.ctx, r.ID()))
	w.clean()
	if got, _ := w.rings(); got != "other x alive; " {
		t.Errorf("the relations are %q", got)
	}
	w.checkCounts()
}

// An endpoint in use can't become one of container scope, because its relation stays global; the way back is open.
func TestAnUpgradeKeepsTheScope(t *testing.T) {
	w := newWorld(t)
	db := func(scope string) string {
		return `{name: db, summary: s, description: d, provides: {db: {interface: x, scope: ` + scope + `}}}`
	}
	agent := `{name: agent, summary: s, description: d, subordinate: true, requires: {db: {interface: x}, host: {interface: juju-info, scope: container}}}`
	w.deploy("db", db("global"), 1)
	w.deploy("agent", agent, 0)
	w.relate("agent:db", "db:db")
	_, err := w.upgrade("db", db("container"), "{}", state.SetCharmParams{})
	w.refused(err, entity.Invalid, `would break relation "agent:db db:db"`)

	w.deploy("cell", `{name: db, summary: s, description: d, provides: {db: {interface: x, scope: container}}}`, 1)
	w.relate("agent:db", "cell:db")
	_, err = w.upgrade("cell", db("global"), "{}", state.SetCharmParams{})
	w.ok(err)
	w.checkClean()
}
