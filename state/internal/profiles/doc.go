// Package profiles decides which LXD profiles of charms the machines of a model get, and records which they have.
//
// A machine gets the profiles of the charms that the units on it should run, subordinates included. So a unit that is to
// install or upgrade its charm waits until its machine has that charm's, and the one of the charm before is replaced then.
// A profile goes once no unit on the machine is of its service.
//
// Which profiles an instance has is recorded with its machine from when it is started, unless the cloud's instances can't
// have any: there, and on machines that the cloud did not start, nothing is recorded and nothing awaited.
package profiles
