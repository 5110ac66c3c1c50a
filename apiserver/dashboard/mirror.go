package dashboard

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"juju/apiserver/deltas"
	"juju/state/entity"
)

// A Mirror is what a model has, as its feed says. It shares the parts with the feed. It is safe for concurrent use.
type Mirror struct {
	mu       sync.RWMutex
	revision string
	parts    map[entity.PartKind]map[string]part // by their names
	units    map[string]map[string]bool          // names of units, by service
	changes  changes
	applied  uint64           // how many parts have changed
	began    string           // the revision of the last whole model
	touched  map[Topic]uint64 // the last change of each topic
	stirred  chan struct{}    // closed with the next change
}

// A part is a part of the model. The zero part is none.
type part struct{ entity.Part }

// name returns the name by which users know a part.
func (p part) name() string {
	switch {
	case p.Service != nil:
		return p.Service.Name
	case p.Remote != nil:
		return p.Remote.Name
	case p.Offer != nil:
		return p.Offer.Name
	case p.Relation != nil:
		return p.Relation.Key
	case p.Annotations != nil:
		return p.Annotations.Tag.String()
	case p.Task != nil:
		return p.Task.ID
	}
	return p.Key.ID
}

// life returns the life of a part; Alive for those that have none.
func (p part) life() entity.Life {
	switch {
	case p.Machine != nil:
		return p.Machine.Life
	case p.Service != nil:
		return p.Service.Life
	case p.Remote != nil:
		return p.Remote.Life
	case p.Offer != nil:
		return p.Offer.Life
	case p.Relation != nil:
		return p.Relation.Life
	case p.Unit != nil:
		return p.Unit.Life
	}
	return entity.Alive
}

func (p part) isDying() bool { return p.life() != entity.Alive }

// charm returns the URL of the charm that a service or a unit has; "" for other parts.
func (p part) charm() string {
	switch {
	case p.Service != nil:
		return p.Service.CharmURL
	case p.Unit != nil:
		return p.Unit.Charm
	}
	return ""
}

// A saying is a status of a part, and whose it is: "" for its own.
type saying struct {
	of string
	entity.Status
}

// statuses returns those of a part, the same number for each part of a kind.
func (p part) statuses() []saying {
	switch {
	case p.Machine != nil:
		return []saying{{"agent", p.Machine.Status}, {"instance", p.Machine.InstanceStatus}}
	case p.Service != nil:
		return []saying{{"", p.Service.Status}}
	case p.Remote != nil:
		return []saying{{"", p.Remote.Status}}
	case p.Unit != nil:
		return []saying{{"", p.Unit.Workload}, {"agent", p.Unit.Agent}}
	}
	return nil
}

// kindWords are what users call the kinds of parts.
var kindWords = map[entity.PartKind]string{entity.PartModel: "model", entity.PartCharm: "charm", entity.PartMachine: "machine",
	entity.PartService: "service", entity.PartRemote: "service of another model", entity.PartOffer: "offer", entity.PartRelation: "relation",
	entity.PartUnit: "unit", entity.PartAnnotations: "annotation", entity.PartTask: "task"}

// A Topic is a set of parts that a page shows: all of a kind ("unit"), one ("unit web/0"), the units of a service
// ("units-of web") or on a machine ("units-on 3"), or everything.
type Topic string

// Everything is the topic of all parts.
const Everything Topic = "everything"

// topics returns those that a part of a kind belongs to, which has a name. The zero part belongs to nothing else.
func (p part) topics(kind entity.PartKind, name string) []Topic {
	word := kindWords[kind]
	all := []Topic{Everything, Topic(word), Topic(word + " " + name)}
	if p.Unit != nil {
		all = append(all, Topic("units-of "+p.Unit.Service), Topic("units-on "+p.Unit.Machine))
	}
	return all
}

// ended returns the topics that end with a part.
func ended(kind entity.PartKind, name string) []Topic {
	of := map[entity.PartKind]Topic{entity.PartService: "units-of ", entity.PartMachine: "units-on "}
	return []Topic{Topic(kindWords[kind] + " " + name), of[kind] + Topic(name)}
}

// Version returns a text that is another one whenever a part of one of the topics has changed.
func (m *Mirror) Version(topics []Topic) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	text := m.began
	for _, t := range topics {
		text += fmt.Sprint("-", m.touched[t]) // 0 if there is none
	}
	return text
}

// NewMirror returns a mirror that has nothing yet.
func NewMirror() *Mirror {
	m := &Mirror{stirred: make(chan struct{})}
	m.clear()
	return m
}

func (m *Mirror) clear() {
	m.parts, m.units, m.touched = map[entity.PartKind]map[string]part{}, map[string]map[string]bool{}, map[Topic]uint64{}
}

// Revision returns how far the mirror is; "" before it has everything.
func (m *Mirror) Revision() string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.revision
}

// Changed returns a channel that is closed with the next change.
func (m *Mirror) Changed() <-chan struct{} {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.stirred
}

// Apply changes the mirror.
func (m *Mirror) Apply(news deltas.News) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if news.Whole {
		m.clear()
		m.began = news.Revision
	}
	for _, c := range news.Changes {
		m.set(part{c.Part}, c.Removed, news.Whole)
	}
	m.revision = news.Revision
	close(m.stirred)
	m.stirred = make(chan struct{})
}

// set sets a part, or removes it.
func (m *Mirror) set(p part, removed, whole bool) {
	kind, name := p.Key.Kind, p.name()
	if m.parts[kind] == nil {
		m.parts[kind] = map[string]part{}
	}
	was, known := m.parts[kind][name]
	m.applied++
	for _, t := range append(p.topics(kind, name), was.topics(kind, name)...) {
		m.touched[t] = m.applied
	}
	if removed {
		for _, t := range ended(kind, name) {
			delete(m.touched, t) // as if it had never changed
		}
	}
	m.changes.note(observed{was: was, now: p, known: known, removed: removed, whole: whole})
	if m.parts[kind][name] = p; removed {
		delete(m.parts[kind], name)
	}
	if p.Unit == nil {
		return
	}
	service := p.Unit.Service
	if m.units[service] == nil {
		m.units[service] = map[string]bool{}
	}
	if m.units[service][name] = true; removed {
		delete(m.units[service], name)
	}
	if len(m.units[service]) == 0 {
		delete(m.units, service)
	}
}

// sorted returns the parts of a kind by name, with numbers in them in their order.
func (m *Mirror) sorted(kind entity.PartKind) []part { return m.chosen(kind, maps.Keys(m.parts[kind])) }

// chosen returns the parts of a kind that have some names, as sorted does.
func (m *Mirror) chosen(kind entity.PartKind, names iter.Seq[string]) []part {
	var all []part
	for _, name := range slices.SortedFunc(names, entity.CompareNatural) {
		all = append(all, m.parts[kind][name])
	}
	return all
}

// namesOf returns the names of the parts of a kind that a function chooses.
func (m *Mirror) namesOf(kind entity.PartKind, which func(part) bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, p := range m.parts[kind] {
			if which(p) && !yield(name) {
				return
			}
		}
	}
}

// find returns a part.
func (m *Mirror) find(kind entity.PartKind, name string) (part, error) {
	p, ok := m.parts[kind][name]
	if !ok {
		return p, entity.Errorf(entity.NotFound, "there is no %s %s", kindWords[kind], entity.Named(name))
	}
	return p, nil
}

// part is find for those that don't hold mu.
func (m *Mirror) part(kind entity.PartKind, name string) (part, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.find(kind, name)
}
