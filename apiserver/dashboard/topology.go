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

func healthOf(s status) Health {
	if h, known := healths[entity.StatusWord(s.Current)]; known {
		return h
	}
	return Unknown
}

// health returns that of a unit: of what its agent says, if that is worse.
func (p part) health() Health {
	if h := healthOf(p.Agent); h == Failing {
		return h
	}
	return healthOf(p.Workload)
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
	for _, s := range m.sorted("application") {
		n := &Node{Name: s.Name, Subordinate: s.Subordinate, Exposed: s.Exposed, Health: healthOf(s.Status), Message: s.Status.Message,
			Counts: map[Health]int{}}
		for name := range m.units[s.Name] {
			n.Units++
			n.Counts[m.parts["unit"][name].health()]++
		}
		if n.Counts[Failing] > 0 {
			n.Health = Failing
		}
		m.place(n, s)
		p.Nodes = append(p.Nodes, n)
	}
	for _, r := range m.sorted("remoteApplication") {
		n := &Node{Name: r.Name, Remote: true, Health: healthOf(r.Status), Message: r.Status.Message}
		m.place(n, r)
		p.Nodes = append(p.Nodes, n)
	}
	p.Edges = append(p.Edges, m.edges(nil)...)
	return p
}

// edges returns the relations of two services that a function chooses, or with nil all.
func (m *Mirror) edges(which func(part) bool) []Edge {
	var all []Edge
	for _, r := range m.chosen("relation", m.keysOf("relation", func(r part) bool {
		return len(r.Endpoints) == 2 && (which == nil || which(r))
	})) {
		from, to := r.Endpoints[0], r.Endpoints[1]
		if from.Relation.Role == "provider" {
			from, to = to, from
		}
		all = append(all, Edge{Key: r.Key, From: from.Service, To: to.Service, Interface: to.Relation.Interface,
			FromEnd: from.Service + ":" + from.Relation.Name, ToEnd: to.Service + ":" + to.Relation.Name,
			Label: from.Relation.Name + " – " + to.Relation.Name})
	}
	return all
}

// place sets what is the same of services here and elsewhere.
func (m *Mirror) place(n *Node, s part) {
	n.Dying = s.Life != "" && s.Life != entity.Alive.String()
	where := m.parts["annotation"]["application-"+s.Name].Annotations
	if x, y := position(where, xKey), position(where, yKey); x != nil && y != nil {
		n.X, n.Y = x, y
	}
}
