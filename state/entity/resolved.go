package entity

// Resolved is a user's answer to a unit's failed hook.
type Resolved string

// The answers. `juju resolved` without flags means ResolvedRetry.
const (
	ResolvedNone    Resolved = ""            // no answer: the unit waits
	ResolvedRetry   Resolved = "retry-hooks" // run the failed hook again
	ResolvedNoHooks Resolved = "no-hooks"    // continue as if the hook had succeeded
)
