// Package provisioner makes sure that every machine of a model that is not Dead has an agent on
// a live instance, and cleans up Dead machines and stray instances.
//
// An Alive machine without an instance gets one. A machine without an instance that is not
// Alive becomes Dead and is removed; but if units are still on it, because its instance was
// lost, it gets a new instance on which their agents can end them. The instance of a Dead
// machine is stopped, then the machine is removed; if the cloud can't stop the instance, that
// is reported with the cloud's advice, and tried again. The provisioner leaves alone a Dying
// machine that has an instance, which its own agent ends, and a machine that runs a controller.
//
// A manual machine is a host that a user has added. The provisioner never starts, replaces or
// stops it, whatever the cloud lists. When it is Dead and its agent has ended, it is removed; the
// agent uninstalls itself.
//
// When an instance can't be started, its machine gets the status error, which the user sees.
// The other machines go on.
//
// Starts have their turns, and stops theirs; a start that waits, and an instance that the cloud is slow to
// stop, hold up no other machine and no look at the cloud.
//
// The model's setting provisioner-harvest-mode can forbid stopping the instances of destroyed
// machines, and the instances that belong to no machine. What a failed start leaves is always
// stopped.
//
// At the start, when a machine's agent is gone, and every few minutes, the provisioner lists all
// instances that the cloud has.
// It records their addresses, hardware and status, stops those that belong to no machine, deletes
// leftovers whose instance is gone, and starts a new instance for a machine whose instance is missing from
// two lists in a row. While a machine has no address, or it or its instance has not started, the next list
// comes after a second, later after a minute; after an error after half a minute, later after up to 15 minutes. A
// provisioner keeps no state of its own: a new one finds unfinished work among the cloud's
// instances.
package provisioner
