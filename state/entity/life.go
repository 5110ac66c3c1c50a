package entity

import "fmt"

// Life is a stage in the life of an entity. It never goes back: the constants are in order.
type Life uint8

// The stages. A removed entity has no document and thus no Life; Gone represents that in tables of
// moves and is never stored.
const (
	Alive Life = iota
	Dying
	Dead
	Gone
)

var lifeNames = [...]string{"alive", "dying", "dead", "gone"}

// String returns the form that status shows: "alive", "dying", "dead" or "gone".
func (l Life) String() string {
	if int(l) < len(lifeNames) {
		return lifeNames[l]
	}
	return fmt.Sprintf("life(%d)", uint8(l))
}

// MarshalText returns the form used on the wire, which is that of String.
func (l Life) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses the form that String returns; anything else is Invalid.
func (l *Life) UnmarshalText(text []byte) error {
	for i, name := range lifeNames {
		if name == string(text) {
			*l = Life(i)
			return nil
		}
	}
	return Errorf(Invalid, "invalid life %q", text)
}
