package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A world is where one or more cells of the matrix are tested: a few services with names of
// their own, and the entity to destroy. It is destroyed with growing strength until it is gone.
type world struct {
	*system
	outcome
	kind, obstacle string
	strengths      []entity.Strength

	prefix        string
	target        entity.Tag
	ends          []entity.Tag // must all be gone in the end
	relation      int
	other         other
	theirRelation int    // the other model's side of a relation across models
	machine       string // the victim's, or its principal's
	instance      string // its first instance
	next          string // the charm to which a service is upgraded in batches
	failed, first string // the unit whose upgrade failed, and the one that goes with the target
}

func (w *world) String() string {
	return fmt.Sprintf("%s: %s, %s, %v", w.prefix, w.kind, w.obstacle, w.strengths)
}

// charms are the URLs of the worlds' charms, by the role of the service and the hook that
// fails.
type charms map[[2]string]string

func newCharms(s *system) charms {
	all := charms{}
	for name, text := range metadata {
		all[[2]string{name, ""}] = statetest.Charm(s.T, s.st, text)
	}
	for _, f := range failing {
		if all[f] == "" {
			all[f] = statetest.Charm(s.T, s.st, metadata[f[0]], "hooks/"+f[1], "#!/bin/sh\nexit 1\n")
			if f[1] == "upgrade-charm" {
				all[[2]string{f[0], "next"}] = statetest.Charm(s.T, s.st, metadata[f[0]], "hooks/"+f[1], "#!/bin/sh\nexit 1\n")
			}
		}
	}
	return all
}

func (w *world) tell() string {
	var names []string
	for service, units := range w.units() {
		for i := range max(units, 1) {
			names = append(names, fmt.Sprintf("%s/%d", w.name(service), i))
		}
	}
	return fmt.Sprintf("%v: %s", w, w.history(w.st, names...))
}

func (w *world) name(service string) string { return w.prefix + service }

func (w *world) unit(service string) string { return w.name(service) + "/0" }

// build makes the world's services and the entity to destroy.
func (w *world) build(charms charms) {
	w.Helper()
	fails := failing[[2]string{w.kind, w.obstacle}]
	w.next = charms[[2]string{victim[w.kind], "next"}]
	for service, units := range w.units() {
		hook := ""
		if fails[0] == service {
			hook = fails[1]
		}
		var machines []string
		for i := range units {
			p := state.AddMachineParams{}
			if v := victim[w.kind]; i == 0 && (v == service || v == "sub" && w.obstacle == noStart) {
				switch w.obstacle {
				case neverCame:
					p.Placement.Directive = absent
				case noStart:
					p.Placement.Directive = "attic"
				}
			}
			m, err := w.st.AddMachine(w.ctx, p)
			w.ok(err)
			machines = append(machines, m.ID())
			if i == 0 && (service == victim[w.kind] || victim[w.kind] == "sub") {
				w.machine = m.ID()
			}
		}
		if service == "sub" && w.obstacle == neverCame && victim[w.kind] == "sub" {
			w.host.Hold(w.agentOf("sub"))
		}
		_, err := w.st.AddService(w.ctx,
			state.AddServiceParams{Name: w.name(service), CharmURL: charms[[2]string{service, hook}],
				Units: units, Placement: statetest.To(machines...)})
		w.ok(err)
	}
	var key string
	if w.isAcross() {
		w.connect()
		return
	}
	for _, other := range []string{"site", "sub"} {
		if _, ok := cast[w.kind][other]; ok {
			r, err := w.st.AddRelation(w.ctx, w.name("db"), w.name(other))
			w.ok(err)
			key, w.relation = r.Key(), r.ID()
		}
	}
	switch w.kind {
	case machine:
		w.target = entity.MachineTag(w.machine)
	case principal, viaPrincipal:
		w.target = entity.UnitTag(w.unit("db"))
	case service:
		w.target = entity.ServiceTag(w.name("db"))
	case peer:
		w.target = entity.ServiceTag(w.name("ring"))
	default:
		w.target = entity.RelationTag(key)
	}
	w.ends = []entity.Tag{w.target}
	if victim[w.kind] == "sub" {
		w.ends = append(w.ends, entity.UnitTag(w.unit("sub")))
	}
}

// agentOf matches the directory of the agent of a service's first unit.
func (w *world) agentOf(service string) func(dir string) bool {
	return func(dir string) bool { return filepath.Base(dir) == entity.UnitTag(w.unit(service)).String() }
}

// unready says what a world still waits for before it can get its obstacle.
func (w *world) unready(m *entity.ModelStatus) string {
	idle := map[string]bool{}
	var walk func([]entity.UnitStatus)
	walk = func(units []entity.UnitStatus) {
		for _, u := range units {
			idle[u.Name] = u.Agent.Status == entity.StatusIdle
			walk(u.Subordinates)
		}
	}
	for _, svc := range m.Services {
		if strings.TrimRight(svc.Name, "abcdefghijklmnopqrstuvwxyz") == w.prefix {
			walk(svc.Units)
		}
	}
	for service, units := range w.units() {
		for i := range max(units, 1) {
			name := fmt.Sprintf("%s/%d", w.name(service), i)
			is, there := idle[name]
			dead := i == 0 && (service == victim[w.kind] || service == "sub" && w.kind == container) &&
				(w.obstacle == neverCame || w.obstacle == noStart)
			switch {
			case dead && units == 0 && victim[w.kind] == "sub" && !there:
				return "no " + name
			case !dead && !is:
				return name + " is not idle"
			}
		}
	}
	at := slices.IndexFunc(m.Machines, func(m entity.MachineStatus) bool { return m.ID == w.machine })
	if w.instance = m.Machines[at].InstanceID; w.instance == "" &&
		(w.obstacle != noStart || m.Machines[at].Status.Status != entity.StatusError) {
		return "machine " + w.machine + " is not started"
	}
	if w.isAcross() {
		return w.unconnected()
	}
	return ""
}

// obstruct adds the obstacle, unless the world was built with it.
func (w *world) obstruct() {
	w.Helper()
	switch w.obstacle {
	case unitHeld, rollFailed, rollReverts:
		w.roll()
	case agentGone:
		if w.kind == machine {
			home := w.home(w.st, w.machine)
			w.host.Hold(func(dir string) bool { return strings.HasPrefix(dir, home) })
		} else {
			w.host.Hold(w.agentOf(victim[w.kind]))
		}
	case machineLost:
		w.cloud.Lose(w.instance)
	case noStop:
		w.cloud.Jam(w.instance)
	case neighbour:
		if w.isAcross() {
			w.endTheirs()
		} else if name, isUnit := strings.CutSuffix(dying[w.kind], "/0"); isUnit {
			w.ok(w.end(entity.UnitTag(w.unit(name)), entity.Plain))
		} else {
			w.ok(w.end(entity.ServiceTag(w.name(name)), entity.Plain))
		}
	}
}

// unobstructed says what is still missing of an obstacle.
func (w *world) unobstructed() string {
	if isRolling(w.obstacle) {
		return w.unrolled()
	}
	if w.obstacle != neighbour {
		return ""
	}
	st, name := w.st, w.unit(strings.TrimSuffix(dying[w.kind], "/0"))
	if w.isAcross() {
		st, name = w.other.st, w.theirs()+"/0"
	}
	u, err := st.Unit(w.ctx, name)
	w.ok(err)
	status, err := u.Status(w.ctx)
	w.ok(err)
	if status.Status != entity.StatusError {
		return u.Name() + " has not failed"
	}
	return ""
}

// destroy destroys the target. Without force, a machine's unit must go first.
func (w *world) destroy(strength entity.Strength) {
	w.Helper()
	if w.kind == machine && strength < entity.Force {
		if err := w.end(entity.UnitTag(cmp.Or(w.first, w.unit("db"))), entity.Plain); !errors.Is(err, entity.NotFound) {
			w.ok(err)
		}
	}
	if w.kind == offered && strength == entity.Force { // the offer takes the relation with it
		w.ends = []entity.Tag{entity.OfferTag(w.name("far") + "-offer"), w.ends[len(w.ends)-1]}
	}
	// If a weaker destruction has removed the target, go on with what it was to take with it.
	for _, tag := range w.ends {
		err := w.end(tag, strength)
		if !errors.Is(err, entity.NotFound) {
			w.ok(err)
			return
		}
	}
}

func (w *world) end(tag entity.Tag, strength entity.Strength) error {
	thing, err := w.find(tag)
	if err != nil {
		return err
	}
	return thing.Destroy(w.ctx, entity.Destruction{Strength: strength, Timeout: forceTimeout})
}

// find reads an entity of the world.
func (w *world) find(tag entity.Tag) (thing interface {
	Destroy(context.Context, entity.Destruction) error
}, err error) {
	switch tag.Kind {
	case entity.KindMachine:
		return w.st.Machine(w.ctx, tag.ID)
	case entity.KindUnit:
		return w.st.Unit(w.ctx, tag.ID)
	case entity.KindService:
		if w.kind == remote {
			return w.st.CrossModel().Remote(w.ctx, tag.ID)
		}
		return w.st.Service(w.ctx, tag.ID)
	case entity.KindOffer:
		return w.st.CrossModel().Offer(w.ctx, tag.ID)
	}
	return w.st.RelationByID(w.ctx, w.relation)
}

// unended says what is still missing after a destruction with a strength.
func (w *world) unended(strength entity.Strength) string {
	w.Helper()
	if strength < w.outcome.ends {
		return w.unexplained()
	}
	for _, tag := range w.ends {
		if _, err := w.find(tag); !errors.Is(err, entity.NotFound) {
			e, eerr := w.st.Explainer().Explain(w.ctx, tag)
			return fmt.Sprintf("%s is there (%v): %+v, %v", tag, err, e.Reasons, eerr)
		}
	}
	if w.obstacle == noStop {
		return w.leftover()
	}
	return w.unkept()
}

// unexplained says what is missing from the explanation of what is still there.
func (w *world) unexplained() string {
	w.Helper()
	of, by := entity.UnitTag(cmp.Or(w.failed, w.unit(w.culprit))), w.by
	if w.culprit == "machine" {
		of = w.target
	}
	if by == culpritAgent {
		by = of.String()
	}
	var e entity.Explanation
	err := error(entity.NotFound)
	for _, tag := range w.ends {
		if e, err = w.st.Explainer().Explain(w.ctx, tag); !errors.Is(err, entity.NotFound) {
			break
		}
	}
	if errors.Is(err, entity.NotFound) {
		w.Errorf("%v: all is gone although something is in the way", w)
		return ""
	}
	w.ok(err)
	if !slices.ContainsFunc(e.Reasons, func(r entity.Reason) bool { return r.Of == of.String() && r.By == by }) {
		return fmt.Sprintf("its explanation does not say that %s must act on %s: %+v", by, of, e.Reasons)
	}
	return ""
}

// leftover follows the hint about what the cloud has kept, and says what is missing until
// nothing is left.
func (w *world) leftover() string {
	w.Helper()
	leftovers, err := w.st.Provisioning().Leftovers(w.ctx)
	w.ok(err)
	if w.instance != "" {
		at := slices.IndexFunc(leftovers, func(r entity.Leftover) bool { return r.Instance == w.instance })
		if at < 0 {
			w.Errorf("%v: nothing says that %s is left: %v", w, w.instance, leftovers)
			return ""
		}
		r := leftovers[at]
		id, ok := strings.CutPrefix(r.How, "Remove from the cloud what is left of: ")
		if r.What != fmt.Sprintf("instance %s of machine %s", w.instance, w.machine) || r.Where != "cloud dummy" ||
			r.Why != "instance "+w.instance+" does not stop" || !ok || !w.cloud.Lose(id) {
			w.Errorf("%v: of what is left it is said: %+v", w, r)
			return ""
		}
		w.instance = ""
	}
	if slices.ContainsFunc(leftovers, func(r entity.Leftover) bool { return r.Of == "m#"+w.machine }) {
		return "what is gone is still called left"
	}
	return ""
}
