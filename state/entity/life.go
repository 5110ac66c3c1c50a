package entity

import "fmt"

// Life is the stage of an entity's life. It never goes back: the order of the constants is the
// order of a life.
type Life uint8

// The stages. A removed entity has no document and so no Life; Gone stands for that in tables of
// moves and is never stored.
const (
	Alive Life = iota
	Dying
	Dead
	Gone
)

var lifeNames = [...]string{"alive", "dying", "dead", "gone"}

// String returns the word that status shows: "alive", "dying", "dead" or "gone".
func (l Life) String() string {
	if int(l) < len(lifeNames) {
		return lifeNames[l]
	}
	return fmt.Sprintf("life(%d)", uint8(l))
}

// MarshalText returns the word, as on the wire.
func (l Life) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses the word; anything else is Invalid.
func (l *Life) UnmarshalText(text []byte) error {
	for i, name := range lifeNames {
		if name == string(text) {
			*l = Life(i)
			return nil
		}
	}
	return Errorf(Invalid, "cannot read life %q", text)
}
