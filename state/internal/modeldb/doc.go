// Package modeldb defines the database of a model: its collections, the ids of their documents, and the documents.
// Package state changes them in transactions; the packages that only read share the definitions.
package modeldb
