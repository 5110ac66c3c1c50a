// Package mongoerr holds the error that the embedded store answers with:
// a message and one of MongoDB's numeric codes, which is what drivers
// look at.
package mongoerr
