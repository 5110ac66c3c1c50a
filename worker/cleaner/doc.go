// Package cleaner does what destruction has left to do: state writes a cleanup
// document in the transaction that makes it necessary, and the cleaner has state
// perform it, in small steps that can be repeated.
package cleaner
