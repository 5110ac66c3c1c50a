package entity

import "time"

// ControllerChanges are what EnableHA has changed, as ids of machines.
type ControllerChanges struct {
	Maintained []string `json:"maintained,omitempty"`
	Added      []string `json:"added,omitempty"`
	Demoted    []string `json:"demoted,omitempty"` // lost, and replaced by those that were added
}

// BootstrapInstance is the instance id, and the nonce, of the machine that bootstrap starts for the controller. No
// provider starts or stops it, and jujud itself is its agent.
const BootstrapInstance = "controller"

// A ControllerNode is one of the controllers that share a store.
type ControllerNode struct {
	Machine   string   `json:"controller-id"` // in the controller's model
	Addresses []string `json:"api-addresses"` // "host:port"
	Version   string   `json:"version,omitempty"`
	Commit    string   `json:"commit,omitempty"`
	// SHA256 is the hash of the archive that its binaries were unpacked from; "" if they were installed otherwise.
	SHA256 string `json:"sha256,omitempty"`
	Up     bool   `json:"up"`
	// Waits means that it is up, but serves nothing until those with older binaries have been upgraded.
	Waits bool `json:"waits,omitempty"`
	// Leads means that it runs the workers that only one controller runs.
	Leads bool `json:"leads,omitempty"`
	// Seen is when it last showed that it was up, by its own clock.
	Seen time.Time `json:"seen,omitzero"`
}

// Binaries returns what the controller runs.
func (n ControllerNode) Binaries() Binaries {
	return Binaries{Version: n.Version, SHA256: n.SHA256, Commit: n.Commit}
}

// A ControllerUpgrade is the last upgrade of controllers that share a store. It says, also after it has ended, which
// binaries they are to run, unless it was cancelled.
type ControllerUpgrade struct {
	To    Binaries  `json:"to"`
	By    string    `json:"by"` // the user
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"` // zero while it is going on
	// Cancelled is why the upgrade was given up; "" if it was not.
	Cancelled string `json:"cancelled,omitempty"`
	// Turn is the controller that is being changed; "" if none is. Turns is how many have begun.
	Turn    string                     `json:"turn,omitempty"`
	Turns   int                        `json:"turns,omitempty"`
	Changed []string                   `json:"changed,omitempty"` // those that have come up with the binaries
	Failed  []ControllerUpgradeFailure `json:"failed,omitempty"`
}

// A ControllerUpgradeFailure is why a controller still runs its old binaries.
type ControllerUpgradeFailure struct {
	Machine string    `json:"controller-id"`
	Error   string    `json:"error"`
	Tries   int       `json:"tries"`
	At      time.Time `json:"at"` // of the last of them
}

// IsGoing reports whether the upgrade has not ended; false for nil.
func (u *ControllerUpgrade) IsGoing() bool { return u != nil && u.Ended.IsZero() }

// Failure returns why a controller has not changed; nil if that is not known to have failed.
func (u *ControllerUpgrade) Failure(machine string) *ControllerUpgradeFailure {
	for i := range u.Failed {
		if u.Failed[i].Machine == machine {
			return &u.Failed[i]
		}
	}
	return nil
}
