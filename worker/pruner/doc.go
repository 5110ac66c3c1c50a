// Package pruner removes finished transactions. Without it, a model's transactions would accumulate, and so
// would the transaction queues of its busiest documents.
package pruner
