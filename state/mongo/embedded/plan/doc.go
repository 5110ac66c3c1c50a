// Package plan picks the index that answers a query, and the ranges of its keys that contain
// every match. Ranges may contain more than the matches: the reader applies the query to each
// document.
package plan
