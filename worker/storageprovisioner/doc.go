// Package storageprovisioner makes, attaches, detaches and destroys the storage of a model, as far
// as its records ask for it. What fails is tried again after a pause that doubles; the reason is
// the storage's status until then.
//
// Steps are taken side by side, so that what the cloud is slow at holds up no other machine's storage;
// and each in its turn, so that what hangs again and again does not either.
//
// An instance gets its filesystem as soon as the cloud can make it. It is attached once its unit's
// machine has an instance, and detached when the unit has given it up: the attachment is Dead. The
// filesystem of a Dying instance that no unit has is destroyed, or released to the user, and the
// instance removed.
package storageprovisioner
