package mongo

// Moment returns the current moment, for Replaced.
func (d *Database) Moment() int64 { return moments.Add(1) }

// Replaced reports whether the primary of the MongoDB is known to have been replaced since a moment. What was read before
// may have been rolled back then. If the replacement is noticed only later, the barrier of each request that began before
// fails, as that of a request that has read from the old primary.
func (d *Database) Replaced(since int64) bool {
	return d.store.commits != nil && d.store.commits.changedSince(since)
}
