// Package resumer completes or aborts interrupted transactions, once a minute. Any transaction on the same
// documents would do so too, but there might never be one.
package resumer
