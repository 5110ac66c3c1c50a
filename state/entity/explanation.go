package entity

import "time"

// An Explanation says why an entity has not started, or still exists.
type Explanation struct {
	Tag      string    `json:"tag"`
	Name     string    `json:"name"` // in the form shown to users, "unit mysql/0"
	Life     Life      `json:"life"` // Gone only if there is a leftover
	Since    time.Time `json:"since"`
	Strength Strength  `json:"strength,omitempty"`
	// Deadline is when a forced destruction stops waiting for the agents.
	Deadline time.Time `json:"deadline,omitzero"`
	// Reasons says what the entity waits for. Each reason is followed by the reasons for it; one
	// that has none of its own is where someone must act. It is empty if the entity waits for nothing.
	Reasons   []Reason   `json:"reasons,omitempty"`
	Refusals  []Refusal  `json:"refusals,omitempty"` // newest first
	Leftovers []Leftover `json:"leftovers,omitempty"`
}

// A WorkerFailure describes a worker of the controller or of an agent that keeps failing.
type WorkerFailure struct {
	Worker string    `json:"worker"` // such as "provisioner"
	Error  string    `json:"error"`  // of its last failure
	Since  time.Time `json:"since"`  // of the first failure
}

// A Reason is one line of an explanation.
type Reason struct {
	Depth int    `json:"depth,omitempty"` // one more than that of the reason it explains
	Of    string `json:"of"`              // the tag of its entity
	Ref   string `json:"ref,omitempty"`   // the name in lifecycle.Refs of the reference that prevents removal
	// By is who must act: an agent's tag, "provisioner", "cleaner" or "user"; "" for a reference.
	By    string    `json:"by,omitempty"`
	Text  string    `json:"text"`
	Hint  string    `json:"hint,omitempty"` // what the user can do
	Since time.Time `json:"since,omitzero"`
	// Starting is set if the awaited agent has never started.
	Starting bool `json:"starting,omitempty"`
}

// Who must act, besides agents, which have tags.
const (
	ByProvisioner = "provisioner"
	ByCleaner     = "cleaner"
	ByController  = "controller"
	ByUser        = "user"
	ByCharm       = "charm"
)

// A Refusal is a change to the entity that was abandoned, and what prevented it.
type Refusal struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
