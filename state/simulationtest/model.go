package simulationtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/state/entity"
)

// A Life is the state of an entity that can be destroyed.
type Life struct {
	Life     entity.Life
	Strength entity.Strength
	Deadline time.Time // of force
	Machines bool      // it is destroyed with machines
	// WithStorage is set if it is destroyed with storage.
	WithStorage bool
}

// A Machine is a machine, or a container on one.
type Machine struct {
	Life
	ID         string
	Host       *Machine // of a container
	Instance   bool
	Manager    bool
	Clean      bool // it has never had a unit or container
	ForUnits   bool // it was created for a unit, and is new or a container
	CloudErred bool // the cloud last reported an error for the instance
	DeadSince  time.Time
	Units      map[*Unit]bool
	Containers map[*Machine]bool
	Storage    map[*Storage]bool // on its disk

	wants []Destruction // still to be applied to the storage on its disk
}

// A Service is a service.
type Service struct {
	Life
	Name        string
	Subordinate bool
	Remote      bool // it is a service of another model
	Units       map[*Unit]bool
	Relations   map[*Relation]bool
	Charm       *Charm // that units should run; nil if it is Remote
	Forced      bool   // units in error are upgraded too
	Rollout     *Rollout
	Lead        Lead
}

// A Unit is a unit: a principal on a Machine, or a subordinate beside its
// Principal.
type Unit struct {
	Life
	Name      string
	Service   *Service
	Machine   *Machine
	Principal *Unit
	Started   bool // its agent has started
	Erred     bool // its workload's status is an error
	Resolved  bool
	// Maintained is set if the workload's status is maintenance; Busy, if the agent runs a hook.
	Maintained, Busy bool
	Charm            *Charm // that it runs, if any
	Turn             *Turn
	Subs             map[*Unit]bool
	Scopes           map[*Relation]bool
	Attached         map[*Attachment]bool
}

// A Relation is a relation. Both Ends of a peer relation are the same service. In may have units of another model, which are
// not in Model.Units.
type Relation struct {
	Life
	ID        int
	Key       string
	Ends      [2]*Service
	Container bool
	Interface string // of a peer relation
	In        map[*Unit]bool
	Offer     *Offer // that it uses, if any
	Suspended bool   // no unit may enter
}

func (r *Relation) isPeer() bool { return r.Ends[0] == r.Ends[1] }

// other returns the service at the other end.
func (r *Relation) other(s *Service) *Service {
	if r.Ends[0] == s {
		return r.Ends[1]
	}
	return r.Ends[0]
}

// A Model holds all entities, and the cleaner's debts.
type Model struct {
	Machines  map[string]*Machine
	Services  map[string]*Service
	Units     map[string]*Unit
	Relations map[int]*Relation
	Offers    map[string]*Offer
	Storage   map[string]*Storage
	Stores    Stores
	Tasks     map[string]*Task
	Secrets   map[string]*Secret // by ID
	Readers   map[string]*Reader
	// Given, if set, is called for each new unit, to add the storage that state gave it.
	Given     func(*Unit)
	Peer      func(key string) int // returns the id of a new peer relation
	Leftovers int
	Left      int // how many of the leftovers are filesystems to be destroyed
	Now       time.Time
	Released  bool // a user wants to keep the filesystems not yet destroyed
	Life      Life // of the model itself

	wants []Destruction // destructions still to be applied to everything in it

	owed []debt
	used map[string]bool // all ids ever used
	// Barred, if set, is called each time a reference blocks an entity, with the kinds of
	// both and the life or removal that was blocked.
	Barred  func(from, to, what string)
	lingers map[string]int // the IDs of secrets that have ended, of which something is left
	// Happened, if set, is called for each of UpgradeEvents and SecretEvents.
	Happened func(event string)
}

// New returns an empty model.
func New() *Model {
	return &Model{Machines: map[string]*Machine{}, Services: map[string]*Service{}, Units: map[string]*Unit{},
		Relations: map[int]*Relation{}, Offers: map[string]*Offer{}, Storage: map[string]*Storage{}, Tasks: map[string]*Task{}, used: map[string]bool{},
		Secrets: map[string]*Secret{}, Readers: map[string]*Reader{}, lingers: map[string]int{}}
}

// An Answer lists the kinds of error that a call may return; an empty one means success. If
// two reasons block a call, either kind is correct.
type Answer []entity.Kind

// Allows reports whether an error of this kind, "" for none, is correct.
func (a Answer) Allows(kind entity.Kind) bool {
	return len(a) == 0 && kind == "" || slices.Contains(a, kind)
}

func (m *Model) bar(from, to, what string) {
	if m.Barred != nil {
		m.Barred(from, to, what)
	}
}

func (u *Unit) kind() string {
	if u.Principal != nil {
		return "subordinate"
	}
	return "principal"
}

// fresh records a new id, and panics if it was used before.
func (m *Model) fresh(key string) {
	if m.used[key] {
		panic("id reused: " + key)
	}
	m.used[key] = true
}

// Used reports whether an id such as "m#0", "u#mysql/0" or "r#5" was ever used.
func (m *Model) Used(key string) bool { return m.used[key] }

// Use records an id, for entities adopted from state after concurrent actions.
func (m *Model) Use(key string) { m.used[key] = true }

// A Destruction is an entity.Destruction with its deadline.
type Destruction struct {
	Strength entity.Strength
	Deadline time.Time
	Machines bool // destroy units and services with their machines
	Storage  bool // destroy units, services and models with their storage
}

// alone returns the destruction for entities that take neither machines nor storage with
// them.
func (d Destruction) alone() Destruction {
	d.Machines, d.Storage = false, false
	return d
}

// Begin returns the destruction how, beginning now.
func (m *Model) Begin(how entity.Destruction) Destruction {
	d := Destruction{Strength: how.Strength, Machines: how.Machines, Storage: how.Storage}
	if how.Strength == entity.Force {
		d.Deadline = m.Now.Add(how.Timeout)
	}
	return d
}

// forced returns the destruction of everything that is removed with an entity whose deadline
// has passed.
func (m *Model) forced() Destruction { return Destruction{Strength: entity.Force, Deadline: m.Now} }

// raise applies d to a life: the strength never decreases, and the deadline never moves back.
// It reports whether anything changed.
func (l *Life) raise(d Destruction) bool {
	was := *l
	l.Strength = max(l.Strength, d.Strength)
	if d.Strength == entity.Force && (was.Strength != entity.Force || d.Deadline.Before(l.Deadline)) {
		l.Deadline = d.Deadline
	}
	l.Machines = l.Machines || d.Machines
	l.WithStorage = l.WithStorage || d.Storage
	return *l != was
}

func (l Life) due(now time.Time) bool { return l.Strength == entity.Force && !l.Deadline.After(now) }

func (l Life) String() string {
	text := fmt.Sprintf("%s %s", l.Life, l.Strength)
	if l.Strength == entity.Force {
		text = fmt.Sprintf("%s force@%d", l.Life, l.Deadline.UnixMilli())
	}
	if l.Machines {
		text += " with machines"
	}
	if l.WithStorage {
		text += " with storage"
	}
	return text
}

// sorted returns the keys of a set, sorted by name.
func sorted[K interface {
	comparable
	name() string
}](set map[K]bool) []K {
	return slices.SortedFunc(maps.Keys(set), func(a, b K) int { return cmp.Compare(a.name(), b.name()) })
}

// kind returns the kind of a service.
func (s *Service) kind() string {
	if s.Remote {
		return "remote service"
	}
	return "service"
}

// Key returns the key of a service in Facts.
func (s *Service) Key() string {
	if s.Remote {
		return "rs#" + s.Name
	}
	return "s#" + s.Name
}

func (m *Machine) name() string  { return m.ID }
func (u *Unit) name() string     { return u.Name }
func (s *Service) name() string  { return s.Name }
func (r *Relation) name() string { return fmt.Sprintf("%09d", r.ID) }

// Members returns the units of a service, by name.
func (s *Service) Members() []*Unit { return sorted(s.Units) }

// All returns the relations of a service, by id.
func (s *Service) All() []*Relation { return sorted(s.Relations) }

// Members returns the units of the services of a relation.
func (r *Relation) Members() []*Unit {
	if r.isPeer() {
		return r.Ends[0].Members()
	}
	return append(r.Ends[0].Members(), r.Ends[1].Members()...)
}

// Facts returns a line for each entity, by key: the expected contents of state.
func (m *Model) Facts() map[string]string {
	facts := map[string]string{}
	for _, x := range m.Machines {
		facts["m#"+x.ID] = MachineFact(x.Life, x.Instance, x.Manager, x.Clean, x.ForUnits)
	}
	for _, s := range m.Services {
		facts[s.Key()] = s.fact()
		if leader := s.Lead.fact(); leader != "" {
			facts["l#"+s.Name] = leader
		}
	}
	for _, o := range m.Offers {
		facts["o#"+o.Name] = fmt.Sprintf("%s of %s", o.Life, o.Service.Name)
	}
	for _, u := range m.Units {
		machine, principal := "", ""
		if u.Machine != nil {
			machine = u.Machine.ID
		}
		if u.Principal != nil {
			principal = u.Principal.Name
		}
		facts["u#"+u.Name] = UnitFact(u.Life, u.Service.Name, machine, principal, u.Started, u.Resolved) + u.charmFact()
	}
	for _, s := range m.Storage {
		machine := ""
		if s.Machine != nil {
			machine = s.Machine.ID
		}
		facts["st#"+s.ID] = StorageFact(s.Life, machine, s.Made, s.Kept)
		if a := s.Held; a != nil {
			facts["at#"+a.name()] = AttachmentFact(a.Life, a.There)
		}
	}
	for _, t := range m.Tasks {
		facts["t#"+t.ID] = TaskFact(t.Operation, t.Unit, t.Status, t.Completed)
	}
	for _, r := range m.Relations {
		var in []string
		for _, u := range sorted(r.In) {
			in = append(in, u.Name)
		}
		facts[fmt.Sprintf("r#%d", r.ID)] = RelationFact(r.Life, r.Suspended, r.Key, r.Interface, in)
	}
	m.hiddenFacts(facts)
	return facts
}

// MachineFact returns the line of a machine.
func MachineFact(l Life, instance, manager, clean, forUnits bool) string {
	return fmt.Sprintf("%s instance=%t manager=%t clean=%t for-units=%t", l, instance, manager, clean, forUnits)
}

// UnitFact returns the line of a unit.
func UnitFact(l Life, service, machine, principal string, started, resolved bool) string {
	return fmt.Sprintf("%s of %s on %q beside %q started=%t resolved=%t", l, service, machine, principal, started,
		resolved)
}

// RelationFact returns the line of a relation. peers is the interface of a peer relation; in lists the units in scope,
// sorted.
func RelationFact(l Life, suspended bool, key, peers string, in []string) string {
	return fmt.Sprintf("%s suspended=%t %s %s [%s]", l, suspended, key, peers, strings.Join(in, " "))
}
