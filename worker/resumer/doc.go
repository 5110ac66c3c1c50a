// Package resumer completes or aborts, once a minute, the transactions that some process left
// unfinished. Any transaction that touches the same documents would do so too, but there might
// never be one.
package resumer
