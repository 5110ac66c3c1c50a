package dashboard

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"juju/apiserver/deltas"
	"juju/state/entity"
)

// A Mirror is what a model has, as its deltas say. It is safe for concurrent use.
type Mirror struct {
	mu       sync.RWMutex
	revision string
	parts    map[string]map[string]part // by the delta's kind and the part's key
	units    map[string]map[string]bool // names of units, by service
	changes  changes
	applied  uint64           // how many deltas
	began    string           // the revision of the last whole model
	touched  map[Topic]uint64 // the last delta of each topic
	stirred  chan struct{}    // closed with the next change
}

// A part is an entity as a delta describes it, with the fields that pages show.
type part struct {
	Name        string                   `json:"name"`
	ID          json.RawMessage          `json:"id"`
	Key         string                   `json:"key"`
	Tag         string                   `json:"tag"`
	Life        string                   `json:"life"`
	Charm       string                   `json:"charm-url"`
	Subordinate bool                     `json:"subordinate"`
	Exposed     bool                     `json:"exposed"`
	Status      status                   `json:"status"`
	Workload    status                   `json:"workload-status"`
	Agent       status                   `json:"agent-status"`
	Instance    status                   `json:"instance-status"`
	InstanceID  string                   `json:"instance-id"`
	Service     string                   `json:"application"`
	Principal   string                   `json:"principal"`
	Machine     string                   `json:"machine-id"`
	Address     string                   `json:"public-address"`
	Leader      bool                     `json:"leader"`
	Version     string                   `json:"workload-version"`
	Base        string                   `json:"base"`
	OfferName   string                   `json:"offer-name"`
	OfferURL    string                   `json:"offer-url"`
	Ports       []portRange              `json:"port-ranges"`
	Endpoints   []relationEnd            `json:"endpoints"`
	Annotations map[string]string        `json:"annotations"`
	Addresses   []struct{ Value string } `json:"addresses"`
	Container   string                   `json:"container-type"`
	Hardware    *hardware                `json:"hardware-characteristics"`
	MinUnits    int                      `json:"min-units"`
	Message     string                   `json:"message"` // of an action
	Receiver    string                   `json:"receiver"`
}

// Hardware is what a machine has; sizes are in MiB.
type hardware struct {
	Arch  string `json:"arch"`
	Mem   uint64 `json:"mem"`
	Disk  uint64 `json:"root-disk"`
	Cores uint64 `json:"cpu-cores"`
	Zone  string `json:"availability-zone"`
}

// A Topic is a set of parts that a page shows: all of a kind ("unit"), one ("unit web/0"), the units of a service
// ("units-of web") or on a machine ("units-on 3"), or everything.
type Topic string

// Everything is the topic of all parts.
const Everything Topic = "everything"

// topics returns those that a part belongs to.
func (p part) topics(kind, key string) []Topic {
	all := []Topic{Everything, Topic(kind), Topic(kind + " " + key)}
	if kind == "unit" {
		service, _, _ := strings.Cut(key, "/")
		all = append(all, Topic("units-of "+service), Topic("units-on "+p.Machine))
	}
	return all
}

// ended returns the topics that end with a part.
func ended(kind, key string) []Topic {
	of := map[string]Topic{"application": "units-of ", "machine": "units-on "}
	return []Topic{Topic(kind + " " + key), of[kind] + Topic(key)}
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

type status struct {
	Current string    `json:"current"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// UnmarshalJSON also reads a word alone, which the status of an action is.
func (s *status) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &s.Current)
	}
	type plain status
	return json.Unmarshal(text, (*plain)(s))
}

type portRange struct {
	From     int    `json:"from-port"`
	To       int    `json:"to-port"`
	Protocol string `json:"protocol"`
}

// String returns the ports as the CLI prints them.
func (p portRange) String() string {
	return entity.PortRange{From: p.From, To: p.To, Protocol: p.Protocol}.String()
}

type relationEnd struct {
	Service  string `json:"application-name"`
	Relation struct {
		Name, Role, Interface, Scope string
	} `json:"relation"`
}

// NewMirror returns a mirror that has nothing yet.
func NewMirror() *Mirror {
	m := &Mirror{stirred: make(chan struct{})}
	m.clear()
	return m
}

func (m *Mirror) clear() {
	m.parts, m.units, m.touched = map[string]map[string]part{}, map[string]map[string]bool{}, map[Topic]uint64{}
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
func (m *Mirror) Apply(news deltas.News) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if news.Whole {
		m.clear()
		m.began = news.Revision
	}
	for _, d := range news.Deltas {
		var p part
		if err := json.Unmarshal(d.Data, &p); err != nil {
			return fmt.Errorf("cannot read a delta of kind %q: %w", d.Kind, err)
		}
		m.set(d.Kind, p.key(d.Kind), p, d.Removed, news.Whole)
	}
	m.revision = news.Revision
	close(m.stirred)
	m.stirred = make(chan struct{})
	return nil
}

// set sets a part, or removes it.
func (m *Mirror) set(kind, key string, p part, removed, whole bool) {
	if m.parts[kind] == nil {
		m.parts[kind] = map[string]part{}
	}
	was, known := m.parts[kind][key]
	if removed {
		p = was // the delta names it only
	}
	m.applied++
	for _, t := range append(p.topics(kind, key), was.topics(kind, key)...) {
		m.touched[t] = m.applied
	}
	if removed {
		for _, t := range ended(kind, key) {
			delete(m.touched, t) // as if it had never changed
		}
	}
	m.changes.note(observed{kind: kind, key: key, was: was, now: p, known: known, removed: removed, whole: whole})
	if m.parts[kind][key] = p; removed {
		delete(m.parts[kind], key)
	}
	if kind != "unit" {
		return
	}
	service, _, _ := strings.Cut(key, "/")
	if m.units[service] == nil {
		m.units[service] = map[string]bool{}
	}
	if m.units[service][key] = true; removed {
		delete(m.units[service], key)
	}
	if len(m.units[service]) == 0 {
		delete(m.units, service)
	}
}

// key returns the key of a part among those of its kind.
func (p part) key(kind string) string {
	switch {
	case kind == "relation":
		return p.Key
	case kind == "annotation":
		return p.Tag
	case kind == "charm":
		return p.Charm
	case p.Name != "" && kind != "action":
		return p.Name
	case p.OfferName != "":
		return p.OfferName
	}
	return strings.Trim(string(p.ID), `"`)
}

// sorted returns the parts of a kind by name, with numbers in them in their order.
func (m *Mirror) sorted(kind string) []part { return m.chosen(kind, maps.Keys(m.parts[kind])) }

// chosen returns the parts of a kind that have some keys, as sorted does.
func (m *Mirror) chosen(kind string, keys iter.Seq[string]) []part {
	var all []part
	for _, key := range slices.SortedFunc(keys, entity.CompareNatural) {
		all = append(all, m.parts[kind][key])
	}
	return all
}

// keysOf returns the keys of the parts of a kind that a function chooses.
func (m *Mirror) keysOf(kind string, which func(part) bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key, p := range m.parts[kind] {
			if which(p) && !yield(key) {
				return
			}
		}
	}
}

// find returns a part.
func (m *Mirror) find(kind, key string) (part, error) {
	p, ok := m.parts[kind][key]
	if !ok {
		return p, entity.Errorf(entity.NotFound, "there is no %s %s", wordFor(kind), entity.Named(key))
	}
	return p, nil
}

// part is find for those that don't hold mu.
func (m *Mirror) part(kind, key string) (part, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.find(kind, key)
}
