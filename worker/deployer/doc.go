// Package deployer runs the agents of the units in its parent's charge: those of a
// machine's principals, or of a principal's subordinates.
//
// A unit that is Alive and has no agent here is deployed; one that is not Alive and
// never had one is removed. A deployed unit that is Dead is recalled, which ends its
// agent and removes its files, and then removed. A deployed unit that is nobody's
// here any more is recalled. The agents of all other deployed units are kept running.
package deployer
