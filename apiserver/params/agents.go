package params

import "juju/state/entity"

// A WatcherID is what methods return that begin a watch.
type WatcherID struct {
	ID string `json:"watcher-id"`
}

// An Event is what a watcher's Next returns. It is empty for a watch that only fires, and has
// one of the fields for others.
type Event struct {
	Names         []string                    `json:"names,omitempty"`
	RelationUnits *entity.RelationUnitsChange `json:"relation-units,omitempty"`
}
