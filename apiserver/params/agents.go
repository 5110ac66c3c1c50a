package params

import "juju/state/entity"

// A WatcherID is what every Watch… returns.
type WatcherID struct {
	ID string `json:"watcher-id"`
}

// An Event is what a watcher's Next returns: nothing at all for one that only
// fires, else one of the two.
type Event struct {
	Names         []string                    `json:"names,omitempty"`
	RelationUnits *entity.RelationUnitsChange `json:"relation-units,omitempty"`
}
