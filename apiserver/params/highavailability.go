package params

import (
	"juju/state/constraints"
	"juju/state/entity"
)

// A ControllersSpecs is the parameter of HighAvailability 2 EnableHA: one entry.
type ControllersSpecs struct {
	Specs []ControllersSpec `json:"specs"`
}

// A ControllersSpec says how many controllers there should be; 0 for the default.
type ControllersSpec struct {
	NumControllers int               `json:"num-controllers"`
	Constraints    constraints.Value `json:"constraints,omitempty"`
	Series         string            `json:"series,omitempty"`
	Placement      []string          `json:"placement,omitempty"`
}

// ControllersChangeResults is the result of EnableHA.
type ControllersChangeResults struct {
	Results []ControllersChangeResult `json:"results"`
}

// A ControllersChangeResult is an entry of it.
type ControllersChangeResult struct {
	Result ControllersChanges `json:"result"`
	Error  *Error             `json:"error,omitempty"`
}

// ControllersChanges are the machines whose jobs EnableHA has changed, as tags.
type ControllersChanges struct {
	Added      []Tag `json:"added,omitempty"`
	Maintained []Tag `json:"maintained,omitempty"`
	Demoted    []Tag `json:"demoted,omitempty"`
}

// ControllerDetailsResults is the result of HighAvailability 3 ControllerDetails.
type ControllerDetailsResults struct {
	Results []entity.ControllerNode   `json:"results"`
	Alone   bool                      `json:"alone,omitempty"`   // not in Juju: the store can be used by no other controller
	Upgrade *entity.ControllerUpgrade `json:"upgrade,omitempty"` // the last one of them
}
