package entity

// A Plan is what a change of a model would lead to, if no hook fails or sets anything and all agents run.
type Plan struct {
	// Token identifies the state of the model that the plan was made for.
	Token   string          `json:"token" yaml:"token"`
	Changes []PlannedChange `json:"changes" yaml:"changes"`
	// Hooks are in the order in which the units run them. The hooks of different units run at the same time.
	Hooks    []PlannedHook `json:"hooks" yaml:"hooks"`
	Refused  []string      `json:"refused,omitempty" yaml:"refused,omitempty"` // why parts of the change would be
	Hints    []string      `json:"hints,omitempty" yaml:"hints,omitempty"`     // what to do about these
	Warnings []string      `json:"warnings,omitempty" yaml:"warnings,omitempty"`
	Waits    []string      `json:"waits,omitempty" yaml:"waits,omitempty"` // what would not end, and why
	// Unsettled are the units that have not settled from earlier changes: their hooks are also those of these.
	Unsettled []string `json:"unsettled,omitempty" yaml:"unsettled,omitempty"`
}

// A PlannedChange is a change of one entity, as its user sees it.
type PlannedChange struct {
	Action string `json:"action" yaml:"action"` // one of those below
	Kind   string `json:"kind" yaml:"kind"`     // "machine", "service", "unit", "relation", "storage", "space" or another
	Name   string `json:"name" yaml:"name"`
	Detail string `json:"detail,omitempty" yaml:"detail,omitempty"`
}

// The actions of planned changes.
const (
	PlanAdd    = "add"
	PlanChange = "change"
	PlanRemove = "remove"
)

// A PlannedHook is a hook that a unit would run.
type PlannedHook struct {
	Unit  string `json:"unit" yaml:"unit"`
	Hook  string `json:"hook" yaml:"hook"`                       // the name of its file, "db-relation-joined"
	About string `json:"about,omitempty" yaml:"about,omitempty"` // the other unit or service, or the storage
}
