package mongo

import (
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/embedded"
	"juju/state/mongo/outage"
)

// Options are the options for opening a store; the zero value is right for production.
type Options struct {
	// Embedded are the options of the embedded server, for OpenEmbedded.
	Embedded embedded.Options
	// Dial replaces TCP, for OpenURL.
	Dial Dial
	// Patience is how long a transaction whose facts keep changing is retried, not counting the time that it waits for
	// its documents and for a slot; 0 is 30 seconds.
	Patience time.Duration
	// Answer is how long an outage of a MongoDB lasts before waiting requests fail; 0 is 25 seconds.
	Answer time.Duration
	// Hooks, if not nil, is called for each database that is opened and returns the hooks of its transactions.
	Hooks func(database string) Hooks
	// Meter receives measurements of the store; nil means none.
	Meter Meter
	// Traces makes watchers learn the spans of the transactions whose changes they see.
	Traces bool
}

// Hooks intercept a database's transactions between building and running them, in tests of concurrent changes.
type Hooks interface {
	// Next is called for each attempt at a transaction once its operations are built. It returns the hook to run them
	// through, or nil.
	Next() Hook
}

// A Hook runs the operations of one attempt, or others in their place, by calling run once. It may run other
// transactions before and after, and returns the error of run.
type Hook func(ops []txn.Op, run func(ops []txn.Op) error) error

func (o Options) withDefaults() Options {
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.Answer == 0 {
		o.Answer = outage.Bound
	}
	if o.Meter == nil {
		o.Meter = unmetered{}
	}
	return o
}
