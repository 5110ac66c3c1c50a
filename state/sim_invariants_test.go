package state_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
	"juju/state/simulationtest"
)

// A history is the last known life of each entity. Life, strength and deadline
// only ever move one way, and what is gone does not come back.
type history struct {
	last map[string]simulationtest.Life // machines, units by key, relations by number, services by key
	gone map[string]bool
}

func newHistory() *history {
	return &history{map[string]simulationtest.Life{}, map[string]bool{}}
}

// isReused reports whether another entity can have the name of one that is gone.
func isReused(key string) bool {
	kind, _, _ := strings.Cut(key, "#")
	return kind == "s" || kind == "rs" || kind == "o"
}

// check compares the current state with the last known one.
func (h *history) check(s *shadow) (wrong []string) {
	now := map[string]simulationtest.Life{}
	for _, c := range []struct{ collection, prefix string }{
		{"machines", "m#"}, {"units", "u#"}, {"services", "s#"}, {"storage", "st#"},
		{"remotes", "rs#"}, {"offers", "o#"}} {
		for id, d := range s.docs[c.collection] {
			now[c.prefix+id] = d.life()
		}
	}
	for _, r := range s.docs["relations"] {
		now[fmt.Sprintf("r#%d", r.Number)] = r.life()
	}
	for key, l := range now {
		was, known := h.last[key]
		back := l.Life < was.Life || l.Strength < was.Strength || was.Machines && !l.Machines ||
			was.WithStorage && !l.WithStorage ||
			was.Strength == entity.Force && was.Deadline.Before(l.Deadline)
		switch {
		case h.gone[key]:
			wrong = append(wrong, key+" was gone and is there again")
		case known && back && !(isReused(key) && l.Life == entity.Alive):
			wrong = append(wrong, fmt.Sprintf("%s went back from %s to %s", key, was, l))
		}
	}
	for key := range h.last {
		if _, there := now[key]; !there && !isReused(key) {
			h.gone[key] = true
		}
	}
	h.last = now
	return wrong
}

// check checks the invariants of a database: true counts, no dangling
// references, nothing that outlives its owner, and nothing ending with no actor
// to end it.
func (s *shadow) check() (wrong []string) {
	c := &checker{shadow: s, owned: map[string]map[string]bool{}, allowed: map[string]map[string]bool{},
		counts: map[string]map[string]int{}}
	c.machines()
	c.services()
	c.crossModel()
	c.relations()
	c.units()
	c.scopes()
	c.storage()
	c.tasks()
	c.hidden()
	c.compare()
	c.actors()
	return c.wrong
}

type checker struct {
	*shadow
	owned   map[string]map[string]bool // documents that must exist
	allowed map[string]map[string]bool // documents that can exist
	counts  map[string]map[string]int  // recounted
	wrong   []string
}

func (c *checker) complain(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// own says that documents must exist, because their owner does.
func (c *checker) own(collection string, ids ...string) {
	if c.owned[collection] == nil {
		c.owned[collection] = map[string]bool{}
	}
	for _, id := range ids {
		c.owned[collection][id] = true
	}
}

// may says that documents can exist, because their owner does.
func (c *checker) may(collection string, ids ...string) {
	if c.allowed[collection] == nil {
		c.allowed[collection] = map[string]bool{}
	}
	for _, id := range ids {
		c.allowed[collection][id] = true
	}
}

func (c *checker) begin(key string, names ...string) {
	c.counts[key] = map[string]int{}
	for _, n := range names {
		c.counts[key][n] = 0
	}
	c.own("counts", key)
}

func (c *checker) refer(from, key, name string) {
	if c.counts[key] == nil {
		c.complain("%s refers to %s, which is not there", from, key)
		return
	}
	c.counts[key][name]++
}

func (c *checker) forced(key string, d *simDoc) {
	if d.Strength == entity.Force {
		c.own("cleanups", "force-"+key)
		if done := c.docs["cleanups"]["force-"+key]; done != nil && !done.Deadline.Equal(d.Deadline) {
			c.complain("%s has the deadline %v, its cleanup %v", key, d.Deadline, done.Deadline)
		}
	}
}

func (c *checker) machines() {
	for id, m := range c.docs["machines"] {
		c.begin("m#"+id, "units", "alive-units", "containers", "storage")
		c.may("statuses", "m#"+id)
		c.may("constraints", "m#"+id)
		c.may("ports", id)
		c.may("credentials", entity.MachineTag(id).String())
		c.forced("m#"+id, m)
	}
	for id, m := range c.docs["machines"] {
		if m.Host == "" {
			continue
		}
		c.refer(id, "m#"+m.Host, "containers")
		if host := c.docs["machines"][m.Host]; host != nil && host.Life == entity.Dead {
			c.complain("container %s is on a dead machine", id)
		}
	}
}

func (c *checker) services() {
	for id, d := range c.docs["services"] {
		key := "s#" + id
		c.begin(key, "units", "relations", "offers")
		c.own("statuses", key)
		c.own("constraints", key)
		c.own("settings", key)
		c.may("leaders", id)
		c.forced(key, d)
		if d.Life == entity.Dead {
			c.complain("service %s is Dead, but not removed", id)
		}
	}
}

// crossModel checks offers, and services of other models.
func (c *checker) crossModel() {
	for id, d := range c.docs["remotes"] {
		key := "rs#" + id
		c.begin(key, "relations")
		c.own("statuses", key)
		c.forced(key, d)
		if d.Life == entity.Dead || c.docs["services"][id] != nil {
			c.complain("remote service %s is Dead, but not removed; or has the name of a service", id)
		}
	}
	for id, d := range c.docs["offers"] {
		key := "o#" + id
		c.begin(key, "connections")
		c.forced(key, d)
		if d.Life == entity.Dead {
			c.complain("offer %s is Dead, but not removed", id)
		}
		if d.Life == entity.Alive {
			c.refer(id, "s#"+d.Service, "offers")
		}
	}
}

func (c *checker) relations() {
	for key, r := range c.docs["relations"] {
		id := fmt.Sprintf("r#%d", r.Number)
		c.begin(id, "scopes")
		c.forced(id, r)
		if r.Life == entity.Dead {
			c.complain("relation %s is Dead, but not removed", key)
		}
		for _, e := range r.Endpoints {
			end := e.Service + "#" + key
			c.own("endpoints", end)
			switch {
			case e.Remote && r.Offer != "":
				c.refer(id, "o#"+r.Offer, "connections")
			case e.Remote:
				c.refer(id, "rs#"+e.Service, "relations")
			default:
				c.refer(id, "s#"+e.Service, "relations")
			}
			if d := c.docs["endpoints"][end]; d != nil && (d.Life != r.Life || d.Strength != r.Strength) {
				c.complain("endpoint %s is %s %s, its relation %s", end, d.Life, d.Strength, r.life())
			}
			if svc := cmp.Or(c.docs["services"][e.Service], c.docs["remotes"][e.Service]); svc != nil && svc.Life == entity.Dying && r.Life == entity.Alive {
				c.complain("relation %s of a Dying service is Alive", key)
			}
		}
	}
}

func (c *checker) units() {
	units := c.docs["units"]
	for id, u := range units {
		key := "u#" + id
		c.may("statuses", key, key+"#workload")
		c.may("settings", key+"#state")
		c.may("payloads", key)
		c.may("constraints", key)
		c.may("credentials", entity.UnitTag(id).String())
		c.forced(key, u)
		if u.Principal == "" {
			c.begin(key, "subordinates", "scopes", "attachments")
		} else {
			c.begin(key, "scopes", "attachments")
		}
	}
	beside := map[string]bool{}
	for id, u := range units {
		c.refer(id, "s#"+u.Service, "units")
		switch {
		case (u.Machine == "") == (u.Principal == ""):
			c.complain("unit %s is on machine %q and beside %q", id, u.Machine, u.Principal)
		case u.Machine != "":
			c.own("deployments", entity.MachineTag(u.Machine).String()+"#"+id)
			c.refer(id, "m#"+u.Machine, "units")
			if u.Life == entity.Alive {
				c.refer(id, "m#"+u.Machine, "alive-units")
			}
			if m := c.docs["machines"][u.Machine]; m != nil && m.Life == entity.Dead {
				c.complain("unit %s is on a dead machine", id)
			}
		default:
			c.own("deployments", entity.UnitTag(u.Principal).String()+"#"+id)
			c.refer(id, "u#"+u.Principal, "subordinates")
			if p := units[u.Principal]; p != nil && p.Life == entity.Dead {
				c.complain("unit %s is beside a dead one", id)
			}
			if two := u.Principal + " " + u.Service; u.Life == entity.Alive && beside[two] {
				c.complain("%s has two subordinates of %s", u.Principal, u.Service)
			} else if u.Life == entity.Alive {
				beside[two] = true
			}
		}
	}
	for id, p := range c.docs["ports"] {
		for _, open := range p.Ports {
			if units[open.Unit] == nil {
				c.complain("a port on machine %s is open for %s, which is gone", id, open.Unit)
			}
		}
	}
}

func (c *checker) scopes() {
	for id, d := range c.docs["scopes"] {
		n, _ := d.Relation.(int)
		c.own("scopes", id)
		c.refer(id, fmt.Sprintf("r#%d", n), "scopes")
		c.own("settings", fmt.Sprintf("r#%d#%s", n, d.Unit+d.Remote))
		if d.Remote != "" {
			continue
		}
		c.refer(id, "u#"+d.Unit, "scopes")
		if u := c.docs["units"][d.Unit]; u != nil && u.Life == entity.Dead {
			c.complain("dead unit %s is in relation %d", d.Unit, n)
		}
	}
	for id, d := range c.docs["settings"] {
		// A unit's settings in a relation last as long as the relation; then a
		// cleanup deletes them.
		if n, ok := d.Relation.(int); ok {
			if c.relation(n) == nil && c.docs["cleanups"][fmt.Sprintf("settings-r#%d", n)] == nil {
				c.complain("settings %s outlive their relation, and no cleanup deletes them", id)
			}
			c.own("settings", id)
		}
	}
	for id := range c.docs["statuses"] {
		if machine, ok := strings.CutSuffix(id, "#instance"); ok && c.counts[machine] != nil {
			c.own("statuses", id)
		}
	}
	for id, d := range c.docs["cleanups"] {
		if d.Kind != "force" {
			c.own("cleanups", id)
		}
	}
}

// storage checks instances and attachments. The count of an instance keeps it from having two.
func (c *checker) storage() {
	for id, d := range c.docs["storage"] {
		key := "st#" + id
		c.begin(key, "attachments")
		c.own("storage", id)
		c.may("statuses", key)
		c.forced(key, d)
		if d.Machine == "" {
			continue
		}
		c.refer(id, "m#"+d.Machine, "storage")
		if m := c.docs["machines"][d.Machine]; m != nil && m.Life == entity.Dead {
			c.complain("storage %s is on a dead machine", id)
		}
	}
	for id, d := range c.docs["attachments"] {
		key := "at#" + d.Unit + ":" + d.storage()
		c.begin(key)
		c.own("attachments", id)
		c.forced(key, d)
		c.refer(id, "u#"+d.Unit, "attachments")
		c.refer(id, "st#"+d.storage(), "attachments")
		if c.counts["st#"+d.storage()]["attachments"] > 1 {
			c.complain("storage %s is attached twice", d.storage())
		}
		if u := c.docs["units"][d.Unit]; u != nil && u.Life == entity.Dead {
			c.complain("dead unit %s has storage %s", d.Unit, d.storage())
		}
		if x := c.docs["storage"][d.storage()]; x != nil && x.Life == entity.Dead {
			c.complain("dead storage %s is attached to %s", d.storage(), d.Unit)
		}
	}
}

// tasks checks that tasks have an operation, operations have tasks, and what is to be done has a
// unit that does it.
func (c *checker) tasks() {
	for id, d := range c.docs["tasks"] {
		c.own("tasks", id)
		c.own("operations", d.Operation)
		over := entity.TaskStatus(d.Status).IsOver()
		if over != !d.Completed.IsZero() {
			c.complain("task %s is %s, completed %v", id, d.Status, d.Completed)
		}
		if c.docs["units"][d.Unit] == nil && !over && c.docs["cleanups"]["tasks-"+d.Unit] == nil {
			c.complain("task %s is %s, but its unit is gone", id, d.Status)
		}
	}
}

// compare compares what exists with what must.
func (c *checker) compare() {
	for _, collection := range simCollections {
		switch collection {
		case "machines", "units", "services", "remotes", "offers", "relations", "leftovers":
			continue
		}
		for id := range c.docs[collection] {
			if !c.owned[collection][id] && !c.allowed[collection][id] {
				c.complain("%s %q belongs to nothing that is there", collection, id)
			}
		}
		for id := range c.owned[collection] {
			if c.docs[collection][id] == nil {
				c.complain("%s %q is missing", collection, id)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.counts)) {
		doc := c.docs["counts"][key]
		if doc == nil {
			continue
		}
		for name, n := range c.counts[key] {
			if has, _ := doc.More[name].(int); has != n {
				c.complain("%s counts %d %s, there are %d", key, has, name, n)
			}
		}
	}
}

// actors checks that everything that is ending has an actor to end it.
func (c *checker) actors() {
	for id, d := range c.docs["services"] {
		if n := c.counts["s#"+id]; d.Life == entity.Dying && n["units"]+n["relations"]+n["offers"] == 0 {
			c.complain("service %s is Dying, but nothing refers to it", id)
		}
	}
	for id, d := range c.docs["remotes"] {
		if d.Life == entity.Dying && c.counts["rs#"+id]["relations"] == 0 {
			c.complain("remote service %s is Dying, but nothing refers to it", id)
		}
	}
	for id, d := range c.docs["offers"] {
		if d.Life == entity.Dying && c.counts["o#"+id]["connections"] == 0 {
			c.complain("offer %s is Dying, but no relation uses it", id)
		}
	}
	for key, r := range c.docs["relations"] {
		if r.Life == entity.Dying && c.counts[fmt.Sprintf("r#%d", r.Number)]["scopes"] == 0 {
			c.complain("relation %s is Dying, but its scope is empty", key)
		}
	}
}
