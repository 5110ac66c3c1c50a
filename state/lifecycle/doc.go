// Package lifecycle holds the rules of life and death as data: one table of the
// moves that each kind of entity can make and who may make them, and one table of
// the references between entities, what each bars, and what the destruction of
// its target does to its source.
//
// Everything that depends on the rules comes from these two tables: the facts
// that a transaction asserts, the refusals that users read, the cleanups that a
// destruction leaves behind, the explanations of why something is still there,
// and the tables in doc/lifecycles.md. Their sources are seeds/lifecycles.txt
// (above all its section References) and seeds/death-and-destruction.txt, as
// decided by section 9 of the design.
//
// The package is pure: Plan looks at facts that it is handed and says what to do.
package lifecycle
