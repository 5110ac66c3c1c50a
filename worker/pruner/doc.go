// Package pruner removes finished transactions that nothing refers to any more.
// Without it the transactions of a model grow for ever, and so do the queues of
// its busiest documents.
package pruner
