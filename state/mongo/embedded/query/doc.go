// Package query gives MongoDB's queries, projections and sort orders their
// meaning, on documents as bytes.
//
// A query is compiled once (Compile) and then matches any number of
// documents without decoding them. What it asks of single fields at its top
// can be had as Predicates, from which package plan picks an index; a match
// never relies on that choice, so an index can only make a query faster.
package query
