// Package mongoerr defines the embedded store's error type: a message and one of MongoDB's numeric codes,
// which drivers check.
package mongoerr
