// Package lifecycle defines the lifecycles of entities as three tables. Kinds says how each kind of entity is stored and
// which documents it owns. Moves says which transitions each kind can make, who makes them, and when. Refs says which
// kinds refer to which, what each reference prevents, and what destroying its target does to its source.
//
// Package state executes these tables: it derives from them what a transaction asserts and removes, the errors that
// users get, the cleanups that a destruction schedules, the order of forced removal, the checker's rules, and the
// explanations of why an entity still exists. doc/lifecycles.md shows the tables.
//
// This package does no I/O: Plan is given facts and returns a step.
package lifecycle
