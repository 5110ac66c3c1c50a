// Package bundlechanges compares a bundle with a model. Plan lists the changes that deploy the bundle to the model,
// and Diff all differences. Declare has the bundle describe the whole model, and not only what it should have at least.
// All are pure: their callers read the model and make the changes.
package bundlechanges
