// Package modelcheck has the rules by which package check finds what can't be in the database of a model: wrong
// counts, references to documents that do not exist, lives that the lifecycle tables rule out. It reads, and says
// what would repair it.
package modelcheck
