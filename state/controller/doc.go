// Package controller holds what a controller knows besides the contents of its models: users
// and their access, which models there are, the archives of charms, and the leases of
// leadership. A Controller is the database "juju"; it makes the database of each model, opens
// it as a state.State, and removes it.
package controller
