// Package mongoerr has the error type of the embedded store: a message and one of MongoDB's numeric codes, which
// drivers evaluate.
package mongoerr
