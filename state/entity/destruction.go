package entity

import (
	"fmt"
	"time"
)

// A Strength is how much the destruction of a thing may cut short. It only ever
// grows: to destroy a thing that is Dying again, with more strength, is how a
// destruction that got stuck is helped on.
type Strength uint8

// The strengths. Each reaches downward, to whatever goes with the thing.
const (
	Plain   Strength = iota // everything runs its course; a failed hook is waited for
	Lenient                 // a failed hook is skipped
	Force                   // no hook runs any more; what an agent leaves undone is done for it
)

var strengthNames = [...]string{"plain", "lenient", "force"}

// String returns the word: "plain", "lenient" or "force".
func (s Strength) String() string {
	if int(s) < len(strengthNames) {
		return strengthNames[s]
	}
	return fmt.Sprintf("strength(%d)", uint8(s))
}

// MarshalText writes the word, which is what the wire carries.
func (s Strength) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word; anything else is Invalid.
func (s *Strength) UnmarshalText(text []byte) error {
	for i, name := range strengthNames {
		if name == string(text) {
			*s = Strength(i)
			return nil
		}
	}
	return Errorf(Invalid, "cannot read strength %q", text)
}

// A Destruction is how a thing is to be destroyed; the zero value is plain.
type Destruction struct {
	Strength Strength `json:"strength,omitempty"`
	// Timeout is how long force leaves the agents to do their part, before it is
	// done for them; 0 leaves them none. It means nothing with less strength.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Machines says, of units and services, that each machine is destroyed too that
	// deploy or add-unit has made and that is left with nothing on it. Like strength
	// it can be added later, and is never taken back.
	Machines bool `json:"machines,omitempty"`
}

// MaxTimeout is the longest Timeout: more is a slip, and near the longest duration
// there is sums with it would overflow.
const MaxTimeout = 365 * 24 * time.Hour

// ForceTimeout is the Timeout of those who don't say.
const ForceTimeout = time.Minute

// Forced returns a destruction with force and the usual timeout.
func Forced() Destruction { return Destruction{Strength: Force, Timeout: ForceTimeout} }

// A Leftover is what a destruction with force has left outside of state, because
// the cloud did not do its part: somebody has to look after it.
type Leftover struct {
	ID string `json:"id"`
	Of string `json:"of"` // the key of what was destroyed, "m#3"
	// Instance is the cloud's name of what is left, if it is an instance.
	Instance string    `json:"instance,omitempty"`
	What     string    `json:"what"`  // "instance i-3 of machine 3"
	Where    string    `json:"where"` // "cloud local"
	Why      string    `json:"why"`
	How      string    `json:"how"` // to remove it
	At       time.Time `json:"at"`
}

// MachinesLeft names machines that stay when units are destroyed, with nothing on them.
type MachinesLeft struct {
	Machines []string `json:"machines-left,omitempty"`
	// Uncounted says that there are too many to look for.
	Uncounted bool `json:"machines-uncounted,omitempty"`
}

// Add adds others.
func (l *MachinesLeft) Add(o MachinesLeft) {
	l.Machines = append(l.Machines, o.Machines...)
	l.Uncounted = l.Uncounted || o.Uncounted
}
