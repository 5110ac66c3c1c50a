// Package modelcheck contains the rules by which package check finds inconsistencies in a model's database:
// wrong counts, references to missing documents, lives that the lifecycle tables rule out. It only reads, and
// returns the repairs.
package modelcheck
