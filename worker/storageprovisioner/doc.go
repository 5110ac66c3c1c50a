// Package storageprovisioner creates, attaches, detaches and destroys the storage of a model as its records
// require. Failed steps are retried with exponential backoff; until then the storage's status shows the error.
//
// Steps run concurrently, so a slow step does not hold up the storage of other machines. They are scheduled
// in order of waiting time, so storage that keeps hanging does not starve the rest.
//
// A storage instance gets its filesystem as soon as the cloud can create it. The filesystem is attached once
// its unit's machine has an instance, and detached when the attachment is Dead, that is, when the unit has
// released it. When a storage instance is Dying and not attached, its filesystem is destroyed, or released to
// the user, and the storage instance is removed.
package storageprovisioner
