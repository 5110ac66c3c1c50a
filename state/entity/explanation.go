package entity

import "time"

// An Explanation is why a thing is not yet what it is to become: started, or gone.
type Explanation struct {
	Tag      string    `json:"tag"`
	Name     string    `json:"name"` // as users call it, "unit mysql/0"
	Life     Life      `json:"life"` // Gone with a leftover only
	Since    time.Time `json:"since"`
	Strength Strength  `json:"strength,omitempty"`
	// Deadline, of force, is when what agents have not done is done for them.
	Deadline time.Time `json:"deadline,omitzero"`
	// Reasons are what bars the thing, each followed by what that rests on in its
	// turn; those that have nothing below them are where somebody must act. None
	// means that nothing is waited for.
	Reasons   []Reason   `json:"reasons,omitempty"`
	Refusals  []Refusal  `json:"refusals,omitempty"` // the newest first
	Leftovers []Leftover `json:"leftovers,omitempty"`
}

// A WorkerFailure is a worker of the controller's, or of an agent's, that keeps failing.
type WorkerFailure struct {
	Worker string    `json:"worker"` // its name, "provisioner"
	Error  string    `json:"error"`  // of its last failure
	Since  time.Time `json:"since"`  // of the first
}

// Fitted returns the failure, with its error cut to what a request may hold.
func (f WorkerFailure) Fitted() WorkerFailure {
	f.Error = LimitName.Cut(f.Error)
	return f
}

// A Reason is one line of an explanation.
type Reason struct {
	Depth int    `json:"depth,omitempty"` // of a reason for another: one more than that one's
	Of    string `json:"of"`              // the tag of the thing that it is about
	Ref   string `json:"ref,omitempty"`   // the reference that bars it, as lifecycle.Refs names it
	// By is who must act: an agent's tag, "provisioner", "cleaner" or "user"; "" of
	// a reference.
	By    string    `json:"by,omitempty"`
	Text  string    `json:"text"`
	Hint  string    `json:"hint,omitempty"` // what the user can do
	Since time.Time `json:"since,omitzero"`
	// Starting says that the agent that is waited for has never come up.
	Starting bool `json:"starting,omitempty"`
}

// Who must act, besides agents, which have tags.
const (
	ByProvisioner = "provisioner"
	ByCleaner     = "cleaner"
	ByUser        = "user"
	ByCharm       = "charm"
)

// A Refusal is a change to the thing that was given up, and the fact that was not
// as the change needed it.
type Refusal struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
