package uniter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/hooks"
)

// An oracle watches the hooks of a unit and knows what charms are promised. It is written
// from the promises alone, and knows nothing of how the unit's agent keeps them.
type oracle struct {
	later bool     // the charm has all hooks of charm.LaterHooks
	wrong []string // promises that were broken
	log   []string // what the oracle has seen

	last      *ran // the hook that ran last, whose outcome may still be open
	begun     bool // a hook runs
	crashed   bool // the agent was killed or told to stop since last began: its success may be lost
	passed    bool // the user has skipped last
	installed bool
	configs   int // config-changed hooks that have succeeded
	started   bool
	stopped   bool
	removed   bool
	upgraded  bool    // upgrade-charm was last
	elected   int64   // the claim that leader-elected was about
	settings  []int64 // the versions that leader-settings-changed was about
	relations map[int]*seen
	forced    time.Time // when the unit was destroyed with force; no hook begins later
}

// ran is a run of a hook.
type ran struct {
	info   hooks.Info
	failed bool
}

// seen is what the charm was told of a relation.
type seen struct {
	created bool
	told    map[string]int64
	joined  string // its next hook is changed for this unit
	broken  bool
	removed bool // by force: nothing is promised any more
}

func newOracle() *oracle { return &oracle{relations: map[int]*seen{}} }

func (o *oracle) complain(format string, args ...any) {
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

func (o *oracle) note(format string, args ...any) {
	o.log = append(o.log, fmt.Sprintf(format, args...))
}

func (o *oracle) relation(id int) *seen {
	if o.relations[id] == nil {
		o.relations[id] = &seen{told: map[string]int64{}}
	}
	return o.relations[id]
}

// begin must be called when a hook begins, and end when it is over.
func (o *oracle) begin(info hooks.Info) {
	o.note("%s", info)
	if o.begun {
		o.complain("%s begins while %s runs", info, o.last.info)
	}
	if !o.forced.IsZero() && time.Now().After(o.forced) {
		o.complain("%s begins after the unit was destroyed with force", info)
	}
	o.conclude(&info)
	o.check(info)
	o.last, o.begun, o.crashed, o.passed = &ran{info: info}, true, false, false
}

func (o *oracle) end(failed bool) {
	o.begun, o.last.failed = false, failed
	if failed {
		o.note("  failed")
	}
}

// conclude decides what came of the last hook, once it is known which hook runs next; nil if
// none will.
func (o *oracle) conclude(next *hooks.Info) {
	last := o.last
	o.last = nil
	if last == nil {
		return
	}
	again := next != nil && next.Kind == last.info.Kind && next.RelationID == last.info.RelationID &&
		next.RemoteUnit == last.info.RemoteUnit
	removed := last.info.Kind.IsRelation() && o.relation(last.info.RelationID).removed
	switch {
	case removed:
	case o.crashed && again:
		// Killed before its end was recorded, and run again: it did not count.
	case last.failed && !o.passed && !o.crashed && !again && o.forced.IsZero():
		if next == nil {
			o.complain("%s has failed, and that is the end", last.info)
		} else {
			o.complain("%s has failed, but %s runs next", last.info, *next)
		}
	case last.failed && !o.passed:
	default:
		o.succeed(last.info)
	}
}

func (o *oracle) succeed(info hooks.Info) {
	o.upgraded = false
	switch info.Kind {
	case hooks.LeaderElected:
		o.elected = info.ChangeVersion
	case hooks.LeaderSettingsChanged:
		o.settings = append(o.settings, info.ChangeVersion)
	case hooks.Install:
		o.installed = true
	case hooks.ConfigChanged:
		o.configs++
	case hooks.Start:
		o.started = true
	case hooks.UpgradeCharm:
		o.upgraded = true
	case hooks.Stop:
		o.stopped = true
	case hooks.Remove:
		o.removed = true
	case hooks.RelationCreated:
		o.relation(info.RelationID).created = true
	case hooks.RelationJoined:
		r := o.relation(info.RelationID)
		r.told[info.RemoteUnit], r.joined = info.ChangeVersion, info.RemoteUnit
	case hooks.RelationChanged:
		r := o.relation(info.RelationID)
		r.told[info.RemoteUnit], r.joined = info.ChangeVersion, ""
	case hooks.RelationDeparted:
		delete(o.relation(info.RelationID).told, info.RemoteUnit)
	case hooks.RelationBroken:
		o.relation(info.RelationID).broken = true
	}
}

// check records which promises a hook breaks by running now.
func (o *oracle) check(info hooks.Info) {
	switch {
	case o.removed:
		o.complain("%s after remove", info)
	case o.stopped != (info.Kind == hooks.Remove):
		o.complain("%s when stop has run is %v", info, o.stopped)
	case slices.Contains([]hooks.Kind{hooks.RelationCreated, hooks.LeaderElected, hooks.LeaderSettingsChanged},
		info.Kind) &&
		o.installed && o.configs == 0:
	case !o.installed && info.Kind != hooks.Install:
		o.complain("%s before install", info)
	case o.installed && o.configs == 0 && info.Kind != hooks.ConfigChanged:
		o.complain("%s right after install", info)
	case o.configs > 0 && !o.started && info.Kind != hooks.Start && !(info.Kind == hooks.ConfigChanged && o.configs == 1):
		o.complain("%s right after the first config-changed", info)
	case o.upgraded && info.Kind != hooks.ConfigChanged:
		o.complain("%s right after upgrade-charm", info)
	}
	switch info.Kind {
	case hooks.UpdateStatus, hooks.Remove, hooks.RelationCreated, hooks.LeaderElected, hooks.LeaderSettingsChanged:
		if !o.later {
			o.complain("%s for a charm that does not have it", info)
		}
		if info.Kind == hooks.LeaderElected && info.ChangeVersion == o.elected {
			o.complain("%s again for claim %d", info, o.elected)
		}
		if n := len(o.settings); info.Kind == hooks.LeaderSettingsChanged && n > 0 && o.settings[n-1] == info.ChangeVersion {
			o.complain("%s again for version %d", info, info.ChangeVersion)
		}
	case hooks.Install:
		if o.installed {
			o.complain("install runs again")
		}
	case hooks.Start:
		if o.started {
			o.complain("start runs again")
		}
	case hooks.Stop:
		for id, r := range o.relations {
			if !r.broken && !r.removed {
				o.complain("stop before relation %d is broken", id)
			}
		}
	}
	if info.Kind.IsRelation() {
		o.checkRelation(info, o.relation(info.RelationID))
	}
}

func (o *oracle) checkRelation(info hooks.Info, r *seen) {
	_, member := r.told[info.RemoteUnit]
	switch {
	case r.removed: // the news may not have reached the unit
	case info.Kind == hooks.RelationCreated && (r.created || len(r.told) > 0):
		o.complain("%s, which has had hooks already", info)
	case info.Kind == hooks.RelationCreated:
	case o.later && info.Kind == hooks.RelationJoined && !r.created:
		o.complain("%s before created", info)
	case !o.started:
		o.complain("%s before start", info)
	case r.broken:
		o.complain("%s after broken", info)
	case r.joined != "" && (info.Kind != hooks.RelationChanged || info.RemoteUnit != r.joined):
		o.complain("%s right after %s has joined", info, r.joined)
	case info.Kind == hooks.RelationJoined && member:
		o.complain("%s, which has joined already", info)
	case (info.Kind == hooks.RelationChanged || info.Kind == hooks.RelationDeparted) && !member:
		o.complain("%s, which has not joined", info)
	case info.Kind == hooks.RelationBroken && len(r.told) > 0:
		o.complain("%s with members %v", info, slices.Sorted(maps.Keys(r.told)))
	}
}

// lost must be called when the machine is lost and the unit starts on another. The unit is in
// the scopes of these relations.
func (o *oracle) lost(scopes []int) {
	o.note("-- the machine is lost")
	*o = oracle{later: o.later, wrong: o.wrong, log: o.log, relations: map[int]*seen{}, forced: o.forced}
	for _, id := range scopes {
		o.relation(id)
	}
}

// buried must be called when the unit is Dead.
func (o *oracle) buried() {
	o.conclude(nil)
	switch {
	case !o.forced.IsZero() || !o.installed:
		return
	case !o.stopped:
		o.complain("the unit is dead, and stop has not run")
	case o.later && !o.removed:
		o.complain("the unit is dead, and remove has not run")
	}
	for id, r := range o.relations {
		if !r.broken && !r.removed {
			o.complain("the unit is dead, and relation %d is not broken", id)
		}
	}
}

func (o *oracle) String() string {
	return strings.Join(o.wrong, "\n") + "\nafter\n  " + strings.Join(o.log, "\n  ")
}
