// Package modelcheck contains the rules with which package check finds inconsistencies in the database of a model:
// wrong counts, references to missing documents, lives that the lifecycle tables rule out. It only reads, and returns
// the repairs.
package modelcheck
