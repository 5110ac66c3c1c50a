package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait/query"
	"juju/state/entity"
	"juju/state/entity/shell"
)

// A Condition is what a wait waits for.
type Condition struct {
	Names  []string          // of services, units and machines; none for the whole model
	Status entity.StatusWord // of services and units; "" for active
	Gone   bool              // wait until the named entities are removed
	// Query, if set, is awaited instead of a status: of the only name, or of the model. QueryText is how a user wrote it.
	Query     *query.Query
	QueryText string
	// Also are machines and units that are removed with the named ones. With Gone, they are awaited too, except those
	// that stay Alive and are not in emptied: machines that are destroyed once nothing is left on them.
	Also, emptied map[string]bool
	// Upgraded waits until the units run their service's charm, with any status.
	Upgraded bool
	// command is the destroy command that waits, without its arguments.
	command string
	// retried is set if the model's units retry failed hooks automatically.
	retried bool
	// before is the status that was read before, or nil: what it has, and a later one lacks, was removed.
	before *entity.ModelStatus
	// Relation is the relation whose removal is awaited, as given by the user. Names is then empty.
	Relation []string
	// Upgrading is the machine whose units are awaited to finish a step of the upgrade of its operating system. Names is then empty.
	Upgrading string
}

// advice returns the hint for a wait that timed out; m is the last status that was read, or nil.
func (u Condition) advice(m *entity.ModelStatus) string {
	what := strings.Join(u.Names, " ")
	if u.Relation != nil {
		what = RelationName(u.Relation)
	}
	switch {
	case u.Upgrading != "":
		return "To see why: juju explain " + u.Upgrading
	case u.command == "" && !u.Gone && u.Query == nil && m != nil && u.quiet(m).Name != "":
		quiet := u.quiet(m)
		return fmt.Sprintf("No hook is pending: the charm must set the status to %q, when something changes or in "+
			"update-status. To wait for its current status: juju wait-for %s --status %s",
			cmp.Or(u.Status, entity.StatusActive), quiet.Name,
			quiet.status.Status)
	case u.command == "":
		return "To see its status: juju status; to see its log: juju debug-log --no-tail"
	case len(u.Names) > 1:
		return fmt.Sprintf("To see why: juju explain; to finish without their agents: juju %s --force %s", u.command, what)
	}
	return fmt.Sprintf("To see why: juju explain %s; to finish without its agents: juju %s --force %s", what, u.command,
		strings.TrimPrefix(what, "relation "))
}

// afterInterrupt tells users what continues if they interrupt the wait.
func (u Condition) afterInterrupt() string {
	what := strings.Join(u.Names, " ")
	switch {
	case u.Upgrading != "":
		return fmt.Sprintf("The units of machine %s continue. To check them: juju show-machine %[1]s", u.Upgrading)
	case u.Relation != nil:
		return "Destruction of the relation continues. To check it: juju status --relations"
	case u.Gone && len(u.Names) == 1:
		return fmt.Sprintf("Destruction of %s continues. To check it: juju explain %[1]s; to wait again: "+
			"juju wait-for %[1]s --gone", what)
	case u.Gone:
		return fmt.Sprintf("Destruction of %s continues. To check it: juju explain; to wait again: "+
			"juju wait-for %[1]s --gone", what)
	}
	again := "juju wait-for"
	if what != "" {
		again += " " + what
	}
	if u.Status != "" {
		again += " --status " + string(u.Status)
	}
	if u.Query != nil {
		again += " --query " + shell.Word(u.QueryText)
	}
	return "The changes continue, and nothing is undone. To check them: juju status; to wait again: " + again
}

// Ended says that the condition is met, for those who have seen no tree of it. all is what it was about.
func (u Condition) Ended(s *cli.Session, all ...cli.Awaited) {
	if text := u.closing(all); text != "" {
		s.Note("%s", text)
	}
}

// closing says in a line that the condition is met; "" if its command says that.
func (u Condition) closing(all []cli.Awaited) string {
	word, names := "Settled", []string{}
	for _, a := range all {
		if !a.Late {
			names = append(names, fmt.Sprintf("%s (%s)", a.Name, a.Text))
		}
	}
	switch {
	case u.Upgrading != "":
		return ""
	case u.Query != nil:
		return fmt.Sprintf("True of %s: %s", cmp.Or(strings.Join(u.Names, " "), "the model"), u.QueryText)
	case u.Relation != nil:
		return "Removed: relation " + strings.TrimPrefix(RelationName(u.Relation), "relation ")
	case u.Gone:
		gone := slices.Concat(u.Names, slices.Collect(maps.Keys(u.Also)))
		slices.SortFunc(gone, entity.CompareNatural)
		word, names = "Removed", []string{}
		for _, name := range slices.Compact(gone) {
			if entity.IsValidMachine(name) {
				name = "machine " + name
			}
			names = append(names, name)
		}
	case u.Upgraded:
		word = "Upgraded"
	case len(names) == 0:
		return "The model has nothing to wait for."
	}
	return word + ": " + Some(names)
}

// quiet returns the first unit that does not meet the condition and has no hook pending.
func (u Condition) quiet(m *entity.ModelStatus) Entity {
	for _, t := range Entities(m) {
		if (u.has(t.Name) || u.has(t.Of)) && !u.meets(t) && t.idleSince() != "" {
			return t
		}
	}
	return Entity{}
}

// DefaultWait is the default time to wait.
const DefaultWait = 10 * time.Minute

// A Flag is the --wait flag.
type Flag struct{ Bound time.Duration }

func (w *Flag) Add(cmd *cobra.Command, what string) {
	cmd.Flags().DurationVar(&w.Bound, "wait", 0, "wait "+what+", for up to 10m, or up to TIME with --wait=TIME")
	cmd.Flags().Lookup("wait").NoOptDefVal = DefaultWait.String()
}

// Run waits if the flag was given.
func (w *Flag) Run(ctx context.Context, s *cli.Session, api StatusAPI, u Condition) error {
	if w.Bound == 0 {
		return nil
	}
	return Until(ctx, s, api, u, w.Bound)
}

// Until waits until the model meets the condition. It fails after bound, and at once if waiting can't help: if a hook
// has failed, which a user must resolve. It reconnects when the connection is lost.
func Until(ctx context.Context, s *cli.Session, api StatusAPI, u Condition, bound time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	s.WaitsFor("%s", u.afterInterrupt())
	var p *cli.Progress
	defer func() { p.Done() }()
	var own io.Closer // replaces a lost connection
	defer func() {
		if own != nil {
			own.Close()
		}
	}()
	changes := WatchChanges(bounded, api.WatchStatus, 0)
	var waiting pending
	var last *entity.ModelStatus
	for {
		m, err := api.Status(bounded)
		switch {
		case err == nil:
			u.before, last = last, m
			u.retried = false
			if waiting, err = u.waitsFor(m); err != nil {
				// The unit may retry its hook automatically.
				config, configErr := api.ModelConfig(bounded)
				if u.retried = configErr == nil && config.RetryHooks(); u.retried {
					waiting, err = u.waitsFor(m)
				}
			}
			if err == nil && waiting.text == "" {
				if p == nil && s.Draws() && len(waiting.all) > 0 {
					p = s.Await("", waiting.all) // as if it had waited
				}
				p.Await("", waiting.all)
				if p == nil || !s.Draws() { // no tree shows it
					p.Done()
					u.Ended(s, waiting.all...)
				}
			}
			if err != nil || waiting.text == "" {
				return err
			}
		case bounded.Err() != nil: // reported below
		case !errors.Is(err, entity.Unavailable):
			return err
		default:
			waiting.text = "the controller's response"
			again, err := s.Connect(bounded)
			if err != nil && bounded.Err() == nil {
				return err
			}
			if err == nil {
				if own != nil {
					own.Close()
				}
				own, api = again, again.(StatusAPI)
				changes = WatchChanges(bounded, api.WatchStatus, 0)
			}
		}
		if text := "Waiting for " + waiting.text; p == nil {
			p = s.Await(text, waiting.all)
		} else {
			p.Await(text, waiting.all)
		}
		changes.Next(bounded)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if bounded.Err() != nil {
			return entity.WithHint(fmt.Errorf("gave up after %v: still waiting for %s", bound,
				waiting.text), "%s", u.advice(last))
		}
	}
}

// Takes records what is removed with the named entities, from the model before they are destroyed: with machines, their
// containers and units; with units and services, the units' machines.
func (u *Condition) Takes(m *entity.ModelStatus) {
	u.Also, u.emptied = map[string]bool{}, map[string]bool{}
	for _, t := range Entities(m) {
		switch on := t.Machine; {
		case t.Kind == "unit" && on != "" && (u.has(t.Name) || u.has(t.Of)):
			u.Also[on], u.emptied[on] = true, true
		case t.Kind == "unit" && u.isOn(on):
			u.Also[t.Name] = true
		case t.Kind == "machine" && !u.has(t.Name) && u.isOn(t.Name):
			u.Also[t.Name] = true
		}
	}
}

// isOn reports whether a machine is a named one, or a container on one.
func (u *Condition) isOn(machine string) bool {
	return slices.ContainsFunc(u.Names, func(name string) bool {
		return machine == name || strings.HasPrefix(machine, name+"/") && entity.IsValidMachine(name)
	})
}

// Leaves records which machines are kept when their units are removed.
func (u *Condition) Leaves(left entity.MachinesLeft) {
	for _, id := range left.Machines {
		delete(u.emptied, id)
	}
	if left.Uncounted {
		clear(u.emptied) // some are kept, but it is not known which
	}
}

// isUsed reports whether something that is not awaited is on a machine.
func (u *Condition) isUsed(machine string, all []Entity) bool {
	return slices.ContainsFunc(all, func(t Entity) bool {
		return t.Kind == "unit" && t.Machine == machine && !u.has(t.Name) && !u.has(t.Of) ||
			t.Kind == "machine" && strings.HasPrefix(t.Name, machine+"/")
	})
}

// isRelation reports whether the user's words denote a relation, by its id, services or endpoints.
func isRelation(r entity.RelationStatus, words []string) bool {
	if len(words) == 1 {
		return words[0] == strconv.Itoa(r.ID)
	}
	return len(words) == len(r.Endpoints) && !slices.ContainsFunc(words, func(word string) bool {
		return !slices.ContainsFunc(r.Endpoints, func(e entity.EndpointStatus) bool {
			return word == e.Service || word == e.Service+":"+e.Name
		})
	})
}

// has reports whether the condition applies to the entity with that name.
func (u Condition) has(name string) bool { return len(u.Names) == 0 || u.names(name) }

// names reports whether a user named the entity.
func (u Condition) names(name string) bool {
	return slices.ContainsFunc(u.Names, func(pattern string) bool { return matches(pattern, name) })
}

// removed reports whether something that a pattern matches was there before.
func (u Condition) removed(pattern string) bool {
	return u.before != nil && slices.ContainsFunc(Entities(u.before), func(t Entity) bool {
		return matches(pattern, t.Name)
	})
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// An Entity is what waits need to know about an entity.
type Entity struct {
	Kind, Name string
	Of         string          // of a unit: its service
	Machine    string          // of a unit
	strength   entity.Strength // of a unit
	life       entity.Life
	status     entity.Status
	agent      entity.Status // of a unit
	resolved   bool          // of a unit: the user ran juju resolved
	own        bool          // of a service and its units: its status is not that of its units
	Upgrading  bool          // of a unit: it is Alive, and does not have the service's charm but is to get it
	held       bool          // of a unit: an upgrade in batches has not come to it
	// Rollout is a service's, and its units', upgrade in batches.
	Rollout *entity.Rollout
	host    string // of an awaited unit: what its machine does, until that has started
}

// Entities lists the entities of a status, units before their services, so that messages start with units.
func Entities(m *entity.ModelStatus) (all []Entity) {
	rollouts, said := map[string]*entity.Rollout{}, map[string][]entity.Status{}
	for _, u := range m.AllUnits() {
		said[entity.UnitService(u.Name)] = append(said[entity.UnitService(u.Name)], u.Workload)
	}
	own := map[string]bool{}
	for _, s := range m.Services {
		rollouts[s.Name] = s.Rollout
		if units := said[s.Name]; len(units) > 0 {
			own[s.Name] = s.Status.Status != entity.Worst(units).Status
		}
	}
	var add func(units []entity.UnitStatus)
	add = func(units []entity.UnitStatus) {
		for _, u := range units {
			rollout := rollouts[entity.UnitService(u.Name)]
			upgrading := u.CharmURL != "" && u.Life == entity.Alive && (rollout == nil || rollout.Stopped == "")
			all = append(all, Entity{"unit", u.Name, entity.UnitService(u.Name), u.Machine, u.Strength, u.Life, u.Workload,
				u.Agent, u.Resolved != entity.ResolvedNone, own[entity.UnitService(u.Name)], upgrading, rollout != nil && u.CharmURL != "" && !u.Turned, rollout, ""})
			add(u.Subordinates)
		}
	}
	for _, s := range m.Services {
		add(s.Units)
	}
	for _, s := range m.Services {
		all = append(all, Entity{Kind: "service", Name: s.Name, life: s.Life, status: s.Status, own: own[s.Name], Rollout: s.Rollout})
	}
	for _, one := range m.AllMachines() {
		all = append(all, Entity{Kind: "machine", Name: one.ID, life: one.Life, status: one.Status})
	}
	return all
}

// meets reports whether an entity meets the condition.
func (u Condition) meets(t Entity) bool {
	switch {
	case u.Upgraded:
		return t.Kind != "unit" && t.Rollout == nil || t.Kind == "unit" && t.settled()
	case t.Kind == "unit" && t.own && u.Status != "" && !u.names(t.Name):
		return t.settled() // the status is its service's
	}
	return t.is(u.Status)
}

// settled reports whether a unit has no pending hook, which might change its status.
func (t Entity) settled() bool {
	return t.agent.Status == entity.StatusIdle && !t.resolved && !t.Upgrading
}

// idleSince returns since when a unit's agent has been idle; "" if it is busy or waits for a user.
func (t Entity) idleSince() string {
	if t.Kind != "unit" || !t.settled() || t.life != entity.Alive || t.status.Status == entity.StatusError ||
		t.agent.Since.IsZero() {
		return ""
	}
	return t.agent.Since.UTC().Format(time.TimeOnly) + "Z"
}

// is reports whether the entity has the wanted status.
func (t Entity) is(want entity.StatusWord) bool {
	switch {
	case t.Kind == "machine":
		return t.status.Status == entity.StatusStarted
	case t.Kind == "unit" && t.agent.Status == entity.StatusLost && want == entity.StatusUnknown:
		return true // until its agent is back
	case t.Kind == "unit" && !t.settled():
		return false
	case t.Kind == "service" && t.Rollout != nil && want == "":
		return false // until it has ended
	case want == "":
		// A charm that never sets a status leaves it unknown.
		return t.status.Status == entity.StatusActive || t.status.Status == entity.StatusUnknown
	}
	return t.status.Status == want
}

// Failed returns an error if a user must act before the entity can continue. A failed hook that the user has resolved is
// not an error.
func (t Entity) Failed() error {
	if t.status.Status != entity.StatusError || t.Kind == "service" || t.resolved {
		return nil
	}
	err := fmt.Errorf("%s %s is in error: %s", t.Kind, t.Name, t.status.Explained())
	if t.Kind == "machine" {
		return entity.WithHint(err, "To retry once the cause is fixed: juju retry-provisioning %s", t.Name)
	}
	if t.Kind == "unit" && t.Upgrading && !t.held {
		return entity.WithHint(err, "It is upgraded once the error is resolved: juju resolved %s\n%s", t.Name,
			UpgradeAtOnce(t.Of))
	}
	if t.Kind == "unit" {
		return entity.WithHint(err, "To see why: juju debug-log --replay --no-tail -i unit-%s; to continue: juju resolved %s",
			strings.ReplaceAll(t.Name, "/", "-"), t.Name)
	}
	return err
}

// RelationName returns explain's arguments for the relation given by the arguments.
func RelationName(args []string) string {
	if len(args) == 1 {
		return "relation " + args[0]
	}
	return strings.Join(args, " ")
}

// UpgradeAtOnce is the hint for upgrading units in error.
func UpgradeAtOnce(service string) string {
	return fmt.Sprintf("To upgrade units in error at once: juju upgrade-charm %s --force-units, with the same --path, --switch "+
		"or --revision; the failed hook then runs from the new charm", service)
}
