// Package plan picks the index for a query, and ranges of its keys that contain every match. Ranges may contain more
// than the matches; the reader applies the query to each document.
package plan
