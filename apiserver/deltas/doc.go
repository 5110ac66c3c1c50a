// Package deltas serves clients that watch everything in a model.
//
// Each model that someone watches has one feed, with the parts of the model as a status has them. The feed follows the
// model's documents and the connections of its agents, and numbers each change of a part. A client has a cursor: the
// number up to which it knows everything. What it gets next is the parts that changed after that, each as it is now, so
// a slow client gets fewer changes, and costs nothing meanwhile. A removed part is kept until all cursors have passed
// it; a cursor that is too far behind ends, and its client begins again. The feed ends with its last cursor.
//
// Clients within the controller share the feed's parts. The JSON of the API is made when it is sent.
package deltas
