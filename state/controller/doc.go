// Package controller manages a controller's own database, "juju", which holds everything except the contents of its
// models: users and their access, the list of models, the archives of charms, and leadership leases. A Controller also
// creates the database of each model, opens it as a state.State, and removes it.
package controller
