package entity

import (
	"fmt"
	"time"
)

// A Strength says which parts of an orderly shutdown the destruction of an entity may skip. It never
// decreases: destroying a Dying entity again with more strength gets a stuck destruction going.
type Strength uint8

// The strengths. Each applies to everything that is destroyed together with the entity.
const (
	Plain   Strength = iota // everything runs; a failed hook blocks until it is resolved
	Lenient                 // a failed hook is skipped
	Force                   // no more hooks; the controller does what the agents don't
)

var strengthNames = [...]string{"plain", "lenient", "force"}

// String returns "plain", "lenient" or "force".
func (s Strength) String() string {
	if int(s) < len(strengthNames) {
		return strengthNames[s]
	}
	return fmt.Sprintf("strength(%d)", uint8(s))
}

// MarshalText returns the form used on the wire, which is that of String.
func (s Strength) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the form that String returns; anything else is Invalid.
func (s *Strength) UnmarshalText(text []byte) error {
	for i, name := range strengthNames {
		if name == string(text) {
			*s = Strength(i)
			return nil
		}
	}
	return Errorf(Invalid, "invalid strength %q", text)
}

// A Destruction is how to destroy an entity; the zero value is plain.
type Destruction struct {
	Strength Strength `json:"strength,omitempty"`
	// Timeout is how long force waits for the agents before the controller does their part; 0 doesn't
	// wait. It is ignored with less strength.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Machines, for units and services, also destroys each machine that deploy or add-unit created
	// and that ends up empty. Like strength, it can be added later but never withdrawn.
	Machines bool `json:"machines,omitempty"`
	// Storage, for units, services and models, also destroys their storage. Otherwise persistent
	// storage is kept: detached, or released if its model is destroyed.
	Storage bool `json:"storage,omitempty"`
	// Release, for models, releases the storage. A model with persistent storage can't be destroyed
	// without either Storage or Release.
	Release bool `json:"release,omitempty"`
}

// MaxTimeout is the longest valid Timeout. Anything longer is a mistake, and adding to the longest
// durations would overflow.
const MaxTimeout = 365 * 24 * time.Hour

// ForceTimeout is the default Timeout.
const ForceTimeout = time.Minute

// Forced returns a destruction with force and the default timeout.
func Forced() Destruction { return Destruction{Strength: Force, Timeout: ForceTimeout} }

// HasStorage returns the error, in Juju's words, for destroying a model or controller (what) that has
// filesystems without saying what to do with them. models is the number of models that have them; 0 if
// a model is destroyed.
func HasStorage(what, name string, filesystems, models int) error {
	remaining := fmt.Sprintf("%d filesystems", filesystems)
	if filesystems == 1 {
		remaining = "1 filesystem"
	}
	switch {
	case models == 1:
		remaining += " in 1 model"
	case models > 1:
		remaining += fmt.Sprintf(" across %d models", models)
	}
	err := Errorf(PersistentStorage, "cannot destroy %s %q\n\nThe %s has persistent storage remaining:\n\t%s", what, name,
		what, remaining)
	return WithHint(err, "\nTo destroy the storage, run the destroy-%s\ncommand again with the \"--destroy-storage\" option."+
		"\n\nTo release the storage from Juju's management\nwithout destroying it, use the \"--release-storage\"\n"+
		"option instead.", what)
}

// A Leftover is a resource outside of state that a forced destruction couldn't remove because the
// cloud failed. It has to be removed by hand.
type Leftover struct {
	ID string `json:"id"`
	Of string `json:"of"` // key of the destroyed entity, "m#3"
	// Instance is the instance's id, if the leftover is one.
	Instance string    `json:"instance,omitempty"`
	What     string    `json:"what"`  // "instance i-3 of machine 3"
	Where    string    `json:"where"` // "cloud local"
	Why      string    `json:"why"`
	How      string    `json:"how"` // the command or steps that remove it
	At       time.Time `json:"at"`
}

// MachinesLeft lists the machines that remain, empty, when units are destroyed.
type MachinesLeft struct {
	Machines []string `json:"machines-left,omitempty"`
	// Uncounted is set if there are too many to determine.
	Uncounted bool `json:"machines-uncounted,omitempty"`
}

// Add adds the machines of o.
func (l *MachinesLeft) Add(o MachinesLeft) {
	l.Machines = append(l.Machines, o.Machines...)
	l.Uncounted = l.Uncounted || o.Uncounted
}

// A DestroyInfo says what happens to the machines and storage of destroyed units, services or
// machines.
type DestroyInfo struct {
	MachinesLeft
	// The ids of storage that is kept, and of storage that is destroyed.
	DetachedStorage, DestroyedStorage []string
}

// Add adds the contents of o.
func (i *DestroyInfo) Add(o DestroyInfo) {
	i.MachinesLeft.Add(o.MachinesLeft)
	i.DetachedStorage = append(i.DetachedStorage, o.DetachedStorage...)
	i.DestroyedStorage = append(i.DestroyedStorage, o.DestroyedStorage...)
}
