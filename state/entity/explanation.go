package entity

import "time"

// An Explanation is why an entity is not yet started, or not yet gone.
type Explanation struct {
	Tag      string    `json:"tag"`
	Name     string    `json:"name"` // as users know it, "unit mysql/0"
	Life     Life      `json:"life"` // Gone only if there is a leftover
	Since    time.Time `json:"since"`
	Strength Strength  `json:"strength,omitempty"`
	// Deadline is when force does what the agents have not done.
	Deadline time.Time `json:"deadline,omitzero"`
	// Reasons are what holds the entity up, each followed by the reasons for it. A reason without
	// reasons of its own is where someone must act. There are none if nothing is waited for.
	Reasons   []Reason   `json:"reasons,omitempty"`
	Refusals  []Refusal  `json:"refusals,omitempty"` // newest first
	Leftovers []Leftover `json:"leftovers,omitempty"`
}

// A WorkerFailure describes a worker of the controller or of an agent that keeps failing.
type WorkerFailure struct {
	Worker string    `json:"worker"` // its name, "provisioner"
	Error  string    `json:"error"`  // of its last failure
	Since  time.Time `json:"since"`  // of the first failure
}

// A Reason is one line of an explanation.
type Reason struct {
	Depth int    `json:"depth,omitempty"` // one more than that of the reason it explains
	Of    string `json:"of"`              // the tag of its entity
	Ref   string `json:"ref,omitempty"`   // the reference that prevents the end, as lifecycle.Refs names it
	// By is who must act: an agent's tag, "provisioner", "cleaner" or "user"; "" for a reference.
	By    string    `json:"by,omitempty"`
	Text  string    `json:"text"`
	Hint  string    `json:"hint,omitempty"` // what the user can do
	Since time.Time `json:"since,omitzero"`
	// Starting is set if the agent that is waited for has never started.
	Starting bool `json:"starting,omitempty"`
}

// Who must act, besides agents, which have tags.
const (
	ByProvisioner = "provisioner"
	ByCleaner     = "cleaner"
	ByUser        = "user"
	ByCharm       = "charm"
)

// A Refusal is a change of the entity that was given up, and the fact that prevented it.
type Refusal struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
