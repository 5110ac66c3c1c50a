package adapter

import "sync"

// cursors maps the open cursors of one server to their collections. mgo kills a cursor by its
// number alone, and maybe on another connection than the one that opened it; the killCursors
// command requires the collection.
type cursors struct {
	mu   sync.Mutex
	open map[int64]string
}

// maxCursors bounds the cursors that are remembered. The server ends a forgotten one after ten
// minutes without use.
const maxCursors = 10_000

// add remembers a cursor and its namespace, database.collection.
func (cs *cursors) add(id int64, namespace string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open == nil {
		cs.open = map[int64]string{}
	}
	if _, known := cs.open[id]; !known && len(cs.open) >= maxCursors {
		for other := range cs.open {
			delete(cs.open, other)
			break
		}
	}
	cs.open[id] = namespace
}

// remove forgets a cursor that has ended.
func (cs *cursors) remove(id int64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, id)
}

// take forgets cursors and returns the known ones, by namespace.
func (cs *cursors) take(ids []int64) map[string][]int64 {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	found := map[string][]int64{}
	for _, id := range ids {
		if namespace, ok := cs.open[id]; ok {
			delete(cs.open, id)
			found[namespace] = append(found[namespace], id)
		}
	}
	return found
}
