package entity

import (
	"fmt"
	"time"
)

// A Strength is how much of its regular end an entity's destruction may skip. It only grows:
// destroying a Dying entity again with more strength continues a destruction that is stuck.
type Strength uint8

// The strengths. Each applies to everything that is destroyed together with the entity.
const (
	Plain   Strength = iota // everything runs; a failed hook is waited for
	Lenient                 // a failed hook is skipped
	Force                   // no more hooks; what an agent leaves undone is done for it
)

var strengthNames = [...]string{"plain", "lenient", "force"}

// String returns the word: "plain", "lenient" or "force".
func (s Strength) String() string {
	if int(s) < len(strengthNames) {
		return strengthNames[s]
	}
	return fmt.Sprintf("strength(%d)", uint8(s))
}

// MarshalText returns the word, as on the wire.
func (s Strength) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the word; anything else is Invalid.
func (s *Strength) UnmarshalText(text []byte) error {
	for i, name := range strengthNames {
		if name == string(text) {
			*s = Strength(i)
			return nil
		}
	}
	return Errorf(Invalid, "cannot read strength %q", text)
}

// A Destruction is how to destroy an entity; the zero value is plain.
type Destruction struct {
	Strength Strength `json:"strength,omitempty"`
	// Timeout is how long force waits for the agents to do their part before it is done for them;
	// 0 doesn't wait. It has no meaning with less strength.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Machines, for units and services, also destroys each machine that deploy or add-unit made
	// and that is left empty. Like strength it can be added later, and is never withdrawn.
	Machines bool `json:"machines,omitempty"`
	// Storage, for units, services and models, also destroys their storage. Otherwise storage
	// that outlives machines is kept: detached, or with its model, released.
	Storage bool `json:"storage,omitempty"`
	// Release, for models, says that this is wanted: otherwise a model with storage is refused.
	Release bool `json:"release,omitempty"`
}

// MaxTimeout is the longest Timeout: more is a mistake, and near the longest duration sums would
// overflow.
const MaxTimeout = 365 * 24 * time.Hour

// ForceTimeout is the default Timeout.
const ForceTimeout = time.Minute

// Forced returns a destruction with force and the default timeout.
func Forced() Destruction { return Destruction{Strength: Force, Timeout: ForceTimeout} }

// HasStorage returns the error, in Juju's words, for the destruction of a model or a controller, as
// what says, that does not say what becomes of filesystems. models is in how many models they are;
// 0 for a model.
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

// A Leftover is what a forced destruction has left outside of state because the cloud didn't do
// its part. A person has to remove it.
type Leftover struct {
	ID string `json:"id"`
	Of string `json:"of"` // key of the destroyed entity, "m#3"
	// Instance is the cloud's name of the instance that is left, if it is one.
	Instance string    `json:"instance,omitempty"`
	What     string    `json:"what"`  // "instance i-3 of machine 3"
	Where    string    `json:"where"` // "cloud local"
	Why      string    `json:"why"`
	How      string    `json:"how"` // the command or steps that remove it
	At       time.Time `json:"at"`
}

// MachinesLeft names the empty machines that stay when units are destroyed.
type MachinesLeft struct {
	Machines []string `json:"machines-left,omitempty"`
	// Uncounted is set if there are too many to look for.
	Uncounted bool `json:"machines-uncounted,omitempty"`
}

// Add adds the machines of other.
func (l *MachinesLeft) Add(o MachinesLeft) {
	l.Machines = append(l.Machines, o.Machines...)
	l.Uncounted = l.Uncounted || o.Uncounted
}

// A DestroyInfo says what becomes of what was with the units, services or machines that are
// destroyed.
type DestroyInfo struct {
	MachinesLeft
	// The ids of storage that is kept, and of storage that is destroyed too.
	DetachedStorage, DestroyedStorage []string
}

// Add adds what other says.
func (i *DestroyInfo) Add(o DestroyInfo) {
	i.MachinesLeft.Add(o.MachinesLeft)
	i.DetachedStorage = append(i.DetachedStorage, o.DetachedStorage...)
	i.DestroyedStorage = append(i.DestroyedStorage, o.DestroyedStorage...)
}
