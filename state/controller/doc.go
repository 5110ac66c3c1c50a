// Package controller has a controller's own database, with everything except the contents of its models: users and
// their access, the list of models, the archives of charms, and the leases of leadership. A Controller is the database
// "juju"; it creates the database of each model, opens it as a state.State, and removes it.
package controller
