// Package params holds what travels between clients and the API server: the
// frames, the requests and results of every method, and the codes of errors.
//
// Facades for users have Juju 3.6's shapes, so that its clients work; facades
// for agents have shapes of our own, after what the workers ask. This is the
// one package in which both vocabularies meet: the wire says application, base
// and application-x where everything else says service, series and service-x
// (Tag, Base and FullStatus translate).
//
// A client may know more fields, or fewer, than the server: unknown fields are
// ignored, missing ones have their zero value. Lists and maps that clients
// iterate over are never null.
package params
