// Package bundlechanges compares a bundle with a model. Plan lists the changes that deploy the bundle to the model,
// and Diff all differences. Both are pure: their callers read the model and make the changes.
package bundlechanges
