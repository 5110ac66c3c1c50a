// Package provisioner starts an instance for every machine of a model that needs one, replaces lost
// instances, and cleans up Dead machines and stray instances.
//
// An Alive machine without an instance gets one. A Dying machine without an instance becomes Dead and is
// removed; but if its instance was lost while it had units, it gets a new one, on which the units' agents can
// shut them down. The instance of a Dead machine is stopped, then the machine is removed. If the cloud can't
// stop the instance, the error and the cloud's hint are reported, and the stop is retried. The provisioner
// does not touch a Dying machine with an instance, whose own agent shuts it down, nor a machine that runs a
// controller.
//
// A manual machine is a host that a user has added. The provisioner never starts, replaces or stops it,
// whatever the cloud lists. It removes the machine when it is Dead and its agent has disconnected; the agent
// uninstalls itself.
//
// If an instance can't be started, its machine gets the status error until the user retries it. Other
// machines are not affected.
//
// Starts and stops are limited separately, so neither waits for the other, and neither a slow start nor a
// slow stop delays the scans described below.
//
// The model setting provisioner-harvest-mode can forbid stopping the instances of destroyed machines, and
// the instances that belong to no machine. Remains of a failed start are always stopped.
//
// The provisioner scans the cloud: it lists all instances at startup, when a machine's agent disconnects,
// and every few minutes. It records their addresses, hardware and status, stops those that belong to no machine,
// deletes leftovers whose instance no longer exists, and replaces an instance that two successive scans did
// not find. While a machine has no address, or it or its instance has not started, the next scan follows
// after a second, backing off to a minute; after an error, after half a minute, backing off to 15 minutes. A
// provisioner stores no state of its own: a new one finds unfinished work among the cloud's instances.
package provisioner
