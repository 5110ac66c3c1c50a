// Package pruner removes finished transactions that nothing refers to any more. Without it the
// transactions of a model would accumulate, and so would the queues of its busiest documents.
package pruner
