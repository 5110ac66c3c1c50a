// Package update implements MongoDB's update operators.
//
// An update is compiled once and applied to the bytes of a document. Only the parts on the way to
// a changed field are decoded; the rest is copied.
package update
