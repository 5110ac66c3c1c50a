package mongo

const (
	EmbeddedSlots = embeddedSlots
	RemoteSlots   = remoteSlots
)

// Slots returns how many slots there are, and how many of them have a connection.
func (d *Database) Slots() (all, connected int) {
	q := d.slots
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.all {
		if s.session != nil {
			connected++
		}
	}
	return len(q.all), connected
}
