package wait

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A pending is what a condition still waits for.
type pending struct {
	text string        // names what does not meet the condition; "" if all does
	all  []cli.Awaited // all that the condition is about
	left []string
	busy map[string]bool // services with units, and whether one of these is awaited
}

// add adds an entity that the condition is about.
func (p *pending) add(t Entity, done bool) {
	if !done {
		p.left = append(p.left, t.Name+" ("+t.now()+")")
	}
	p.all = append(p.all, cli.Awaited{Name: t.label(), Text: t.shown(done), Done: done})
}

// addService adds a service. Where its units are shown, it is shown only once it alone was awaited, or if its own status is.
func (p *pending) addService(t Entity, done bool) {
	busy, units := p.busy[t.Name]
	p.add(t, done)
	p.all[len(p.all)-1].Late = units && (busy || done) && t.Rollout == nil && !t.own
}

// end returns it with its text.
func (p *pending) end() pending {
	p.text = Some(p.left)
	return *p
}

// waitsFor returns what does not meet the condition yet.
func (u Condition) waitsFor(m *entity.ModelStatus) (pending, error) {
	switch all := Entities(m); {
	case u.Query != nil:
		name := strings.Join(u.Names, "")
		if u.before != nil && u.Query.Lacks(m, name) && !u.Query.Lacks(u.before, name) {
			return pending{}, removed(name)
		}
		unmet := u.Query.Unmet(m, name)
		return pending{text: unmet, all: []cli.Awaited{{Text: cmp.Or(unmet, u.QueryText), Done: unmet == ""}}}, nil
	case u.Relation != nil:
		return u.relationLeft(m), nil
	case u.Upgrading != "":
		return u.upgradeLeft(m, all)
	case u.Gone:
		return u.remain(all)
	default:
		return u.unsettled(all)
	}
}

// remain returns what is not removed yet.
func (u Condition) remain(all []Entity) (pending, error) {
	var p pending
	for _, t := range all {
		named := u.has(t.Name)
		if u.Also[t.Name] && (t.life != entity.Alive || u.emptied[t.Name] && !u.isUsed(t.Name, all)) {
			p.add(t, false)
			continue
		}
		if !named && !u.has(t.Of) {
			continue
		}
		if named && t.life == entity.Alive {
			return p, entity.WithHint(fmt.Errorf("%s %s is not being destroyed", t.Kind, t.Name),
				"To destroy it: juju destroy-%s %s", t.Kind, t.Name)
		}
		p.add(t, false)
		// else its agent skips the hook
		err := t.Failed()
		if err == nil || t.strength != entity.Plain || u.retried && t.Kind == "unit" {
			continue
		}
		if t.Kind == "unit" {
			err = cli.AlsoHint(err, "To skip failed hooks: juju destroy-unit --lenient %s; to run no hooks, and leave behind "+
				"what they would remove: juju destroy-unit --force %[1]s", t.Name)
		}
		return p, err
	}
	return p.end(), nil
}

// unsettled returns what does not have the wanted status yet.
func (u Condition) unsettled(all []Entity) (pending, error) {
	p := pending{busy: map[string]bool{}}
	machines := map[string]Entity{}
	for _, t := range all {
		if t.Kind == "machine" {
			machines[t.Name] = t
		}
	}
	found := map[string]bool{}
	for _, t := range all {
		if !u.has(t.Name) && !u.has(t.Of) {
			continue
		}
		for _, name := range u.Names {
			if matches(name, t.Name) {
				found[name] = true
			}
		}
		if err := u.refuses(t, machines[t.Machine]); err != nil {
			return p, err
		}
		done := u.meets(t)
		t.own = t.own && u.Status != ""
		if t.Kind == "service" {
			p.addService(t, done)
			continue
		}
		if host, ok := machines[t.Machine]; ok && !done && host.status.Status != entity.StatusStarted {
			t.host = fmt.Sprintf("waiting for machine %s (%s)", host.Name, host.now())
		}
		p.busy[t.Of] = p.busy[t.Of] || !done
		p.add(t, done)
	}
	for _, name := range u.Names {
		if !found[name] && u.removed(name) {
			return p, removed(name)
		}
		if !found[name] {
			return p, entity.WithHint(entity.Errorf(entity.NotFound, "%q not found", name),
				"To see what is in the model: juju status")
		}
	}
	return p.end(), nil
}

// removed is the error for what was removed while its status was awaited.
func removed(name string) error {
	return entity.WithHint(entity.Errorf(entity.NotFound, "%s was removed", name),
		"To wait until something is removed: juju wait-for %s --gone", name)
}

// refuses returns an error if waiting for an entity can't help.
func (u Condition) refuses(t, host Entity) error {
	err := t.Failed()
	if (u.retried || t.Rollout != nil && t.Rollout.Stopped == "") && t.Kind == "unit" { // the error of one stops the upgrade after a while
		err = nil
	}
	if r, of := t.Rollout, cmp.Or(t.Of, t.Name); r != nil && r.Stopped != "" && u.Status == "" && u.has(of) {
		err = entity.WithHint(fmt.Errorf("the upgrade of service %s has stopped: %s", of, r.Stopped), "To %s",
			display.Line(r.Ways(of)))
	}
	if err == nil {
		err = host.Failed() // its units cannot start
	}
	if err != nil && u.Status != entity.StatusError {
		return err
	}
	if t.life != entity.Alive && len(u.Names) > 0 && u.has(t.Name) {
		return entity.WithHint(fmt.Errorf("%s %s is being destroyed", t.Kind, t.Name),
			"To wait until it is removed: juju wait-for %s --gone", t.Name)
	}
	return nil
}

// relationLeft returns the awaited relation, if it is still being destroyed.
func (u Condition) relationLeft(m *entity.ModelStatus) pending {
	var p pending
	for _, r := range m.Relations {
		if r.Life != entity.Alive && isRelation(r, u.Relation) {
			name := fmt.Sprintf("relation %q", r.Key)
			p.left = append(p.left, fmt.Sprintf("%s (%s)", name, r.Life))
			p.all = append(p.all, cli.Awaited{Name: name, Text: r.Life.String()})
		}
	}
	return p.end()
}

// upgradeLeft returns the units that have not finished the step of the machine's upgrade.
func (u Condition) upgradeLeft(m *entity.ModelStatus, all []Entity) (pending, error) {
	var p pending
	var waiting []string
	there := !u.removed(u.Upgrading)
	for _, one := range m.AllMachines() {
		there = there || one.ID == u.Upgrading
		if one.ID == u.Upgrading && one.Upgrade != nil {
			waiting = one.Upgrade.Waiting
		}
	}
	if !there {
		return p, entity.Errorf(entity.NotFound, "machine %s was removed", u.Upgrading)
	}
	for _, t := range all {
		if t.Kind != "unit" || t.Machine != u.Upgrading && !slices.Contains(waiting, t.Name) {
			continue
		}
		awaited := slices.Contains(waiting, t.Name)
		if err := t.Failed(); err != nil && awaited && !u.retried {
			return p, err
		}
		p.add(t, !awaited)
	}
	return p.end(), nil
}

// Some lists the first few.
func Some(all []string) string {
	const few = 4
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few-1], ", "), len(all)-few+1)
}

// label returns what names the entity beside entities of other kinds.
func (t Entity) label() string {
	if t.Kind == "machine" {
		return "machine " + t.Name
	}
	return t.Name
}

// shown returns what an entity does now, for a line of its own.
func (t Entity) shown(done bool) string {
	switch {
	case t.host != "":
		return t.host
	case done && t.status.Message != "" && (t.Kind != "service" || t.own):
		return string(t.status.Status) + ": " + t.status.Message
	case done:
		return string(t.status.Status)
	}
	return t.now()
}

// now returns the current status.
func (t Entity) now() string {
	text := string(t.status.Status)
	switch said := t.status.Message; {
	case t.Kind == "unit" && t.agent.Status != entity.StatusIdle && t.agent.Message != "":
		text = t.agent.Message
	case t.Kind == "unit" && t.agent.Status != entity.StatusIdle && t.agent.Status != entity.StatusAllocating:
		text = string(t.agent.Status)
	case t.held && t.Upgrading:
		text = "keeps its charm until its turn"
	case t.Upgrading:
		text = "charm upgrade pending"
	case t.Kind == "service" && t.Rollout != nil:
		text = "being upgraded in batches"
	case t.Kind == "service": // its message is one of its units'
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
	return text
}
