package entity

import "fmt"

// A FullDisk is a machine's disk that is full, or nearly so; the zero value is one with room.
type FullDisk struct {
	Dir   string `json:"dir,omitempty" bson:"dir,omitempty"`     // a directory on it
	Below uint64 `json:"below,omitempty" bson:"below,omitempty"` // bytes: less than that is free
	Need  uint64 `json:"need,omitempty" bson:"need,omitempty"`   // bytes that should be free
	// Stops is set if there is too little for hooks and commands to begin.
	Stops bool `json:"stops,omitempty" bson:"stops,omitempty"`
}

// IsZero reports whether the disk has room.
func (d FullDisk) IsZero() bool { return d == FullDisk{} }

// String describes the disk; "" if it has room.
func (d FullDisk) String() string {
	switch {
	case d.IsZero():
		return ""
	case d.Stops:
		return fmt.Sprintf("the disk is full: %s has less than %d MiB free, and needs %d MiB; hooks and commands wait or fail",
			d.Dir, d.Below>>20, d.Need>>20)
	}
	return fmt.Sprintf("the disk is nearly full: %s has less than %d MiB free", d.Dir, d.Below>>20)
}
