package mongo

import "sync"

// A gate counts who uses the connections of a database, which mgo does not let
// anybody do any more once they are closed. Who is inside may go in again.
type gate struct {
	mu    sync.Mutex
	users int
	why   error         // that nobody gets in any more
	empty chan struct{} // closed with the last user, once why is set
}

// enter lets a user in, who must leave again, or says why not.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why != nil {
		return g.why
	}
	g.users++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users--; g.users == 0 && g.why != nil {
		close(g.empty)
	}
}

// shut lets nobody in any more and returns when the last has left; false when it
// was shut before.
func (g *gate) shut(why error) bool {
	g.mu.Lock()
	if g.why != nil {
		g.mu.Unlock()
		return false
	}
	g.why, g.empty = why, make(chan struct{})
	if g.users == 0 {
		close(g.empty)
	}
	g.mu.Unlock()
	<-g.empty
	return true
}
