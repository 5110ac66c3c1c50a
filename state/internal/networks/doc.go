// Package networks stores the spaces of a model, and the subnets of its cloud, in one document: there are few, they change
// rarely, and nearly every reader needs all of them.
package networks
