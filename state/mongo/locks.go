package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
	"gopkg.in/mgo.v2/txn"
)

// docLocks serialises transactions of this process on the same documents. mgo/txn is not supposed to need that. But if
// transactions on the same documents are delayed between its steps, two of its runners can give a document the same
// revision, and one update is lost though both report success. (mgo's own TestTxnQueueStressTest, which it skips, shows
// this.) The locks also keep runners from completing each other's transactions. Transactions that only assert a
// document share its lock. Transactions of the server don't: they would conflict, and run again and again.
type docLocks struct {
	exclusive bool // nothing is shared
	mu        sync.Mutex
	docs      map[string]*docLock
	all       sync.RWMutex // read-locked while a transaction runs: see under
}

type docLock struct {
	sem  *semaphore.Weighted // readers take 1, a writer all
	refs int                 // callers that hold it or wait for it
}

const allReaders = 1 << 30

// A holding is the documents that one caller has locked.
type holding struct {
	of      *docLocks
	weights map[string]int64 // by document
	locks   map[string]*docLock
}

// acquire locks the documents of ops, in the same order for all callers.
func (l *docLocks) acquire(ctx context.Context, ops []txn.Op) (*holding, error) {
	h := &holding{l, l.weigh(ops), map[string]*docLock{}}
	for _, key := range slices.Sorted(maps.Keys(h.weights)) {
		lock := l.get(key)
		if err := lock.sem.Acquire(ctx, h.weights[key]); err != nil {
			l.drop(key, lock)
			h.release()
			return nil, context.Cause(ctx)
		}
		h.locks[key] = lock
	}
	return h, nil
}

// weigh returns the weight of the lock that ops need on each document.
func (l *docLocks) weigh(ops []txn.Op) map[string]int64 {
	weights := map[string]int64{}
	for _, op := range ops {
		key := fmt.Sprintf("%s\x00%v", op.C, op.Id)
		weight := int64(1)
		if l.exclusive || op.Insert != nil || op.Update != nil || op.Remove {
			weight = allReaders
		}
		weights[key] = max(weights[key], weight)
	}
	return weights
}

// covers reports whether all documents of ops are sufficiently locked. It is false for a nil holding.
func (h *holding) covers(ops []txn.Op) bool {
	if h == nil {
		return false
	}
	for key, weight := range h.of.weigh(ops) {
		if h.weights[key] < weight {
			return false
		}
	}
	return true
}

// release unlocks the documents. It must be called at most once; on a nil holding it does nothing.
func (h *holding) release() {
	if h == nil {
		return
	}
	for key, lock := range h.locks {
		lock.sem.Release(h.weights[key])
		h.of.drop(key, lock)
	}
}

// get returns a document's lock; drop must be called once for each get.
func (l *docLocks) get(key string) *docLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.docs == nil {
		l.docs = map[string]*docLock{}
	}
	lock := l.docs[key]
	if lock == nil {
		lock = &docLock{sem: semaphore.NewWeighted(allReaders)}
		l.docs[key] = lock
	}
	lock.refs++
	return lock
}

func (l *docLocks) drop(key string, lock *docLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock.refs--; lock.refs == 0 {
		delete(l.docs, key)
	}
}
