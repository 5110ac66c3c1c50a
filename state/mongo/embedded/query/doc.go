// Package query implements MongoDB's queries, projections and sort orders on documents as bytes.
//
// A query is compiled once (Compile) and then matches any number of documents without decoding them. Its conditions on
// single fields at the top level are available as Predicates, from which package plan picks an index. Matching never
// depends on that choice, so an index only makes a query faster.
package query
