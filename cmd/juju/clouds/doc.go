// Package clouds is what the clouds are to this client: a file for each, which says how its controllers are created,
// revived and destroyed, and what commands must know of it. No command asks for a cloud by its name.
//
// A cloud on which this client creates controllers implements Home, and is in Homes; its machines are started by the
// controller, with a provider.
package clouds
