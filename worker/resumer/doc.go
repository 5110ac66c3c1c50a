// Package resumer takes transactions that some process left unfinished to their
// end, once a minute. Whoever meets one of their documents would do so too, but
// nobody may ever meet them.
package resumer
