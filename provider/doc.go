// Package provider defines the interface to a cloud: start a machine with an agent on it, stop it,
// and list all instances. Providers keep no state outside the cloud and do not depend on the store.
//
// Every instance is tagged with its controller, model and machine; only these tags tie an instance to
// a model. An instance is a stray if state has no such machine, or records a different instance for
// it. The caller that compares the two lists may stop strays.
//
// Each cloud has a package below this one. There is no registry: a program opens the clouds it
// supports.
package provider
