package mongo_test

import (
	"testing"

	"juju/doc/verify"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// TestStepDownsOfAMongoDB makes the primary of a real replica set step down during the work.
func TestStepDownsOfAMongoDB(t *testing.T) {
	verify.Only(t, "needs a MongoDB")
	mongod := mongotest.FindMongod(t)
	url := mongod.StartSet(t, 3)
	u, err := mongo.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	_, db := openURL(t, url, mongo.Options{})
	b := newBank(t, db, 6)
	b.elects = true
	stop := b.work(t, 8)
	defer stop()
	b.progress(t, 20)
	for range 3 {
		mongotest.StepDown(t, u.Hosts(), nil)
		b.progress(t, 20)
	}
	stop()
	b.audit(t)
}

// TestTheStoreOnARealMongoDB uses the store on a single server.
func TestTheStoreOnARealMongoDB(t *testing.T) {
	verify.Only(t, "needs a MongoDB")
	mongod := mongotest.FindMongod(t)
	_, db := openURL(t, "mongodb://"+mongod.Start(t), mongo.Options{})
	b := newBank(t, db, 6)
	stop := b.work(t, 8)
	defer stop()
	b.progress(t, 100)
	stop()
	b.audit(t)
}
