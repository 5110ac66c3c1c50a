// Package params has the types that clients and the API server exchange: frames, the parameters and results of methods
// for users, and error codes.
//
// Facades for users have the types of Juju 3.6, so that its clients work. For agents the types are derived from the
// methods of state, and only those for watches are here. This is the only package that knows both vocabularies: the
// wire has application, base and application-x where everything else has service, series and service-x. Tag, Base and
// FullStatus translate.
//
// A client and a server can have different versions: unknown fields are ignored, and missing fields have their zero
// values. Lists and maps that clients iterate over are never null.
package params
