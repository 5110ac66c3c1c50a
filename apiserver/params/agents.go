package params

import "juju/state/entity"

// A WatcherID is the result of methods that start a watch.
type WatcherID struct {
	ID string `json:"watcher-id"`
}

// An Event is the result of a watcher's Next. It is empty for watches that only signal changes; otherwise one of the
// fields is set.
type Event struct {
	Names         []string                    `json:"names,omitempty"`
	RelationUnits *entity.RelationUnitsChange `json:"relation-units,omitempty"`
}
