package dashboard

import (
	"net/url"
	"strconv"

	"juju/state/entity"
)

// A Topology is what a browser draws of a model.
type Topology struct {
	Revision string  `json:"revision"`
	Nodes    []*Node `json:"nodes"`
	Edges    []Edge  `json:"edges"`
}

// A Node is a service, or one of another model that is used here.
type Node struct {
	Name        string         `json:"name"`
	Remote      bool           `json:"remote,omitempty"`
	Subordinate bool           `json:"subordinate,omitempty"`
	Exposed     bool           `json:"exposed,omitempty"`
	Dying       bool           `json:"dying,omitempty"`
	Health      Health         `json:"health"`
	Units       int            `json:"units"`
	Counts      map[Health]int `json:"counts,omitempty"` // of units by health
	Message     string         `json:"message,omitempty"`
	// X and Y are where a user has put it, in the units of Juju's GUI; null if no one has.
	X *float64 `json:"x,omitempty"`
	Y *float64 `json:"y,omitempty"`
}

// An Edge is a relation of two services. Relations of peers are none.
type Edge struct {
	Key       string `json:"key"`
	From      string `json:"from"` // the requirer
	To        string `json:"to"`   // the provider
	FromEnd   string `json:"-"`    // "web:db"
	ToEnd     string `json:"-"`
	Interface string `json:"interface"`
	Label     string `json:"label"`
}

// other returns the service at the other end.
func (e Edge) other(service string) string {
	if e.From == service {
		return e.To
	}
	return e.From
}

// Health is how a unit or service is, in the four ways that people tell apart at a glance.
type Health string

const (
	Failing Health = "failing" // someone must act
	Working Health = "working" // it changes, or waits for others
	Healthy Health = "healthy"
	Unknown Health = "unknown" // it has not said, or its agent is lost
)

// healths says what statuses mean; of those that are not here, Unknown.
var healths = map[entity.StatusWord]Health{
	entity.StatusError: Failing, entity.StatusBlocked: Failing, entity.StatusFailed: Failing, entity.StatusDown: Failing,
	entity.StatusMissing: Failing, entity.StatusLost: Failing,
	entity.StatusMaintenance: Working, entity.StatusWaiting: Working, entity.StatusAllocating: Working, entity.StatusPending: Working,
	entity.StatusRebooting: Working, entity.StatusExecuting: Working,
	entity.StatusActive: Healthy, entity.StatusStarted: Healthy, entity.StatusIdle: Healthy, entity.StatusAvailable: Healthy,
}

func healthOf(s entity.StatusWord) Health {
	if h, known := healths[s]; known {
		return h
	}
	return Unknown
}

// healthOfUnit returns that of a unit: of what its agent says, if that is worse.
func healthOfUnit(u *entity.UnitPart) Health {
	if h := healthOf(u.Agent.Status); h == Failing {
		return h
	}
	return healthOf(u.Workload.Status)
}

// Positions are annotations of services, named as Juju's GUI named them.
const xKey, yKey = "gui-x", "gui-y"

func position(annotations map[string]string, key string) *float64 {
	if f, err := strconv.ParseFloat(annotations[key], 64); err == nil && f > -1e6 && f < 1e6 {
		return &f
	}
	return nil
}

// Position returns the annotations that a form stands for: a place, or with no coordinates that there is none.
func Position(form url.Values) (map[string]string, error) {
	x, y := form.Get("x"), form.Get("y")
	at := map[string]string{xKey: x, yKey: y}
	if x == "" && y == "" || position(at, xKey) != nil && position(at, yKey) != nil {
		return at, nil
	}
	return nil, entity.Errorf(entity.Invalid, "a place has two numbers")
}

// Topology returns the model's topology, and how far it is.
func (m *Mirror) Topology() Topology {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p := Topology{Revision: m.revision, Nodes: []*Node{}, Edges: []Edge{}}
	for _, one := range m.sorted(entity.PartService) {
		s := one.Service
		n := &Node{Name: s.Name, Subordinate: s.Subordinate, Exposed: s.Exposed, Dying: one.isDying(), Health: healthOf(s.Status.Status),
			Message: s.Status.Message, Counts: map[Health]int{}}
		for name := range m.units[s.Name] {
			n.Units++
			n.Counts[healthOfUnit(m.parts[entity.PartUnit][name].Unit)]++
		}
		if n.Counts[Failing] > 0 {
			n.Health = Failing
		}
		p.Nodes = append(p.Nodes, n)
	}
	for _, one := range m.sorted(entity.PartRemote) {
		r := one.Remote
		p.Nodes = append(p.Nodes, &Node{Name: r.Name, Remote: true, Dying: one.isDying(), Health: healthOf(r.Status.Status), Message: r.Status.Message})
	}
	for _, n := range p.Nodes {
		m.place(n)
	}
	p.Edges = append(p.Edges, m.edges(nil)...)
	return p
}

// edges returns the relations of two services that a function chooses, or with nil all.
func (m *Mirror) edges(which func(*entity.RelationStatus) bool) []Edge {
	var all []Edge
	for _, one := range m.chosen(entity.PartRelation, m.namesOf(entity.PartRelation, func(r part) bool {
		return len(r.Relation.Endpoints) == 2 && (which == nil || which(r.Relation))
	})) {
		r := one.Relation
		from, to := r.Endpoints[0], r.Endpoints[1]
		if from.Role == "provider" {
			from, to = to, from
		}
		all = append(all, Edge{Key: r.Key, From: from.Service, To: to.Service, Interface: r.Interface,
			FromEnd: from.Service + ":" + from.Name, ToEnd: to.Service + ":" + to.Name, Label: from.Name + " – " + to.Name})
	}
	return all
}

// place sets where a user has put a service.
func (m *Mirror) place(n *Node) {
	a := m.parts[entity.PartAnnotations][entity.ServiceTag(n.Name).String()].Annotations
	if a == nil {
		return
	}
	if x, y := position(a.Annotations, xKey), position(a.Annotations, yKey); x != nil && y != nil {
		n.X, n.Y = x, y
	}
}
