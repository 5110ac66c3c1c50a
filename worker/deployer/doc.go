// Package deployer runs the agents of the units that are assigned to its parent: a machine's
// principals, or a principal's subordinates.
//
// A unit that is Alive and has no agent here is deployed. A unit that is not Alive and never
// had an agent is removed. A deployed unit that is Dead is recalled (its agent is stopped and its files are
// removed), and then removed. A deployed unit that is no longer assigned to the parent is recalled. The
// agents of all other deployed units are kept running.
package deployer
