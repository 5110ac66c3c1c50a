// Package instancemutater gives the instances of a model's machines the LXD profiles of the charms on them, in place of those
// that they have, and records that. The units wait for it with installing and upgrading their charms.
//
// Instances have their machines' profiles from their start, if these were known then: see package provisioner. The worker
// runs only where instances can have profiles.
package instancemutater
