// Package modeldb says what is in the database of a model: its collections, the ids of their documents, and the
// documents. Package state changes them, each in a transaction; the packages that only read share them with it.
package modeldb
