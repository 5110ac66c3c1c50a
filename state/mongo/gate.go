package mongo

import "sync"

// A gate counts the users of a database's connections, which mgo doesn't allow to be used once they are closed. A user
// inside may enter again.
type gate struct {
	mu    sync.Mutex
	users int
	why   error         // why the gate is shut
	empty chan struct{} // closed by the last user to leave, once why is set
}

// enter admits a user, who must leave again, or returns why the gate is shut.
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

// shut shuts the gate and returns when the last user has left; false if it was already shut.
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
