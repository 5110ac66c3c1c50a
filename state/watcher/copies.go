package watcher

import (
	"sync"
)

// Copies are copies of documents, and of the results of queries, that a hub keeps true: it drops those that a change
// concerns before it tells the watchers, and all of them while it can't hear of changes. So whoever reads them because of
// an event reads what is at least as new as the event, and whatever they lack is followed by another event. Nobody else
// may rely on them: between a commit by another process and its event, they are out of date.
type Copies struct {
	mu      sync.Mutex
	follows bool // changes are dropped as they happen
	size    int  // bytes
	all     map[group]map[string]kept
	// drops counts the times that copies of a collection were dropped, and forgotten those that all were: what was being
	// read meanwhile is not kept.
	drops     map[string]int
	forgotten int
}

// A group is the copies of a collection's documents, by id, or of the results of queries on it, by query.
type group struct {
	collection string
	queries    bool
}

type kept struct {
	docs [][]byte
	size int
}

// The limits of what is kept for a model, and of one result. When it is full it begins anew: what is read often is soon
// back.
const (
	maxCopies = 4 << 20
	maxCopy   = 64 << 10
)

// A PendingRead is a read that has begun, and whose result may be kept.
type PendingRead struct {
	of               group
	key              string
	drops, forgotten int
}

// FindDoc returns the copy of a document, which is empty if the document does not exist. If there is no copy, the result of
// the read that begins now can be kept.
func (c *Copies) FindDoc(collection, id string) (docs [][]byte, found bool, r PendingRead) {
	return c.find(group{collection, false}, id)
}

// FindQuery is FindDoc for the result of a query, in BSON. Any change to the collection drops it.
func (c *Copies) FindQuery(collection string, query []byte) (docs [][]byte, found bool, r PendingRead) {
	return c.find(group{collection, true}, string(query))
}

func (c *Copies) find(of group, key string) (docs [][]byte, found bool, r PendingRead) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, found := c.all[of][key]
	return k.docs, found, PendingRead{of, key, c.drops[of.collection], c.forgotten}
}

// Keep keeps the result of a read, unless it may have become out of date since it began.
func (c *Copies) Keep(r PendingRead, docs [][]byte) {
	size := len(r.key)
	for _, d := range docs {
		size += len(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.follows || size > maxCopy || c.drops[r.of.collection] != r.drops || c.forgotten != r.forgotten {
		return
	}
	if c.size+size > maxCopies {
		c.forget()
	}
	if c.all[r.of] == nil {
		c.all[r.of] = map[string]kept{}
	}
	c.drop(r.of, r.key)
	c.all[r.of][r.key] = kept{docs, size}
	c.size += size
}

// Drop drops what changes concern.
func (c *Copies) Drop(changes ...Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range changes {
		c.drops[change.Collection]++
		c.drop(group{change.Collection, false}, change.ID)
		queries := group{change.Collection, true}
		for query := range c.all[queries] {
			c.drop(queries, query)
		}
	}
}

func (c *Copies) drop(of group, key string) {
	c.size -= c.all[of][key].size
	delete(c.all[of], key)
}

// Forget drops everything.
func (c *Copies) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
}

func (c *Copies) forget() {
	c.forgotten++
	c.all, c.size = map[group]map[string]kept{}, 0
}

// follow drops everything, and tells whether changes are heard of from now on.
func (c *Copies) follow(follows bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follows = follows
	c.forget()
}
