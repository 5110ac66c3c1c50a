// Package update implements MongoDB's update operators.
//
// An update is compiled once and applied to the bytes of documents. Only the parts along the path to a changed field
// are decoded; the rest is copied.
package update
