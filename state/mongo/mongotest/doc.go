// Package mongotest simulates a replica set of MongoDB, for tests of what must survive the loss of its
// primary, and provides transaction hooks for tests.
//
//	set := mongotest.NewSet(t, 3)
//	store, err := mongo.OpenURL(ctx, url, mongo.Options{Dial: set.Dial})
//	set.Fail(mongotest.Fate{After: 7, Done: true, Told: 11602})
//
// The members are front ends of one embedded server: nothing is replicated, and no write is ever rolled back. To
// clients it is realistic: which member is primary, what the others reject and with which codes, connections that end,
// and requests whose outcome is unknown. It accepts only OP_MSG, as MongoDB does since 5.1.
package mongotest
