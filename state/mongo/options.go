package mongo

import (
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/embedded"
)

// Options are what a store is opened with; the zero value is right in service.
type Options struct {
	// Embedded are the options of the embedded server, for OpenEmbedded.
	Embedded embedded.Options
	// Dial replaces TCP, for OpenURL.
	Dial Dial
	// Patience is how long a transaction is tried whose facts keep changing, not
	// counting the time that it waits for its documents and for a slot; 30 seconds
	// when zero.
	Patience time.Duration
	// Hooks, if not nil, is called for each database that is opened and returns the
	// hooks of its transactions.
	Hooks func(database string) Hooks
}

// Hooks stand between the building of a database's transactions and their run, in
// tests of what others do in that moment.
type Hooks interface {
	// Next is called for each attempt at a transaction once its operations are
	// built. It returns the hook to run them through, or nil.
	Next() Hook
}

// A Hook runs the operations of one attempt, or others, by calling run once. It may
// run other transactions before and after, and returns the error of run.
type Hook func(ops []txn.Op, run func(ops []txn.Op) error) error

func (o Options) withDefaults() Options {
	if o.Patience == 0 {
		o.Patience = patience
	}
	return o
}
