// Package bundlechanges compares a bundle with a model. Plan lists the changes that make the
// model have what the bundle says, and Diff all differences. Both only decide; who calls them has
// read the model and makes the changes.
package bundlechanges
