// Package update changes documents the way MongoDB's update operators say.
//
// An update is compiled once and applied to the bytes of a document. Only
// the parts on the way to a changed field are taken apart; the rest is
// copied as it is.
package update
