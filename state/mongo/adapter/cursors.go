package adapter

import "sync"

// cursors maps the open cursors of one server to their collections. mgo kills a cursor by its id alone,
// possibly on a different connection from the one that opened it; the killCursors command requires the
// collection.
type cursors struct {
	mu   sync.Mutex
	open map[int64]string
}

// maxCursors limits the number of cursors that are remembered. The server closes a forgotten one after ten minutes
// without use.
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

// remove forgets a cursor that was closed.
func (cs *cursors) remove(id int64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, id)
}

// take removes and returns the known cursors among ids, by namespace.
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
