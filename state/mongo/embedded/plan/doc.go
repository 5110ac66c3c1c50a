// Package plan picks the index that answers a query, and the ranges of its
// keys that hold every match. Ranges may hold more than the matches: whoever
// reads them puts the query to each document.
package plan
