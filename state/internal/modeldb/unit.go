package modeldb

import (
	"cmp"
	"time"

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
	// Locked is set with the first upgrade of its machine's operating system: once the unit is not Alive, the upgrade no
	// longer waits for it.
	Locked bool `bson:"locked,omitempty"`
	// StorageToken is the token of the last hook that added storage.
	StorageToken string `bson:"storagetoken,omitempty"`
	// Turn is the unit's turn in the last rollout of its service that came to it.
	Turn *Turn `bson:"turn,omitempty"`
}

// NamesOf returns the names of units.
func NamesOf(units []Unit) []string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.Name
	}
	return names
}

// A Turn is when a unit was told to run its service's charm during a rollout.
type Turn struct {
	Rollout string            `bson:"rollout"` // its ID
	At      time.Time         `bson:"at"`      // the same for all units of a batch
	Was     entity.StatusWord `bson:"was"`     // the status of the unit's workload then
}

// InTurn reports whether a rollout has come to the unit.
func (d Unit) InTurn(r *Rollout) bool { return d.Turn != nil && d.Turn.Rollout == r.ID }

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
	Unit     string `bson:"unit,omitempty"`
	Remote   string `bson:"remote,omitempty"` // instead of Unit, if the unit is in another model
	Role     string `bson:"role"`
}

// Counterpart is the role of the scope that keeps a relation with an offer of another controller until its counterpart
// there has ended. Its Remote is the remote service. No unit sees it, since units see the roles of endpoints.
const Counterpart = "counterpart"

// IsUnit reports whether the scope is a unit's, and not what keeps the relation for its counterpart.
func (s Scope) IsUnit() bool { return s.Role != Counterpart }

// Member is the name that the unit has in the relation.
func (s Scope) Member() string { return cmp.Or(s.Unit, s.Remote) }
