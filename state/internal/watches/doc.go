// Package watches tells when parts of a model may have changed. Package watcher documents what each watch guarantees.
package watches
