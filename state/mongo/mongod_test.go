package mongo_test

import (
	"testing"

	"juju/doc/tools/verify"
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

// TestTheStoreOnARealMongoDB runs tests of the store on replica sets of one and of three, with their transactions, and
// on a standalone, with mgo/txn's.
func TestTheStoreOnARealMongoDB(t *testing.T) {
	verify.Only(t, "needs a MongoDB")
	mongod := mongotest.FindMongod(t)
	set := func(members int) func(*testing.T) string {
		return func(t *testing.T) string { return mongod.StartSet(t, members) }
	}
	for _, server := range []struct {
		name         string
		start        func(*testing.T) (url string)
		transactions bool
	}{
		{"set of one", set(1), mongod.Major >= 4},
		{"set of three", set(3), mongod.Major >= 4},
		{"standalone", func(t *testing.T) string { return "mongodb://" + mongod.Start(t) }, false},
	} {
		t.Run(server.name, func(t *testing.T) { onMongoDB(t, server.start(t), nil, server.transactions) })
	}
}

// TestTheStoreOnASimulatedMongoDB runs the same tests on a simulated replica set, with transactions and without.
func TestTheStoreOnASimulatedMongoDB(t *testing.T) {
	t.Run("transactions", func(t *testing.T) {
		set := mongotest.NewSet(t, 3)
		onMongoDB(t, set.URL(), set.Dial, true)
	})
	t.Run("mgo-txn", func(t *testing.T) {
		set := mongotest.NewSet36(t, 3)
		onMongoDB(t, set.URL(), set.Dial, false)
	})
}

// onMongoDB runs tests of the store on the MongoDB at a URL. dial connects to it; nil is TCP.
func onMongoDB(t *testing.T, text string, dial mongo.Dial, transactions bool) {
	t.Helper()
	url, err := mongo.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	open := func(t *testing.T) (*mongo.Store, *mongo.Database) {
		t.Helper()
		return openURL(t, text, mongo.Options{Dial: mongotest.Tenant(t, url, dial)})
	}
	if store, _ := open(t); store.Shareable() != transactions {
		t.Fatalf("the store has transactions: %v", !transactions)
	}
	for name, test := range map[string]func(*testing.T, opener){
		"bank":                            aBank,
		"facts that change":               aBuilderRunsAgainWhenItsFactsHaveChanged,
		"nothing to do":                   nothingToDoAndErrorsOfTheBuilder,
		"nothing found":                   aBuilderRunsAgainWhenItFindsNothing,
		"writers":                         writersWaitInOrder,
		"a cancelled run":                 aCancelledRunGivesItsSlotBack,
		"deletions":                       deletingSkipsDocumentsThatChange,
		"asserts that fail":               failedAssertsAreDescribed,
		"a database that is being closed": aClosingDatabaseWaitsForItsUsers,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
	if transactions {
		t.Run("two controllers", func(t *testing.T) { twoControllersLoseNoUpdate(t, text, mongotest.Tenant(t, url, dial)) })
	}
}

// aBank moves money between accounts, and audits them.
func aBank(t *testing.T, open opener) {
	_, db := open(t)
	b := newBank(t, db, 6)
	stop := b.work(t, 8)
	defer stop()
	b.progress(t, 100)
	stop()
	b.audit(t)
}
