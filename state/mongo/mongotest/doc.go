// Package mongotest plays a replica set of MongoDB, for tests of what must go on
// when its primary is lost.
//
//	set := mongotest.NewSet(t, 3)
//	store, err := mongo.OpenURL(ctx, set.URL(t), set.Dial)
//	set.Fail(mongotest.Fate{After: 7, Done: true, Told: 11602})
//
// The members are fronts before one embedded server: nothing is replicated, and no
// write is ever taken back. What is true to life is what a client sees: who says
// that it is primary, what the others refuse and by which codes, connections that
// end, and requests of which nobody knows whether they were done. It takes nothing
// but OP_MSG, as MongoDB from 5.1 on.
package mongotest
