package entity

// Resolved is what the user has said of a unit's failed hook.
type Resolved string

// Design.md 9.3: plain `juju resolved` runs the hook again.
const (
	ResolvedNone    Resolved = ""            // nothing yet: the unit waits
	ResolvedRetry   Resolved = "retry-hooks" // run the failed hook again
	ResolvedNoHooks Resolved = "no-hooks"    // go on as if it had succeeded
)
