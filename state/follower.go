package state

import (
	"sync/atomic"

	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/watcher"
)

// A Follower is told of each transaction on a store when that ends, where a tailer would be told some time later. It is for
// stores of one process, and implements mongo.Hooks. It must be created with NewFollower.
type Follower struct {
	*watcher.Hub // passes the changes on

	count atomic.Int64
}

// NewFollower returns a follower.
func NewFollower() *Follower { return &Follower{Hub: watcher.NewHub(nil)} }

// Count returns how many transactions have begun. While there are no more, what was read is true.
func (f *Follower) Count() int64 { return f.count.Load() }

// Next implements mongo.Hooks.
func (f *Follower) Next() mongo.Hook {
	f.count.Add(1)
	return func(ops []txn.Op, run func([]txn.Op) error) error {
		err := run(ops)
		f.Publish(watcher.ChangesOf(ops)...)
		return err
	}
}
