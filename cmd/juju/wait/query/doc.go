// Package query has the language in which users tell juju wait-for what to wait for: expressions about an entity of a
// model, which are true or false of a status of the model. It is that of Juju's wait-for --query.
package query
