// Package clouds is the client's view of the clouds, one file for each: how its controllers are created, revived and
// destroyed, and what commands need to know about it. No command depends on the name of a cloud.
//
// A cloud on which this client creates controllers implements Home, and is in Homes. Its controllers start machines
// with a provider.
package clouds
