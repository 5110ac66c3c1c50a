package modeldb

import (
	"juju/state/entity"
	"juju/state/lifecycle"
)

type Unit struct {
	Living    `bson:",inline"`
	Birth     `bson:",inline"`
	Name      string          `bson:"_id"`
	Service   string          `bson:"service"`
	Series    string          `bson:"series"`
	Machine   string          `bson:"machine,omitempty"`   // "" unless it is a principal and assigned
	Principal string          `bson:"principal,omitempty"` // "" unless it is a subordinate
	CharmURL  string          `bson:"charm,omitempty"`     // the charm it runs; the service has the charm it should run
	Resolved  entity.Resolved `bson:"resolved,omitempty"`
	// Started is set with the first status that the unit's agent reports and never unset: from
	// then on only the agent can stop the unit cleanly.
	Started bool `bson:"started"`
	// Counted is how often the principal has entered a container relation while this
	// subordinate existed for it.
	Counted int `bson:"counted,omitempty"`
	// Tasked is set with the unit's first task: when the unit is removed, its tasks are cancelled.
	Tasked bool `bson:"tasked,omitempty"`
	// StorageToken is the token of the last hook that added storage.
	StorageToken string `bson:"storagetoken,omitempty"`
}

// Kind returns the unit's kind in the lifecycle tables.
func (d Unit) Kind() lifecycle.Kind {
	if d.Principal != "" {
		return lifecycle.Subordinate
	}
	return lifecycle.Principal
}

func (d Unit) Deployer() entity.Tag {
	switch {
	case d.Principal != "":
		return entity.UnitTag(d.Principal)
	case d.Machine != "":
		return entity.MachineTag(d.Machine)
	}
	return entity.Tag{}
}

// A Deployment assigns a unit to its deployer, a machine or a principal.
type Deployment struct {
	Parent string `bson:"parent"` // a tag
	Unit   string `bson:"unit"`
}

// A Scope means that a unit is in a relation.
type Scope struct {
	ID       string `bson:"_id"` // ScopePrefix + role + "#" + unit
	Relation int    `bson:"relation"`
	Unit     string `bson:"unit"`
	Role     string `bson:"role"`
}
