// Package params holds what clients and the API server exchange: the frames, the requests and
// results of the methods for users, and the codes of errors.
//
// Facades for users have the shapes of Juju 3.6, so that its clients work. For agents the
// shapes follow from the methods of state, and only watches are here. This is the only package
// that knows both vocabularies: the wire says application, base and application-x where
// everything else says service, series and service-x. Tag, Base and FullStatus translate.
//
// A client and a server can be of different versions: unknown fields are ignored, and missing
// ones have their zero value. Lists and maps that clients iterate over are never null.
package params
