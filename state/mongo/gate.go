package mongo

import "sync"

// A gate counts the users of a database's connections, because mgo doesn't allow the use of closed
// connections. It is reentrant.
type gate struct {
	mu    sync.Mutex
	users int
	why   error         // why the gate is shut
	empty chan struct{} // closed by the last user to leave, once why is set
}

// enter admits a user, who must call leave, or returns why the gate is shut.
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

// shut shuts the gate and returns once the last user has left. It returns false if the gate was
// already shut.
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
