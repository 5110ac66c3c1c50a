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

// A Secret is a secret of a service or of a unit, or of the model if it has neither.
type Secret struct {
	ID        string
	Service   *Service
	Unit      *Unit
	Label     string
	Latest    int
	Revisions map[int]*Revision
	Prunes    bool                 // revisions that nothing reads go at once
	Granted   map[string]*Relation // while which a service or unit may read it; nil as long as a user lets it

	Rotate     entity.RotatePolicy
	NextRotate time.Time
	Rotating   int // the revision whose rotation is due; 0 if it isn't
}

// A Revision is a revision of a secret.
type Revision struct {
	Sum     string    // of the content
	Expire  time.Time // that the owner has set
	Retry   time.Time // when the owner is told again
	Expired bool      // the owner is to be told
	Told    bool      // the owner knows that nothing reads it any more
}

// A Reader is what a unit reads of a secret, until the cleaner finds that one of them is gone.
type Reader struct {
	Unit                  *Unit
	Secret                string
	Label                 string
	Tracked, Latest, Told int
}

// secretEvents is all that can happen to secrets. The simulation counts how often each does.
var secretEvents = []string{"ends with its unit", "ends with its service", "was granted while a relation lasted", "was granted to a service that is gone",
	"was granted to a unit that is gone", "was read by a unit that is gone", "has a revision that nothing reads", "has such a revision removed at once",
	"has a revision removed that a unit reads", "has its content set again", "has content that it had", "is removed", "is due to rotate",
	"has a revision that expires", "is rotated in time", "is not rotated in time", "cannot have a label", "is not granted to what ends",
	"is shared with another model",
	"is refused to a former leader", "is made twice", "leaves its ID for a while", "is read under a name of the unit's"}

// SecretEvents returns the events of secrets.
func SecretEvents() (all []string) {
	for _, event := range secretEvents {
		all = append(all, "a secret "+event)
	}
	return all
}

func (m *Model) hides(event string) { m.happens("a secret " + event) }

// OfModel reports whether a secret belongs to the model.
func (x *Secret) OfModel() bool { return x.Service == nil && x.Unit == nil }

// owner returns who owns a secret.
func (x *Secret) owner() string {
	switch {
	case x.Unit != nil:
		return "unit " + x.Unit.Name
	case x.Service != nil:
		return "service " + x.Service.Name
	}
	return "the model"
}

// numbers returns the revisions of a secret that there are, in order.
func (x *Secret) numbers() []int { return slices.Sorted(maps.Keys(x.Revisions)) }

// Owns reports whether a secret is a unit's own or its service's.
func (u *Unit) Owns(x *Secret) bool { return x.Unit == u || x.Service == u.Service && x.Service != nil }

// MayRead reports whether a unit may read a secret.
func (u *Unit) MayRead(x *Secret) bool {
	_, asService := x.Granted[u.Service.Name]
	_, asUnit := x.Granted[u.Name]
	return u.Owns(x) || asService || asUnit
}

// Reader returns what a unit reads of a secret; nil if nothing.
func (m *Model) Reader(u *Unit, id string) *Reader { return m.Readers[u.Name+" "+id] }

// AddReader records what a unit reads of a secret.
func (m *Model) AddReader(r *Reader) { m.Readers[r.Unit.Name+" "+r.Secret] = r }

// readers returns how many units read a revision of a secret.
func (m *Model) readers(id string, revision int) (n int) {
	for _, r := range m.Readers {
		if r.Secret == id && r.Tracked == revision {
			n++
		}
	}
	return n
}

// IsObsolete reports whether there is a newer revision and nothing reads this one.
func (m *Model) IsObsolete(x *Secret, revision int) bool {
	return revision != x.Latest && m.readers(x.ID, revision) == 0
}

// prune removes what secrets do not keep, and forgets that owners know of revisions that are read again.
func (m *Model) prune() {
	for _, x := range m.Secrets {
		for n, r := range x.Revisions {
			switch obsolete := m.IsObsolete(x, n); {
			case obsolete && x.Prunes:
				m.hides("has such a revision removed at once")
				delete(x.Revisions, n)
			case !obsolete:
				r.Told = false
			}
		}
	}
}

// endSecret ends a secret. For a while, something is left of it.
func (m *Model) endSecret(x *Secret) {
	id := x.ID
	delete(m.Secrets, id)
	m.lingers[id]++
	m.owe(func() {
		maps.DeleteFunc(m.Readers, func(_ string, r *Reader) bool { return r.Secret == id })
		if m.lingers[id]--; m.lingers[id] == 0 {
			delete(m.lingers, id)
		}
	})
}

// endHiddenOf ends what a removed unit owns, reads and may read.
func (m *Model) endHiddenOf(u *Unit) {
	for _, x := range m.Secrets {
		if x.Unit == u {
			m.hides("ends with its unit")
			m.endSecret(x)
		}
		if _, granted := x.Granted[u.Name]; granted {
			m.hides("was granted to a unit that is gone")
			delete(x.Granted, u.Name)
		}
	}
	m.owe(func() {
		for key, r := range m.Readers {
			if r.Unit == u {
				m.hides("was read by a unit that is gone")
				delete(m.Readers, key)
			}
		}
		m.prune()
	})
}

// endHiddenIn ends what a removed service owns and may read.
func (m *Model) endHiddenIn(s *Service) {
	for _, x := range m.Secrets {
		if x.Service == s {
			m.hides("ends with its service")
			m.endSecret(x)
		}
		if _, granted := x.Granted[s.Name]; granted {
			m.hides("was granted to a service that is gone")
			delete(x.Granted, s.Name)
		}
	}
}

// endHiddenWhile ends what was granted while a removed relation lasted.
func (m *Model) endHiddenWhile(r *Relation) {
	for _, x := range m.Secrets {
		for name, while := range x.Granted {
			if while == r {
				m.hides("was granted while a relation lasted")
				delete(x.Granted, name)
			}
		}
	}
}

// Linger records that something is left of a secret that has ended.
func (m *Model) Linger(id string) { m.lingers[id]++ }

// Lingering returns the IDs of secrets that have ended, and of which something is left.
func (m *Model) Lingering() []string { return slices.Sorted(maps.Keys(m.lingers)) }

// Due lets owners know what is due now.
func (m *Model) Due() {
	over := func(t time.Time) bool { return !t.IsZero() && !t.After(m.Now) }
	for _, x := range m.Secrets {
		if x.Rotating == 0 && over(x.NextRotate) {
			m.hides("is due to rotate")
			x.Rotating = x.Latest
		}
		for _, r := range x.Revisions {
			if at := r.Retry; !r.Expired && (over(at) || at.IsZero() && over(r.Expire)) {
				m.hides("has a revision that expires")
				r.Expired = true
			}
		}
	}
}

// Told returns what a unit is to be told of secrets, in order. Of what belongs to its service the leader is told.
func (m *Model) Told(u *Unit) (events []entity.SecretEvent) {
	for _, id := range slices.Sorted(maps.Keys(m.Secrets)) {
		x, r := m.Secrets[id], m.Reader(u, id)
		if r == nil || r.Latest <= r.Told {
			continue
		}
		label := r.Label
		if u.Owns(x) {
			label = cmp.Or(label, x.Label)
		}
		events = append(events, entity.SecretEvent{Kind: entity.SecretChanged, ID: id, Revision: r.Latest, Label: label})
	}
	for _, id := range slices.Sorted(maps.Keys(m.Secrets)) {
		x := m.Secrets[id]
		if !u.Owns(x) {
			continue
		}
		tell := func(kind entity.SecretEventKind, revision int) {
			events = append(events, entity.SecretEvent{Kind: kind, ID: id, Revision: revision, Label: x.Label, OfService: x.Service != nil})
		}
		for _, n := range x.numbers() {
			switch r := x.Revisions[n]; {
			case r.Expired:
				tell(entity.SecretExpired, n)
			case m.IsObsolete(x, n) && !r.Told:
				tell(entity.SecretRemove, n)
			}
		}
		if x.Rotating > 0 {
			tell(entity.SecretRotate, x.Rotating)
		}
	}
	return events
}

// Read returns what a unit reads of a secret: the revision that it tracks, or the latest.
func (m *Model) Read(u *Unit, id string, latest bool) (revision int, sum string, why Answer) {
	x := m.Secrets[id]
	switch {
	case x == nil:
		return 0, "", Answer{entity.NotFound}
	case !u.MayRead(x):
		return 0, "", Answer{entity.Unauthorized}
	}
	revision = x.Latest
	if r := m.Reader(u, id); r != nil && !latest {
		revision = r.Tracked
	}
	r := x.Revisions[revision]
	if r == nil {
		return 0, "", Answer{entity.NotFound}
	}
	return revision, r.Sum, nil
}

// SecretFact returns the line of a secret. readers returns how many units read a revision, and whether it is obsolete.
func SecretFact(x *Secret, readers func(revision int) (n int, obsolete bool)) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%q of %s, latest %d, prunes=%t, %s at %s, due %d", x.Label, x.owner(), x.Latest, x.Prunes, x.Rotate, at(x.NextRotate), x.Rotating)
	for _, n := range x.numbers() {
		r := x.Revisions[n]
		read, obsolete := readers(n)
		fmt.Fprintf(&text, "; %d: %.8s for %d, obsolete=%t told=%t, ends at %s and %s due=%t", n, r.Sum, read, obsolete, r.Told, at(r.Expire), at(r.Retry), r.Expired)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Granted)) {
		text.WriteString("; for " + name)
		if while := x.Granted[name]; while != nil {
			fmt.Fprintf(&text, " in %d", while.ID)
		}
	}
	return text.String()
}

func at(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	return fmt.Sprint(t.UnixMilli())
}

// Fact returns the line of what a unit reads.
func (r *Reader) Fact() string {
	return fmt.Sprintf("%d of %d, told of %d, called %q", r.Tracked, r.Latest, r.Told, r.Label)
}

// Key returns the key of what a unit reads, in Facts.
func (r *Reader) Key() string { return "x#" + r.Secret + " of " + r.Unit.Name }

// hiddenFacts adds the lines of secrets and their readers.
func (m *Model) hiddenFacts(facts map[string]string) {
	for id, x := range m.Secrets {
		facts["x#"+id] = SecretFact(x, func(n int) (int, bool) { return m.readers(id, n), m.IsObsolete(x, n) })
	}
	for _, r := range m.Readers {
		facts[r.Key()] = r.Fact()
	}
}
