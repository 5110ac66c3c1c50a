// Package dashboard has the pages that a controller serves to browsers: what they show of a model, and how they follow it.
//
// A Mirror is a model as the dashboard knows it: the parts of the model's feed in package deltas, which it shares, by name. It is
// kept once for all who look at the model. Pages are HTML made here from templates; the topology of a model is drawn in the browser from what Topology returns.
package dashboard
