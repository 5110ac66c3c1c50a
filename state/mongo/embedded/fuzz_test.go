package embedded_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/wire"
	"juju/state/mongo/embedded/wire/wiretest"
)

// requests are the seed corpus: commands of all kinds.
var requests = []string{
	`{"insert": "c", "documents": [{"_id": 1, "a": [1, {"b": null}], "$x": 1}, {"a": {"$numberLong": "5"}}]}`,
	`{"insert": "u", "documents": [{"_id": {"c": "x", "id": 1}, "k": {"$binary": {"base64": "AAAA", "subType": "02"}}}], "ordered": false}`,
	`{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a.1.b": 7}, "$inc": {"n": 1}, "$push": {"l": {"$each": [3, 1], "$sort": -1, "$slice": 5, "$position": 0}}}, "upsert": true}]}`,
	`{"update": "c", "updates": [{"q": {"a": {"$elemMatch": {"$gt": 1}}}, "u": {"$set": {"a.$": 2}, "$addToSet": {"s": {"$each": [1]}}, "$pull": {"l": {"$regex": "^x"}}}, "multi": true}]}`,
	`{"update": "c", "updates": [{"q": {}, "u": {"$rename": {"a": "b"}, "$mul": {"n": 1.5}, "$pop": {"l": 1}, "$pullAll": {"s": [1]}, "$min": {"x": 1}, "$max": {"y": 1}, "$unset": {"z": 1}}}]}`,
	`{"update": "c", "updates": [{"q": {"_id": 3}, "u": {"a": {"$numberDecimal": "1E400"}}, "upsert": true}]}`,
	`{"update": "c", "updates": [{"q": {}, "u": {"$inc": {"d": {"$numberDecimal": "1E-6000"}}, "$set": {"e.$[].f": 1}}}]}`,
	`{"delete": "c", "deletes": [{"q": {"a": {"$in": [1, null, {"$regularExpression": {"pattern": "a", "options": "ix"}}]}}, "limit": 1}, {"q": {"_id": 9}, "limit": 0}]}`,
	`{"find": "c", "filter": {"$or": [{"a": {"$gte": 1, "$lt": 5}}, {"b": {"$not": {"$size": 2}}}], "$nor": [{"x": {"$all": [1, {"$elemMatch": {"y": 1}}]}}]}, "sort": {"a": 1, "_id": -1}, "projection": {"a": {"$slice": [1, 2]}, "_id": 0}, "skip": 1, "limit": 3}`,
	`{"find": "c", "filter": {"a.b": {"$type": ["int", 2], "$exists": true}}, "projection": {"a.$": 1}, "hint": {"_id": 1}, "batchSize": 0}`,
	`{"find": "log", "tailable": true, "awaitData": true, "filter": {}}`,
	`{"getMore": {"$numberLong": "1"}, "collection": "c", "batchSize": 1, "maxTimeMS": 1}`,
	`{"killCursors": "c", "cursors": [{"$numberLong": "1"}]}`,
	`{"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"a": {"$undefined": true}}}, "new": true, "upsert": true, "fields": {"a": 1}, "sort": {"a": -1}}`,
	`{"findAndModify": "c", "query": {"a": {"$minKey": 1}}, "remove": true}`,
	`{"count": "c", "query": {"a": {"$maxKey": 1}}, "limit": -2, "skip": 1}`,
	`{"distinct": "c", "key": "a.b", "query": {"a": {"$ne": {"$timestamp": {"t": 1, "i": 2}}}}}`,
	`{"create": "log", "capped": true, "size": 4096, "max": 3}`,
	`{"insert": "log", "documents": [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]}`,
	`{"createIndexes": "c", "indexes": [{"key": {"a": 1, "b.c": -1}, "name": "ab", "unique": true}, {"key": {"l": 1}, "name": "l", "sparse": true}]}`,
	`{"dropIndexes": "c", "index": {"a": 1, "b.c": -1}}`,
	`{"listIndexes": "c", "cursor": {"batchSize": 1}}`,
	`{"listCollections": 1, "filter": {"name": {"$regex": "^l"}}, "cursor": {}}`,
	`{"listDatabases": 1, "nameOnly": true}`,
	`{"collStats": "c", "scale": 1024}`, `{"dbStats": 1}`, `{"getLog": "global"}`, `{"connectionStatus": 1}`, `{"getParameter": "*"}`,
	`{"aggregate": "c", "pipeline": [{"$match": {"a": 1}}, {"$sort": {"b": 1}}, {"$limit": 2}, {"$project": {"x": {"$add": ["$a", 1]}}}], "cursor": {"batchSize": 0}}`,
	`{"aggregate": "c", "pipeline": [{"$collStats": {"storageStats": {"scale": 2}, "count": {}}}, {"$unwind": "$a"}, {"$count": "n"}], "cursor": {}}`,
	`{"explain": {"update": "c", "updates": [{"q": {"a": 1}, "u": {"$set": {"a": 2}}, "multi": true}]}, "verbosity": "executionStats"}`,
	`{"explain": {"aggregate": "c", "pipeline": [{"$match": {"a": {"$gt": 1}}}, {"$group": {"_id": "$a"}}], "cursor": {}}}`,
	`{"serverStatus": 1}`, `{"buildInfo": 1}`, `{"isMaster": 1, "helloOk": true}`, `{"getnonce": 1}`, `{"ping": 1}`,
	`{"drop": "c"}`, `{"dropDatabase": 1}`,
	`{"insert": "c", "documents": [{"_id": {"$code": "f", "$scope": {"a": 1}}, "p": {"$dbPointer": {"$ref": "d.c", "$id": {"$oid": "000000000000000000000000"}}}, "y": {"$symbol": "s"}}]}`,
}

// FuzzCommand sends commands. Each must get a reply without a panic, and the indexes must still agree with
// the documents.
func FuzzCommand(f *testing.F) {
	s := open(f, embedded.Options{})
	for _, r := range requests {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var cmd bson.D
		if err := bson.UnmarshalExtJSON([]byte(text), false, &cmd); err != nil || len(cmd) == 0 {
			return
		}
		for _, e := range cmd {
			if e.Key == "$db" || e.Key == "maxTimeMS" {
				return // maxTimeMS could make it wait; command adds $db itself
			}
		}
		if _, err := bson.Marshal(cmd); err != nil {
			return
		}
		c := connect(t, s)
		if err := c.conn.SetDeadline(time.Now().Add(verify.Patience)); err != nil {
			t.Fatal(err)
		}
		doc := c.command(cmd)
		if v := doc.Lookup("code"); v.Type != 0 && v.Int32() == 1 {
			t.Errorf("%s: %v", text, doc)
		}
		if err := s.Check(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}

// FuzzMessage sends arbitrary bytes. The server may close that connection, but must keep serving others.
func FuzzMessage(f *testing.F) {
	s := open(f, embedded.Options{})
	for i, r := range requests {
		var cmd bson.D
		if err := bson.UnmarshalExtJSON([]byte(r), false, &cmd); err != nil {
			f.Fatal(r, err)
		}
		doc := bsontest.RawDocument(append(cmd, bson.E{Key: "$db", Value: "db"}))
		f.Add(wire.AppendMsg(nil, int32(i), 0, doc))
		f.Add(wire.AppendQuery(nil, int32(i), wire.Query{Collection: "db.$cmd", Limit: -1, Query: doc}))
	}
	f.Add(wire.AppendQuery(nil, 1, wire.Query{Flags: wire.QueryTailable, Collection: "db.log", Query: bsontest.RawDocument(nil)}))
	f.Add(wire.AppendQuery(nil, 1, wire.Query{Collection: "db.c", Limit: 2, Query: bsontest.RawDocument(bson.D{{Key: "$query", Value: bson.D{}}, {Key: "$orderby", Value: bson.D{{Key: "a", Value: 1}}}})}))
	f.Add(wiretest.AppendGetMore(nil, 1, wire.GetMore{Collection: "db.c", Cursor: 1}))
	f.Add(wiretest.AppendKillCursors(nil, 1, wire.KillCursors{Cursors: []int64{1}}))
	f.Fuzz(func(t *testing.T, msg []byte) {
		if len(msg) < wire.HeaderSize {
			return
		}
		// Set the true length; otherwise the server would wait for more.
		binary.LittleEndian.PutUint32(msg, uint32(len(msg)))
		c := connect(t, s)
		c.send(msg)
		// Send a ping behind the message, in case it was valid.
		ping := wire.AppendMsg(nil, 7, 0, bsontest.RawDocument(bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: "db"}}))
		if _, err := c.conn.Write(ping); err != nil && err != io.ErrClosedPipe {
			t.Fatal(err)
		}
		if err := c.conn.SetDeadline(time.Now().Add(verify.Patience)); err != nil {
			t.Fatal(err)
		}
		for {
			head, _, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
			if err == io.EOF || err == nil && head.ResponseTo == 7 {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		connect(t, s).must(d{{Key: "ping", Value: 1}})
	})
}

// TestAnything sends random commands made of all operators and types of values, most of them invalid.
func TestAnything(t *testing.T) {
	n := 6000
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		n = 50_000
	case testing.Short():
		n /= 2
	}
	s := open(t, embedded.Options{})
	c := connect(t, s)
	c.must(d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
		d{{Key: "name", Value: "ab"}, {Key: "key", Value: d{{Key: "a", Value: 1}, {Key: "b", Value: -1}}}},
		d{{Key: "name", Value: "a.b"}, {Key: "key", Value: d{{Key: "a.b", Value: 1}}}},
		d{{Key: "name", Value: "b"}, {Key: "key", Value: d{{Key: "b", Value: -1}}}, {Key: "unique", Value: true}, {Key: "sparse", Value: true}},
	}}})
	good := 0
	for i := range n {
		r := rand.New(rand.NewPCG(21, uint64(i)))
		cmd := anyCommand(r)
		doc := c.command(cmd)
		switch code := doc.Lookup("code"); {
		case code.Type == 0:
			good++
		case code.Int32() == 1:
			t.Fatalf("%d: %v: %v", i, cmd, doc)
		}
		if i%500 == 0 {
			if err := s.Check(t.Context(), nil); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
	}
	if good < n/10 {
		t.Errorf("only %d of %d commands succeeded", good, n)
	}
}

func anyPath(r *rand.Rand) string {
	return []string{"_id", "a", "b", "a.b", "a.0", "b.a.ab", "a.$", "a.$[].b", "ab"}[r.IntN(9)]
}

// anyValue returns a random value, or a document of operators with random operands.
func anyValue(r *rand.Rand, ops []string, depth int) any {
	if r.IntN(3) == 0 || depth == 0 {
		return bsontest.Value(r, 2)
	}
	out := d{}
	for range 1 + r.IntN(2) {
		var v any
		switch r.IntN(4) {
		case 0:
			v = bson.A{anyValue(r, ops, depth-1), bsontest.Value(r, 1)}
		case 1:
			v = int32(r.IntN(5) - 1)
		default:
			v = anyValue(r, ops, depth-1)
		}
		out = append(out, bson.E{Key: ops[r.IntN(len(ops))], Value: v})
	}
	return out
}

var (
	queryOps = []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$not", "$exists", "$type", "$size", "$all",
		"$elemMatch", "$regex", "$options", "a", "$and", "$or"}
	updateOps = []string{"$set", "$unset", "$inc", "$mul", "$min", "$max", "$rename", "$setOnInsert", "$push", "$addToSet", "$pull",
		"$pullAll", "$pop"}
	expressions = []string{"$add", "$subtract", "$multiply", "$divide", "$mod", "$cmp", "$eq", "$cond", "$ifNull", "$concat", "$substr", "$toString",
		"$type", "$size", "$arrayElemAt", "$in", "$objectToArray", "$sum", "$literal", "a"}
	argumentOps = []string{"$each", "$sort", "$slice", "$position", "$in", "$gt", "$regex", "$type", "a"}
	showOps     = []string{"$slice", "$elemMatch"}
)

func anyQuery(r *rand.Rand) d {
	q := d{}
	for range r.IntN(3) {
		if r.IntN(5) == 0 {
			q = append(q, bson.E{Key: []string{"$or", "$and", "$nor"}[r.IntN(3)], Value: bson.A{anyQuery(r), anyQuery(r)}})
		} else {
			q = append(q, bson.E{Key: anyPath(r), Value: anyValue(r, queryOps, 2)})
		}
	}
	return q
}

func anyUpdate(r *rand.Rand) d {
	if r.IntN(8) == 0 {
		return bsontest.Document(r, 2)
	}
	u := d{}
	for range 1 + r.IntN(2) {
		u = append(u, bson.E{Key: updateOps[r.IntN(len(updateOps))], Value: d{{Key: anyPath(r), Value: anyValue(r, argumentOps, 2)}}})
	}
	return u
}

func anyCommand(r *rand.Rand) d {
	order := d{{Key: anyPath(r), Value: 2*r.IntN(2) - 1}}
	show := d{{Key: anyPath(r), Value: []any{0, 1, anyValue(r, showOps, 1)}[r.IntN(3)]}}
	switch r.IntN(9) {
	case 0, 1:
		return d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{append(d{{Key: "_id", Value: r.IntN(50)}}, bsontest.Document(r, 2)...)}}}
	case 2:
		return d{{Key: "find", Value: "c"}, {Key: "filter", Value: anyQuery(r)}, {Key: "sort", Value: order}, {Key: "projection", Value: show}}
	case 3, 4:
		return d{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: anyQuery(r)}, {Key: "u", Value: anyUpdate(r)}, {Key: "upsert", Value: r.IntN(4) == 0}, {Key: "multi", Value: r.IntN(3) == 0}}}}}
	case 5:
		return d{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: anyQuery(r)}, {Key: "sort", Value: order}, {Key: "fields", Value: show}, {Key: "update", Value: anyUpdate(r)}, {Key: "new", Value: r.IntN(2) == 0}, {Key: "upsert", Value: r.IntN(4) == 0}}
	case 6:
		return d{{Key: "distinct", Value: "c"}, {Key: "key", Value: anyPath(r)}, {Key: "query", Value: anyQuery(r)}}
	}
	if r.IntN(2) == 0 {
		stages := bson.A{d{{Key: "$match", Value: anyQuery(r)}}, d{{Key: "$sort", Value: order}}, d{{Key: "$project", Value: d{{Key: "x", Value: anyValue(r, expressions, 3)}, {Key: "b", Value: 1}}}},
			d{{Key: "$unwind", Value: "$" + anyPath(r)}}, d{{Key: "$group", Value: d{{Key: "_id", Value: anyValue(r, expressions, 2)}, {Key: "n", Value: d{{Key: "$push", Value: "$a"}}}}}}}
		return d{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: stages[r.IntN(3):][:1+r.IntN(3)]}, {Key: "cursor", Value: d{}}}
	}
	return d{{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{d{{Key: "q", Value: anyQuery(r)}, {Key: "limit", Value: 1}}}}}
}
