package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// An until is the condition that a wait ends with.
type until struct {
	names  []string          // of services, units and machines; none for the whole model
	status entity.StatusWord // of services and units; "" for active
	gone   bool              // wait until the named entities are gone
	// also are machines and units that go with the named ones: with gone, they are awaited too. What stays
	// Alive is not, unless it is one of emptied: machines that are destroyed once nothing is left on them.
	also, emptied map[string]bool
	// upgraded waits until the units run their service's charm, whatever status that sets.
	upgraded bool
	// command is the destroy command that waits, without its arguments.
	command string
	// retried is set if the model's units retry failed hooks by themselves.
	retried bool
	// relation is the relation whose end is awaited, in the user's words. names is then empty.
	relation []string
}

// advice returns the hint for a wait that timed out; m is the last status that was read, or nil.
func (u until) advice(m *entity.ModelStatus) string {
	what := strings.Join(u.names, " ")
	if u.relation != nil {
		what = relationName(u.relation)
	}
	switch {
	case u.command == "" && !u.gone && m != nil && u.quiet(m).name != "":
		quiet := u.quiet(m)
		return fmt.Sprintf("No hook is pending: the charm has to say %q, when something changes or in update-status. To wait "+
			"for what it says now: juju wait-for %s --status %s", cmp.Or(u.status, entity.StatusActive), quiet.name,
			quiet.status.Status)
	case u.command == "":
		return "To see its status: juju status; its log: juju debug-log --no-tail"
	case len(u.names) > 1:
		return fmt.Sprintf("To see why: juju explain; to finish without their agents: juju %s --force %s", u.command, what)
	}
	return fmt.Sprintf("To see why: juju explain %s; to finish without its agents: juju %s --force %s", what, u.command,
		strings.TrimPrefix(what, "relation "))
}

// goesOn returns what the controller does when the wait is interrupted.
func (u until) goesOn() string {
	what := strings.Join(u.names, " ")
	switch {
	case u.relation != nil:
		return "The controller goes on to destroy the relation. To look: juju status --relations"
	case u.gone && len(u.names) == 1:
		return fmt.Sprintf("The controller goes on to destroy %s. To look: juju explain %[1]s; to wait again: "+
			"juju wait-for %[1]s --gone", what)
	case u.gone:
		return fmt.Sprintf("The controller goes on to destroy %s. To look: juju explain; to wait again: "+
			"juju wait-for %[1]s --gone", what)
	}
	again := "juju wait-for"
	if what != "" {
		again += " " + what
	}
	if u.status != "" {
		again += " --status " + string(u.status)
	}
	return "The controller goes on, and nothing is undone. To look: juju status; to wait again: " + again
}

// quiet returns the first unit that does not meet the condition, and has no hook pending.
func (u until) quiet(m *entity.ModelStatus) waited {
	for _, t := range entities(m) {
		if (u.has(t.name) || u.has(t.of)) && !u.meets(t) && t.idleSince() != "" {
			return t
		}
	}
	return waited{}
}

// defaultWait is how long to wait if the user does not say.
const defaultWait = 10 * time.Minute

// A waitFlag is the flag --wait.
type waitFlag struct{ bound time.Duration }

func (w *waitFlag) flag(cmd *cobra.Command, what string) {
	cmd.Flags().DurationVar(&w.bound, "wait", 0, "wait "+what+", for up to 10m, or up to TIME with --wait=TIME")
	cmd.Flags().Lookup("wait").NoOptDefVal = defaultWait.String()
}

// run waits if the flag was given.
func (w *waitFlag) run(ctx context.Context, s *cli.Session, api statusAPI, u until) error {
	if w.bound == 0 {
		return nil
	}
	return waitUntil(ctx, s, api, u, w.bound)
}

// wait waits until the model meets the condition. It fails after the bound, and at once when
// waiting can't help: when a hook has failed, which a user has to resolve. It reconnects when
// the connection is lost.
func waitUntil(ctx context.Context, s *cli.Session, api statusAPI, u until, bound time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	s.WaitsFor("%s", u.goesOn())
	var p *cli.Progress
	defer func() { p.Done() }()
	var own io.Closer // replaces a lost connection
	defer func() {
		if own != nil {
			own.Close()
		}
	}()
	changes := watchChanges(bounded, api.WatchStatus, 0)
	waiting := ""
	var last *entity.ModelStatus
	for {
		m, err := api.Status(bounded)
		switch {
		case err == nil:
			last = m
			u.retried = false
			if waiting, err = u.waitsFor(m); err != nil {
				// The unit may retry its hook by itself.
				config, configErr := api.ModelConfig(bounded)
				if u.retried = configErr == nil && config.RetryHooks(); u.retried {
					waiting, err = u.waitsFor(m)
				}
			}
			if err != nil || waiting == "" {
				return err
			}
		case bounded.Err() != nil: // reported below
		case !errors.Is(err, entity.Unavailable):
			return err
		default:
			waiting = "the controller's answer"
			again, err := s.Connect(bounded)
			if err != nil && bounded.Err() == nil {
				return err
			}
			if err == nil {
				if own != nil {
					own.Close()
				}
				own, api = again, again.(statusAPI)
				changes = watchChanges(bounded, api.WatchStatus, 0)
			}
		}
		if p == nil {
			p = s.Progress("Waiting for %s", waiting)
		} else {
			p.Say("Waiting for %s", waiting)
		}
		changes.next(bounded)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if bounded.Err() != nil {
			return entity.WithHint(fmt.Errorf("gave up after %v: still waiting for %s", bound, waiting), "%s", u.advice(last))
		}
	}
}

// waitsFor returns which entities do not meet the condition yet, "" when all do.
func (u until) waitsFor(m *entity.ModelStatus) (string, error) {
	all := entities(m)
	if u.relation != nil {
		return u.relationLeft(m), nil
	}
	if u.gone {
		var left []string
		for _, t := range all {
			named := u.has(t.name)
			if u.also[t.name] && (t.life != entity.Alive || u.emptied[t.name] && !u.isUsed(t.name, all)) {
				left = append(left, t.name+t.now())
				continue
			}
			if !named && !u.has(t.of) {
				continue
			}
			if named && t.life == entity.Alive {
				return "", entity.WithHint(fmt.Errorf("%s %s is not being destroyed", t.kind, t.name),
					"Destroy it: juju destroy-%s %s", t.kind, t.name)
			}
			left = append(left, t.name+t.now())
			// else its agent skips the hook
			err := t.failed()
			if err == nil || t.strength != entity.Plain || u.retried && t.kind == "unit" {
				continue
			}
			if t.kind == "unit" {
				err = cli.AlsoHint(err, "To skip every hook that fails: juju destroy-unit --lenient %s; to run none, and leave behind "+
					"what they would remove: juju destroy-unit --force %[1]s", t.name)
			}
			return "", err
		}
		return some(left), nil
	}
	machines := map[string]waited{}
	for _, t := range all {
		if t.kind == "machine" {
			machines[t.name] = t
		}
	}
	found := map[string]bool{}
	var waiting []string
	for _, t := range all {
		if !u.has(t.name) && !u.has(t.of) {
			continue
		}
		for _, name := range u.names {
			if matches(name, t.name) {
				found[name] = true
			}
		}
		err := t.failed()
		if u.retried && t.kind == "unit" {
			err = nil
		}
		if host := machines[t.machine]; err == nil {
			err = host.failed() // its units cannot start
		}
		if err != nil && u.status != entity.StatusError {
			return "", err
		}
		if t.life != entity.Alive && len(u.names) > 0 && u.has(t.name) {
			return "", entity.WithHint(fmt.Errorf("%s %s is being destroyed", t.kind, t.name),
				"Wait until it is gone: juju wait-for %s --gone", t.name)
		}
		if !u.meets(t) {
			waiting = append(waiting, t.name+t.now())
		}
	}
	for _, name := range u.names {
		if !found[name] {
			return "", entity.WithHint(entity.Errorf(entity.NotFound, "%q not found", name),
				"To see what is in the model: juju status")
		}
	}
	return some(waiting), nil
}

// takes notes what goes with the named entities, as the model is before they are destroyed: with machines, their
// containers and the units there; with units and services, the machines of the units.
func (u *until) takes(m *entity.ModelStatus) {
	u.also, u.emptied = map[string]bool{}, map[string]bool{}
	for _, t := range entities(m) {
		switch on := t.machine; {
		case t.kind == "unit" && on != "" && (u.has(t.name) || u.has(t.of)):
			u.also[on], u.emptied[on] = true, true
		case t.kind == "unit" && u.isOn(on):
			u.also[t.name] = true
		case t.kind == "machine" && !u.has(t.name) && u.isOn(t.name):
			u.also[t.name] = true
		}
	}
}

// isOn reports whether a machine is one of those named, or a container on one.
func (u *until) isOn(machine string) bool {
	return slices.ContainsFunc(u.names, func(name string) bool {
		return machine == name || strings.HasPrefix(machine, name+"/") && entity.IsValidMachine(name)
	})
}

// leaves notes which machines stay when their units are gone.
func (u *until) leaves(left entity.MachinesLeft) {
	for _, id := range left.Machines {
		delete(u.emptied, id)
	}
	if left.Uncounted {
		clear(u.emptied) // some of them stay, and which is not known
	}
}

// isUsed reports whether something else than what is awaited is on a machine.
func (u *until) isUsed(machine string, all []waited) bool {
	return slices.ContainsFunc(all, func(t waited) bool {
		return t.kind == "unit" && t.machine == machine && !u.has(t.name) && !u.has(t.of) ||
			t.kind == "machine" && strings.HasPrefix(t.name, machine+"/")
	})
}

// relationLeft returns the awaited relation, if it is still being destroyed.
func (u until) relationLeft(m *entity.ModelStatus) string {
	var left []string
	for _, r := range m.Relations {
		if r.Life != entity.Alive && isRelation(r, u.relation) {
			left = append(left, fmt.Sprintf("relation %q (%s)", r.Key, r.Life))
		}
	}
	return some(left)
}

// isRelation reports whether the user's words name a relation: by its number, or by its
// services or endpoints.
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

// some lists the first few.
func some(all []string) string {
	const few = 4
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few-1], ", "), len(all)-few+1)
}

// has reports whether the condition is about the entity of that name.
func (u until) has(name string) bool {
	if len(u.names) == 0 {
		return true
	}
	for _, pattern := range u.names {
		if matches(pattern, name) {
			return true
		}
	}
	return false
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// A waited is one entity of a status, as far as waits are concerned.
type waited struct {
	kind, name string
	of         string          // of a unit: its service
	machine    string          // of a unit
	strength   entity.Strength // of a unit
	life       entity.Life
	status     entity.Status
	agent      entity.Status // of a unit
	resolved   bool          // of a unit: the user ran juju resolved
	upgrading  bool          // of a unit: it is Alive and has not the service's charm yet
	leads      bool          // of a unit
}

// entities lists the entities of a status, units before their services, so that a message
// begins with the units.
func entities(m *entity.ModelStatus) (all []waited) {
	var add func(units []entity.UnitStatus)
	add = func(units []entity.UnitStatus) {
		for _, u := range units {
			all = append(all, waited{"unit", u.Name, entity.UnitService(u.Name), u.Machine, u.Strength, u.Life, u.Workload,
				u.Agent, u.Resolved != entity.ResolvedNone, u.CharmURL != "" && u.Life == entity.Alive, u.Leader})
			add(u.Subordinates)
		}
	}
	for _, s := range m.Services {
		add(s.Units)
	}
	for _, s := range m.Services {
		all = append(all, waited{kind: "service", name: s.Name, life: s.Life, status: s.Status})
	}
	for _, one := range m.AllMachines() {
		all = append(all, waited{kind: "machine", name: one.ID, life: one.Life, status: one.Status})
	}
	return all
}

// meets reports whether an entity meets the condition.
func (u until) meets(t waited) bool {
	if u.upgraded {
		return t.kind != "unit" || t.settled()
	}
	return t.is(u.status)
}

// settled reports whether no hook of a unit is to run, which may change its status.
func (t waited) settled() bool {
	return t.agent.Status == entity.StatusIdle && !t.resolved && !t.upgrading
}

// idleSince says since when the agent of a unit has had nothing to do; "" if it has something to do
// or a user has.
func (t waited) idleSince() string {
	if t.kind != "unit" || !t.settled() || t.life != entity.Alive || t.status.Status == entity.StatusError ||
		t.agent.Since.IsZero() {
		return ""
	}
	return t.agent.Since.UTC().Format(time.TimeOnly) + "Z"
}

// is reports whether the entity has the wanted status.
func (t waited) is(want entity.StatusWord) bool {
	switch {
	case t.kind == "machine":
		return t.status.Status == entity.StatusStarted
	case t.kind == "unit" && t.agent.Status == entity.StatusLost && want == entity.StatusUnknown:
		return true // it stays so until its agent is back
	case t.kind == "unit" && !t.settled():
		return false
	case want == "":
		// A charm that never sets a status leaves it unknown.
		return t.status.Status == entity.StatusActive || t.status.Status == entity.StatusUnknown
	}
	return t.status.Status == want
}

// failed returns an error if a user has to act before the entity can go on. A failed hook that
// the user has resolved is no error: the agent will go on.
func (t waited) failed() error {
	if t.status.Status != entity.StatusError || t.kind == "service" || t.resolved {
		return nil
	}
	err := fmt.Errorf("%s %s is in error: %s", t.kind, t.name, t.status.Explained())
	if t.kind == "machine" {
		return entity.WithHint(err, "Fix the cause, then retry: juju retry-provisioning %s", t.name)
	}
	if t.kind == "unit" && t.upgrading {
		return entity.WithHint(err, "It keeps its old charm until that is resolved: juju resolved %s\n%s", t.name,
			upgradeAtOnce(t.of))
	}
	if t.kind == "unit" {
		return entity.WithHint(err, "To see why: juju debug-log --replay --no-tail -i unit-%s; then, to go on: juju resolved %s",
			strings.ReplaceAll(t.name, "/", "-"), t.name)
	}
	return err
}

// now returns the current status in parentheses.
func (t waited) now() string {
	text := string(t.status.Status)
	switch said := t.status.Message; {
	case t.kind == "unit" && t.agent.Status != entity.StatusIdle && t.agent.Message != "":
		text = t.agent.Message
	case t.kind == "unit" && t.agent.Status != entity.StatusIdle && t.agent.Status != entity.StatusAllocating:
		text = string(t.agent.Status)
	case t.upgrading:
		text = "its charm is to be upgraded"
	case t.kind == "service": // its message is that of one of its units
	case strings.HasPrefix(said, text): // "waiting for machine"
		text = said
	case said != "":
		text += ": " + said
	}
	if since := t.idleSince(); since != "" {
		text += "; idle since " + since + ", no hook is pending"
	}
	if t.life != entity.Alive {
		text = t.life.String() + ", " + text
	}
	return " (" + text + ")"
}

// relationName returns the words by which explain finds the relation that the arguments name.
func relationName(args []string) string {
	if len(args) == 1 {
		return "relation " + args[0]
	}
	return strings.Join(args, " ")
}
