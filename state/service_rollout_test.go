package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2"

	"juju/charm"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A rolled is a service web with units that run web-0, in a model whose clock the test advances.
type rolled struct {
	*world
	later func(time.Duration)
	web   *state.Service
	lost  string // a unit
}

func noneLost(string) bool { return false }

// webCharm is metadata of the charm web, with more after it.
func webCharm(more string) string {
	return "{name: web, summary: s, description: d, provides: {site: {interface: http}}" + more + "}"
}

func rollWorld(t *testing.T, units int) *rolled {
	w, later := forcedWorld(t)
	r := &rolled{world: w, later: later, web: w.deploy("web", webCharm(""), units)}
	for i := range units {
		r.upgrades(fmt.Sprintf("web/%d", i))
	}
	return r
}

// rolls begins a rollout of another revision of the charm.
func (r *rolled) rolls(batch int, more string) (url string) {
	r.Helper()
	url = statetest.Charm(r.T, r.st, webCharm(more))
	r.ok(r.setCharm(state.SetCharmParams{URL: url, Batch: batch, HealthTimeout: time.Minute}))
	return url
}

func (r *rolled) setCharm(p state.SetCharmParams) error {
	_, err := mustService(r.world, "web").SetCharm(r.ctx, p)
	return err
}

// step takes the next step, and returns the units that are told to run another charm than the one that they run.
func (r *rolled) step() (told string) {
	r.Helper()
	_, err := mustService(r.world, "web").AdvanceRollout(r.ctx, func(unit string) bool { return r.lost == unit })
	r.ok(err)
	var names []string
	for _, name := range r.unitNames("web") {
		if info := r.info(name); info.Life == entity.Alive && info.CharmURL != "" && info.ServiceCharmURL != info.CharmURL {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func (r *rolled) info(unit string) entity.UnitInfo {
	r.Helper()
	info, err := r.unit(unit).Info(r.ctx)
	r.ok(err)
	return info
}

func (r *rolled) tells(want string) {
	r.Helper()
	if got := r.step(); got != want {
		r.Errorf("%q are told to run another charm, want %q", got, want)
	}
}

// upgrades has a unit's agent run the charm that it is told, and be active and idle then.
func (r *rolled) upgrades(unit string) {
	r.Helper()
	r.begins(unit)
	r.says(unit, entity.StatusActive, "")
	r.ok(r.unit(unit).SetAgentStatus(r.ctx, entity.Status{Status: entity.StatusIdle}))
}

// begins has a unit's agent deploy the charm that it is told.
func (r *rolled) begins(unit string) {
	r.Helper()
	u := r.unit(unit)
	r.ok(u.SetAgentStatus(r.ctx, entity.Status{Status: entity.StatusExecuting, Message: "deploying"}))
	r.ok(u.SetCharm(r.ctx, r.info(unit).ServiceCharmURL))
}

// fails has the upgrade-charm hook of a unit fail.
func (r *rolled) fails(unit string) {
	r.Helper()
	r.begins(unit)
	r.says(unit, entity.StatusError, `hook failed: "upgrade-charm"`)
	r.ok(r.unit(unit).SetAgentStatus(r.ctx, entity.Status{Status: entity.StatusIdle}))
}

func (r *rolled) says(unit string, word entity.StatusWord, message string) {
	r.Helper()
	r.ok(r.unit(unit).SetStatus(r.ctx, entity.Status{Status: word, Message: message}))
}

func (r *rolled) service() entity.ServiceStatus {
	r.Helper()
	return r.status("web").Services[0]
}

// stops checks that the rollout has stopped, for a reason.
func (r *rolled) stops(why string) {
	r.Helper()
	s := r.service()
	if s.Rollout == nil || !strings.Contains(s.Rollout.Stopped, why) || !strings.Contains(s.Status.Message, "upgrade stopped: ") ||
		!strings.Contains(s.Status.Message, why) {
		r.Errorf("the service is %v with the rollout %+v, want it stopped: %s", s.Status, s.Rollout, why)
	}
}

func (r *rolled) ended() {
	r.Helper()
	if s := r.service(); s.Rollout != nil {
		r.Errorf("the rollout goes on: %+v", s.Rollout)
	}
	r.checkClean()
}

// Each batch waits until the units of the one before are healthy, and the leader comes last. A new unit gets the new
// charm, and one that ends meanwhile is not waited for.
func TestUnitsAreUpgradedInBatches(t *testing.T) {
	r := rollWorld(t, 6)
	_, err := r.unit("web/0").ClaimLeadership(r.ctx, state.MaxLease)
	r.ok(err)
	url := r.rolls(2, "")
	r.tells("web/1 web/2")
	r.tells("web/1 web/2")
	r.upgrades("web/1")
	r.begins("web/2")
	r.tells("")
	r.says("web/2", entity.StatusMaintenance, "migrating")
	r.ok(r.unit("web/2").SetAgentStatus(r.ctx, entity.Status{Status: entity.StatusIdle}))
	r.tells("")
	r.says("web/2", entity.StatusActive, "")
	r.ok(r.unit("web/2").SetAgentStatus(r.ctx, entity.Status{Status: entity.StatusExecuting, Message: "running"}))
	r.tells("")
	added, err := r.web.AddUnits(r.ctx, 1, nil)
	r.ok(err)
	if info := r.info(added[0]); info.ServiceCharmURL != url {
		t.Errorf("the new unit is told to run %s", info.ServiceCharmURL)
	}
	r.upgrades("web/2")
	r.tells("web/3 web/4")
	r.destroyUnit("web/3")
	r.upgrades("web/4")
	r.tells("web/5")
	r.upgrades("web/5")
	r.tells("web/0")
	if info := r.info("web/0"); info.ServiceCharmURL != url || info.ForceCharm {
		t.Errorf("the leader is told %+v", info)
	}
	r.upgrades("web/0")
	r.tells("")
	r.ended()
	// Turns of a rollout that has ended are not those of the next.
	r.rolls(1, "")
	r.tells("web/1")
}

// Until it is its turn, a unit keeps its charm, with the settings of that, whatever happens to it.
func TestAUnitKeepsItsCharmUntilItsTurn(t *testing.T) {
	r := rollWorld(t, 2)
	old := r.info("web/1").CharmURL
	url := statetest.Charm(t, r.st, webCharm(""), "config.yaml", settable)
	r.ok(r.setCharm(state.SetCharmParams{URL: url, Batch: 1, HealthTimeout: time.Minute, ForceUnits: true,
		Config: map[string]any{"a": "new"}}))
	r.tells("web/0")
	r.says("web/1", entity.StatusError, `hook failed: "config-changed"`)
	r.ok(r.unit("web/1").Resolve(r.ctx, true))
	if info := r.info("web/1"); info.ServiceCharmURL != old {
		t.Errorf("the unit is told %+v", info)
	}
	if got, err := r.unit("web/1").Config(r.ctx); err != nil || got["a"] != nil {
		t.Errorf("the unit with the old charm sees %v, %v", got, err)
	}
	r.upgrades("web/0")
	if got, err := r.unit("web/0").Config(r.ctx); err != nil || got["a"] != "new" {
		t.Errorf("the unit with the new charm sees %v, %v", got, err)
	}
	// A unit that was in error before, and was forced, may stay in error.
	r.tells("web/1")
	if info := r.info("web/1"); !info.ForceCharm {
		t.Errorf("the unit is told %+v", info)
	}
	r.fails("web/1")
	r.tells("")
	r.ended()
}

func TestARolloutStopsAndIsResumed(t *testing.T) {
	r := rollWorld(t, 3)
	r.says("web/1", entity.StatusBlocked, "needs a license")
	r.rolls(1, "")
	r.tells("web/0")
	r.refused(r.web.ResumeRollout(r.ctx, 0, 0), entity.Invalid, "it has not stopped")
	r.begins("web/0")
	r.later(time.Minute)
	r.tells("")
	r.stops("unit web/0 is executing: deploying")
	if word := r.service().Status.Status; word != entity.StatusBlocked {
		t.Errorf("the service is %s", word)
	}
	r.upgrades("web/0")
	r.tells("") // the user decides
	why, err := r.st.Explainer().Explain(r.ctx, entity.ServiceTag("web"))
	r.ok(err)
	if hint := why.Reasons[0].Hint; !strings.Contains(hint, "--resume") || !strings.Contains(hint, "--revert") {
		t.Errorf("the hint is %q", hint)
	}
	r.ok(r.web.ResumeRollout(r.ctx, 0, 0))
	r.tells("web/1")
	r.begins("web/1")
	r.says("web/1", entity.StatusBlocked, "needs a newer license") // as before
	r.ok(r.unit("web/1").SetAgentStatus(r.ctx, entity.Status{Status: entity.StatusIdle}))
	r.tells("web/2")
	// A unit of an earlier batch must not fail either.
	r.upgrades("web/2")
	r.says("web/0", entity.StatusError, `hook failed: "update-status"`)
	r.later(time.Minute)
	r.tells("")
	r.stops(`unit web/0 is in error: hook failed: "update-status"`)
	if word := r.service().Status.Status; word != entity.StatusError {
		t.Errorf("the service is %s", word)
	}
	// With another pace, it has that time from now on.
	r.ok(r.web.ResumeRollout(r.ctx, 2, time.Hour))
	r.later(59 * time.Minute)
	r.tells("")
	if now := r.service().Rollout; now.Stopped != "" || now.Batch != 2 || now.Timeout != time.Hour {
		t.Errorf("the rollout is %+v", now)
	}
	r.says("web/0", entity.StatusActive, "")
	r.tells("")
	r.ended()
	r.refused(r.web.ResumeRollout(r.ctx, 0, 0), entity.Invalid, "it is not being upgraded in batches")
}

// A unit that waits for its turn has an explanation: which unit it waits for, or that a user must decide.
func TestExplainSaysWhyAUnitIsHeld(t *testing.T) {
	r := rollWorld(t, 3)
	says := func(unit, by string, texts ...string) {
		t.Helper()
		e, err := r.st.Explainer().Explain(r.ctx, entity.UnitTag(unit))
		r.ok(err)
		for _, text := range texts {
			if len(e.Reasons) == 0 || e.Reasons[0].By != by || !strings.Contains(e.Reasons[0].Text+e.Reasons[0].Hint, text) {
				t.Errorf("the reasons are %+v, want %s by %s", e.Reasons, text, by)
			}
		}
	}
	old := r.info("web/1").CharmURL
	url := r.rolls(1, "")
	r.tells("web/0")
	r.fails("web/0")
	says("web/1", entity.ByController, fmt.Sprintf("unit %q keeps charm %s until its turn: service %q is upgraded to %s, 1 unit at a time",
		"web/1", old, "web", url), `; until then unit web/0 is in error: hook failed: "upgrade-charm"`)
	says("web/0", entity.ByUser, "hook failed")
	r.later(time.Minute)
	r.tells("")
	says("web/2", entity.ByUser, "the upgrade has stopped: not healthy within 1m0s", "--revert")
	r.says("web/2", entity.StatusError, "broken")
	says("web/2", entity.ByUser, "the upgrade has stopped")
	r.upgrades("web/0")
	r.ok(r.web.ResumeRollout(r.ctx, 3, 0))
	r.tells("web/1 web/2")
	if e, err := r.st.Explainer().Explain(r.ctx, entity.UnitTag("web/1")); err != nil || len(e.Reasons) > 0 {
		t.Errorf("%+v, %v", e.Reasons, err)
	}
}

func TestARolloutIsReverted(t *testing.T) {
	r := rollWorld(t, 3)
	old := r.info("web/0").CharmURL
	url := r.rolls(2, ", peers: {ring: {interface: web}}, storage: {logs: {type: filesystem, multiple: {range: 0-}}}")
	r.tells("web/0 web/1")
	ring, err := r.st.Relation(r.ctx, "web:ring")
	r.ok(err)
	r.upgrades("web/0")
	r.ok(r.unit("web/0").EnterScope(r.ctx, ring.ID()))
	r.fails("web/1")
	// What the former charm has no store for can't be there when the rollout is reverted.
	_, err = r.unit("web/0").AddStorage(r.ctx, "logs", entity.StorageConstraints{Count: 1})
	r.refused(err, entity.Invalid, `has no store called "logs"`)
	_, err = r.web.AddUnits(r.ctx, 1, nil)
	r.ok(err)
	r.later(time.Minute)
	r.tells("")
	r.stops(`unit web/1 is in error: hook failed: "upgrade-charm"`)

	_, err = r.web.RevertRollout(r.ctx, 1, 0)
	r.ok(err)
	_, err = r.web.RevertRollout(r.ctx, 0, 0)
	r.refused(err, entity.Invalid, "it is being reverted")
	if s := r.service(); s.CharmURL != old || s.Rollout == nil || s.Rollout.Former != url || s.Rollout.Timeout != time.Minute {
		t.Errorf("the service has %s, and the rollout is %+v", s.CharmURL, s.Rollout)
	}
	// The units that never had the new charm keep theirs.
	r.tells("web/0")
	r.ok(r.unit("web/0").LeaveScope(r.ctx, ring.ID()))
	if _, err := r.st.Relation(r.ctx, "web:ring"); !entity.IsNotFound(err) {
		t.Errorf("the new charm's peer relation is still there: %v", err)
	}
	r.upgrades("web/0")
	r.tells("web/1")
	if info := r.info("web/1"); !info.ForceCharm || info.Resolved != entity.ResolvedRetry {
		t.Errorf("the unit in error is told %+v", info)
	}
	r.ok(r.unit("web/1").SetCharm(r.ctx, old))
	r.tells("")
	r.ok(r.unit("web/1").ClearResolved(r.ctx))
	r.upgrades("web/1")
	r.tells("")
	r.ended()
	if got := r.service().CharmURL; got != old {
		t.Errorf("the service has %s", got)
	}
	if stores := mustService(r.world, "web").StorageConstraints(); len(stores) > 0 {
		t.Errorf("the service has storage %v", stores)
	}
	_, err = r.web.RevertRollout(r.ctx, 0, 0)
	r.refused(err, entity.Invalid, "it is not being upgraded in batches")
}

// The peer relation of a reverted upgrade can be destroyed with force when the agent of a unit in it is away.
func TestThePeersOfARevertedUpgradeAreForced(t *testing.T) {
	r := rollWorld(t, 2)
	url := r.rolls(1, ", peers: {ring: {interface: web}}")
	ring, err := r.st.Relation(r.ctx, "web:ring")
	r.ok(err)
	r.ok(r.unit("web/0").EnterScope(r.ctx, ring.ID()))
	destroy := func(how entity.Destruction) error {
		ring, err := r.st.RelationByID(r.ctx, ring.ID()) // the charm no longer has its endpoint
		r.ok(err)
		return ring.Destroy(r.ctx, how)
	}
	force := entity.Destruction{Strength: entity.Force, Timeout: time.Minute}
	r.refused(destroy(force), entity.Invalid, "is a peer relation")
	_, err = r.web.RevertRollout(r.ctx, 0, 0)
	r.ok(err)
	r.ok(destroy(entity.Destruction{}))
	r.tells("")
	r.ok(r.setCharm(state.SetCharmParams{URL: url})) // it gets the peers once the old relation has ended
	r.ok(destroy(force))
	r.later(time.Minute)
	_, _, err = r.st.Cleaner().Cleanup(r.ctx)
	r.ok(err)
	if _, err := r.st.RelationByID(r.ctx, ring.ID()); !entity.IsNotFound(err) {
		t.Errorf("the relation is still there: %v", err)
	}
	r.clean()
	if now, err := r.st.Relation(r.ctx, "web:ring"); err != nil || now.ID() == ring.ID() || now.Life() != entity.Alive {
		t.Errorf("the peers of the new charm are %+v, %v", now, err)
	}
	r.checkClean()
}

// A revert goes on at the pace that the upgrade has by then, unless the user says another. Once it goes on, --resume changes
// that.
func TestARevertMeetsAChangeOfPace(t *testing.T) {
	for _, c := range []struct {
		batch, wantBatch     int
		timeout, wantTimeout time.Duration
	}{
		{0, 3, 0, time.Hour},
		{2, 2, 0, time.Hour},
		{0, 3, time.Second, time.Second},
	} {
		r := rollWorld(t, 2)
		r.rolls(1, "")
		r.st.Before(func() { r.ok(mustService(r.world, "web").ResumeRollout(r.ctx, 3, time.Hour)) })
		_, err := r.web.RevertRollout(r.ctx, c.batch, c.timeout)
		r.ok(err)
		if now := r.service().Rollout; !now.Reverts || now.Batch != c.wantBatch || now.Timeout != c.wantTimeout {
			t.Errorf("the rollout is %+v, want it to revert %d at a time in %v", now, c.wantBatch, c.wantTimeout)
		}
		_, err = r.web.RevertRollout(r.ctx, 0, time.Minute)
		r.refused(err, entity.Invalid, "it is being reverted")
		if hint := entity.Hint(err); !strings.Contains(hint, "juju upgrade-charm web --resume") {
			t.Errorf("the hint is %q", hint)
		}
	}
}

// The settings that came with an upgrade go with it, also those of one that it replaced; what users have changed since
// stays.
func TestARevertRestoresSettings(t *testing.T) {
	r := rollWorld(t, 2)
	const config = "options: {a: {type: string}, b: {type: string}, c: {type: int}, d: {type: boolean}, e: {type: string}, f: {type: string}}"
	next := func() string { return statetest.Charm(t, r.st, webCharm(""), "config.yaml", config) }
	r.ok(r.setCharm(state.SetCharmParams{URL: next()}))
	r.ok(r.web.SetConfig(r.ctx, map[string]any{"a": "old", "c": int64(1), "d": false}))
	rolls := func(config map[string]any) {
		t.Helper()
		r.ok(r.setCharm(state.SetCharmParams{URL: next(), Batch: 1, HealthTimeout: time.Minute, Config: config}))
		r.step()
		r.later(time.Minute)
		r.step()
		r.stops("not upgraded yet")
	}
	has := func(want string) {
		t.Helper()
		set, err := mustService(r.world, "web").ConfigSettings(r.ctx)
		r.ok(err)
		if got := fmt.Sprint(set); got != want {
			t.Errorf("the settings are %s, want %s", got, want)
		}
	}
	reverts := func(restored, kept string) {
		t.Helper()
		got, err := mustService(r.world, "web").RevertRollout(r.ctx, 0, 0)
		r.ok(err)
		if fmt.Sprint(got.Restored) != restored || fmt.Sprint(got.Kept) != kept {
			t.Errorf("reverting says %+v, want %s restored and %s kept", got, restored, kept)
		}
	}
	rolls(map[string]any{"a": "new", "b": "new", "c": int64(2), "d": true, "f": "new", "trust": true})
	has("map[a:new b:new c:2 d:true f:new]")
	r.ok(r.web.SetConfig(r.ctx, map[string]any{"d": nil, "e": "mine", "f": "mine"}))
	rolls(map[string]any{"a": "newer", "c": nil, "e": "theirs", "f": "theirs"})
	has("map[a:newer b:new e:theirs f:theirs]")
	reverts("[trust a b c e f]", "[d]")
	has("map[a:old c:1 e:mine f:mine]")
	if trusted, _, err := r.web.Trust(r.ctx); err != nil || trusted {
		t.Errorf("the service is trusted: %v", err)
	}
}

// An upgrade drops the bindings of endpoints that only the former charm had, so their spaces are not demanded any more; one in
// batches does that when it ends, because it may be reverted.
func TestAnUpgradeDropsBindings(t *testing.T) {
	r := rollWorld(t, 1)
	old := r.info("web/0").CharmURL
	for _, name := range []string{"db", "dmz"} {
		r.ok(r.st.Settings().Networks().AddSpace(r.ctx, name, nil))
	}
	wider := statetest.Charm(t, r.st, webCharm(", requires: {fresh: {interface: x}}"))
	upgrades := func(p state.SetCharmParams, unbound, bound, demanded string) {
		t.Helper()
		left, err := mustService(r.world, "web").SetCharm(r.ctx, p)
		r.ok(err)
		if fmt.Sprint(left.Unbound) != unbound {
			t.Errorf("unbound are %v, want %s", left.Unbound, unbound)
		}
		r.binds(bound, demanded)
	}
	batch := state.SetCharmParams{URL: old, Batch: 1, HealthTimeout: time.Minute}
	bound := map[string]string{"fresh": "db", "site": "dmz"}
	upgrades(state.SetCharmParams{URL: wider, Bindings: bound}, "[]", "map[:alpha fresh:db site:dmz]", "[db dmz]")
	r.upgrades("web/0")
	upgrades(state.SetCharmParams{URL: old}, "[fresh]", "map[:alpha site:dmz]", "[dmz]")
	upgrades(state.SetCharmParams{URL: wider}, "[]", "map[:alpha fresh:alpha site:dmz]", "[dmz]")
	upgrades(state.SetCharmParams{URL: wider, Bindings: bound}, "[]", "map[:alpha fresh:db site:dmz]", "[db dmz]")

	upgrades(batch, "[fresh]", "map[:alpha site:dmz]", "[db dmz]")
	r.tells("web/0")
	r.upgrades("web/0")
	back, err := r.web.RevertRollout(r.ctx, 0, 0)
	if r.ok(err); len(back.Unbound) > 0 {
		t.Errorf("the revert drops bindings of %v", back.Unbound)
	}
	r.tells("web/0")
	r.upgrades("web/0")
	r.tells("")
	r.ended()
	r.binds("map[:alpha fresh:db site:dmz]", "[db dmz]")

	r.ok(mustService(r.world, "web").Bind(r.ctx, map[string]string{"site": "alpha"}, false))
	upgrades(batch, "[fresh]", "map[:alpha site:alpha]", "[db]")
	r.tells("web/0")
	r.upgrades("web/0")
	r.tells("")
	r.ended()
	r.binds("map[:alpha site:alpha]", "[]")
}

// binds checks to which spaces the endpoints of the service are bound, and which spaces are demanded of a machine of it.
func (r *rolled) binds(bound, demanded string) {
	r.Helper()
	got, err := mustService(r.world, "web").Bindings(r.ctx)
	r.ok(err)
	machine, err := r.st.Machine(r.ctx, r.info("web/0").Machine)
	r.ok(err)
	spaces, err := machine.Spaces(r.ctx)
	r.ok(err)
	var names []string
	for _, s := range spaces.In {
		names = append(names, s.Name)
	}
	if fmt.Sprint(got) != bound || fmt.Sprint(names) != demanded {
		r.Errorf("the bindings are %v and demand %v, want %s and %s", got, names, bound, demanded)
	}
}

// A rollout that has stopped can be replaced by one to a charm that is fixed, and still be reverted to the charm before
// both; or by an upgrade of all units at once.
func TestAStoppedRolloutIsReplaced(t *testing.T) {
	r := rollWorld(t, 3)
	old := r.info("web/0").CharmURL
	first := r.rolls(1, "")
	r.tells("web/0")
	r.fails("web/0")
	fixed := statetest.Charm(t, r.st, webCharm(""))
	for _, batch := range []int{0, 1} {
		r.refused(r.setCharm(state.SetCharmParams{URL: fixed, Batch: batch, HealthTimeout: time.Minute}), entity.InUse,
			"its units are being upgraded in batches to charm")
	}
	r.ok(r.setCharm(state.SetCharmParams{URL: first, ForceUnits: true})) // the same charm: that is no other upgrade
	r.later(time.Minute)
	r.tells("")
	r.ok(r.setCharm(state.SetCharmParams{URL: fixed, Batch: 1, HealthTimeout: time.Minute, ForceUnits: true}))
	r.tells("web/0")
	if now := r.service(); now.Rollout.Former != old || now.CharmURL != fixed {
		t.Errorf("the service has %s, and the rollout is %+v", now.CharmURL, now.Rollout)
	}
	r.later(time.Minute)
	r.tells("web/0")
	r.stops("unit web/0 is not upgraded yet")
	r.ok(r.setCharm(state.SetCharmParams{URL: statetest.Charm(t, r.st, webCharm(""))}))
	if got := r.step(); got != "web/0 web/1 web/2" {
		t.Errorf("%q are told to run the last charm", got)
	}
	if r.service().Rollout != nil {
		t.Error("the rollout goes on")
	}
}

// What has the URL of a charm that is gone is refused, and not tried again and again, although the controller knows the charm.
func TestACharmThatIsGoneIsRefused(t *testing.T) {
	r := rollWorld(t, 2)
	old := r.info("web/0").CharmURL
	loses := func(url string) {
		r.ok(r.st.Write(t.Context(), "charms", func(c *mgo.Collection) error { return c.RemoveId(url) }))
	}
	url := r.rolls(1, "")
	r.tells("web/0")
	r.fails("web/0")
	loses(old)
	_, err := r.web.RevertRollout(r.ctx, 0, 0)
	r.refused(err, entity.NotFound, `cannot revert the upgrade of service "web": charm "`+old+`" not found`)
	if hint := entity.Hint(err); !strings.Contains(hint, "--resume") || !strings.Contains(hint, "--path") {
		t.Errorf("the hint is %q", hint)
	}
	// Its way out: another charm, for all units at once.
	r.later(time.Minute)
	r.tells("")
	fixed := statetest.Charm(t, r.st, webCharm(""))
	p := state.SetCharmParams{URL: fixed, Batch: 1, HealthTimeout: time.Minute, ForceUnits: true}
	r.refused(r.setCharm(p), entity.NotFound, `the upgrade could not be reverted: charm "`+old+`" not found`)
	p.Batch, p.HealthTimeout = 0, 0
	r.ok(r.setCharm(p))
	if got := r.step(); got != "web/0 web/1" {
		t.Errorf("%q are told to run the charm", got)
	}
	loses(url)
	r.refused(r.setCharm(state.SetCharmParams{URL: url}), entity.NotFound, `charm "`+url+`" not found`)
	_, err = r.st.AddService(r.ctx, state.AddServiceParams{Name: "other", CharmURL: url})
	r.refused(err, entity.NotFound, `charm "`+url+`" not found`)
	r.refused(r.unit("web/0").SetCharm(r.ctx, old), entity.NotFound, `charm "`+old+`" not found`)
}

func TestRolloutsThatAreRefused(t *testing.T) {
	r := rollWorld(t, 1)
	begin := func(more string, p state.SetCharmParams) error {
		p.URL = statetest.Charm(t, r.st, webCharm(more))
		if p.Batch == 0 {
			p.Batch, p.HealthTimeout = 1, time.Minute
		}
		return r.setCharm(p)
	}
	r.refused(begin("", state.SetCharmParams{Batch: -1}), entity.Invalid, "a batch has 1 to 100 units, not -1")
	r.refused(begin("", state.SetCharmParams{Batch: 101, HealthTimeout: time.Minute}), entity.Invalid, "a batch has 1 to 100 units")
	r.refused(begin("", state.SetCharmParams{Batch: 1}), entity.Invalid, "the health timeout must be 1s to")
	r.refused(begin("", state.SetCharmParams{Resources: map[string]string{"a": "b"}}), entity.Invalid, "a resource is for all units at once")
	r.refused(r.setCharm(state.SetCharmParams{URL: r.info("web/0").CharmURL, Batch: 1, HealthTimeout: time.Minute}), entity.Invalid,
		"its units have or get that charm already")
	const logs = ", storage: {logs: {type: filesystem, multiple: {range: %s}}}"
	r.refused(begin(fmt.Sprintf(logs, "0-2"), state.SetCharmParams{
		Storage: map[string]entity.StorageConstraints{"logs": {Count: 1}}}), entity.Invalid,
		`the upgrade could not be reverted: charm "local:jammy/web-0" has no store called "logs"`)
	r.ok(r.setCharm(state.SetCharmParams{URL: statetest.Charm(t, r.st, webCharm(fmt.Sprintf(logs, "0-2")))}))
	r.refused(begin(fmt.Sprintf(logs, "0-3"), state.SetCharmParams{}), entity.Invalid,
		`the upgrade could not be reverted: existing storage "logs" range contracted`)
	if r.service().Rollout != nil {
		t.Error("a rollout has begun")
	}
	r.upgrades("web/0")
	url := r.rolls(1, fmt.Sprintf(logs, "0-2"))
	r.refused(r.setCharm(state.SetCharmParams{URL: url, Storage: map[string]entity.StorageConstraints{"logs": {Count: 1}}}),
		entity.InUse, "its units are being upgraded in batches")
	// A service that is being destroyed has no rollout, and can have none.
	r.ok(r.web.Destroy(r.ctx, entity.Destruction{}))
	if r.service().Rollout != nil {
		t.Error("the rollout goes on")
	}
	r.refused(begin(fmt.Sprintf(logs, "0-2"), state.SetCharmParams{}), entity.NotAlive, "service is not alive")
}

// The units of a subordinate service have their turns whatever their principals are.
func TestSubordinatesAreUpgradedInBatches(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	s := w.deploy("logging", statetest.Logging, 0)
	rel := w.relate("mysql", "logging")
	old := s.CharmURL()
	for _, name := range []string{"mysql/0", "mysql/1"} {
		w.ok(w.started(name).EnterScope(w.ctx, rel.ID()))
	}
	for _, name := range []string{"logging/0", "logging/1"} {
		w.ok(w.started(name).SetCharm(w.ctx, old))
	}
	url := statetest.Charm(t, w.st, statetest.Logging)
	_, err := s.SetCharm(w.ctx, state.SetCharmParams{URL: url, Batch: 1, HealthTimeout: time.Minute})
	w.ok(err)
	_, err = s.AdvanceRollout(w.ctx, noneLost)
	w.ok(err)
	for name, want := range map[string]string{"logging/0": url, "logging/1": old} {
		if info, err := w.unit(name).Info(w.ctx); err != nil || info.ServiceCharmURL != want {
			t.Errorf("%s is told to run %s, %v; want %s", name, info.ServiceCharmURL, err, want)
		}
	}
}

func TestWatchRollouts(t *testing.T) {
	t.Parallel()
	r := rollWorld(t, 2)
	events, err := r.st.Watches().Rollouts(r.ctx)
	r.ok(err)
	if first := next(t, events); len(first) != 0 {
		t.Errorf("first event has %q, want nothing", first)
	}
	r.rolls(1, "")
	named(t, events, "web")
	due, err := r.st.Watches().Rollout(r.ctx, "web")
	r.ok(err)
	next(t, due)
	r.tells("web/0")
	next(t, due)
	r.fails("web/0")
	next(t, due)
	r.later(time.Minute)
	r.tells("")
	named(t, events, "web") // it has stopped
	r.ok(r.web.ResumeRollout(r.ctx, 0, 0))
	named(t, events, "web")
	_, err = r.web.RevertRollout(r.ctx, 0, 0)
	r.ok(err)
	named(t, events, "web")
}

// A service follows the channel of its charm: an upgrade in batches changes it, and its revert takes that back.
func TestARevertGoesBackToTheChannel(t *testing.T) {
	r := rollWorld(t, 2)
	stable, edge := &entity.CharmOrigin{ID: "1", Channel: "2/stable"}, &entity.CharmOrigin{ID: "1", Channel: "2/edge"}
	stored := func(revision int) string {
		url := charm.URL{Schema: "ch", Architecture: "amd64", Name: "web", Revision: revision}
		r.ok(statetest.StoredCharm(r.T, r.st, url, webCharm("")))
		return url.String()
	}
	follows := func(want *entity.CharmOrigin) {
		r.Helper()
		m, err := r.st.Status(r.ctx)
		r.ok(err)
		got, channel := mustService(r.world, "web").Origin(), ""
		if want != nil {
			channel = want.Channel
		}
		if (got == nil) != (want == nil) || got != nil && *got != *want || m.Services[0].Channel != channel {
			t.Errorf("it follows %v, want %v; its status says %q", got, want, m.Services[0].Channel)
		}
	}
	local, one, two := r.service().CharmURL, stored(1), stored(2)
	follows(nil)
	r.ok(r.setCharm(state.SetCharmParams{URL: one, Origin: stable, Batch: 1, HealthTimeout: time.Minute}))
	follows(stable)
	_, err := mustService(r.world, "web").RevertRollout(r.ctx, 0, 0)
	r.ok(err)
	follows(nil)
	ends := func(url string) { // all units have the charm
		for _, name := range []string{"web/0", "web/1"} {
			r.ok(r.unit(name).SetCharm(r.ctx, url))
			r.says(name, entity.StatusActive, "")
		}
		for range 3 {
			r.step()
		}
		r.ended()
	}
	ends(local)
	r.ok(r.setCharm(state.SetCharmParams{URL: one, Origin: stable}))
	ends(one)
	r.ok(r.setCharm(state.SetCharmParams{URL: two, Origin: edge, Batch: 1, HealthTimeout: time.Minute}))
	follows(edge)
	_, err = mustService(r.world, "web").RevertRollout(r.ctx, 0, 0)
	r.ok(err)
	follows(stable)
	ends(one)
	r.ok(r.setCharm(state.SetCharmParams{URL: one, Origin: edge})) // the same charm
	follows(edge)
	r.ok(r.setCharm(state.SetCharmParams{URL: two}))
	follows(edge)
	r.rolls(1, ", tags: [local]")
	follows(nil)
}
