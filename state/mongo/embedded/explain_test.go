package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded"
)

// stagesOf returns the names of a plan's stages, the outermost first, with the index that one uses.
func stagesOf(plan bsoncore.Document) string {
	name := plan.Lookup("stage").StringValue()
	if ix, err := plan.LookupErr("indexName"); err == nil {
		name += "(" + ix.StringValue() + ")"
	}
	if inner, err := plan.LookupErr("inputStage"); err == nil {
		return name + " " + stagesOf(inner.Document())
	}
	if list, err := plan.LookupErr("inputStages"); err == nil {
		values, _ := list.Array().Values()
		for _, v := range values {
			name += " [" + stagesOf(v.Document()) + "]"
		}
	}
	return name
}

// explain tells how a command reads its documents, and how many; it changes none.
func TestExplain(t *testing.T) {
	c := numbered(t, 100)
	c.must(cmd(t, `{"create": "log", "capped": true, "size": 10000}`))
	c.must(cmd(t, `{"insert": "log", "documents": [{"a": 1}, {"a": 2}]}`))
	everything := func() []string {
		return append(rows(t, c, `{"find": "c", "batchSize": 1000}`), rows(t, c, `{"listCollections": 1}`)...)
	}
	before := everything()
	for _, test := range []struct {
		cmd, plan            string
		returned, docs, keys int64
	}{
		{`{"find": "c"}`, "COLLSCAN", 100, 100, 0},
		{`{"find": "none", "filter": {"a": 1}}`, "EOF", 0, 0, 0},
		{`{"find": "c", "filter": {"_id": 7}}`, "IDHACK", 1, 1, 0},
		{`{"find": "c", "filter": {"_id": {"$gt": 89}}}`, "FETCH IXSCAN(_id_)", 10, 10, 0},
		{`{"find": "c", "filter": {"a": 7}, "projection": {"a": 1}}`, "PROJECTION_DEFAULT FETCH IXSCAN(a)", 10, 10, 10},
		{`{"find": "c", "filter": {"a": 7}, "hint": {"$natural": 1}}`, "COLLSCAN", 10, 100, 0},
		{`{"find": "c", "filter": {"$or": [{"a": 7}, {"a": 8}]}}`, "FETCH OR [IXSCAN(a)] [IXSCAN(a)]", 20, 20, 20},
		{`{"find": "c", "filter": {"a": 7}, "sort": {"_id": -1}, "skip": 1, "limit": 2}`, "LIMIT SKIP SORT FETCH IXSCAN(a)", 2, 10, 10},
		{`{"find": "c", "sort": {"a": 1}, "limit": 2}`, "LIMIT FETCH IXSCAN(a)", 2, 2, 2},
		{`{"find": "log", "filter": {"a": 1}}`, "COLLSCAN", 1, 2, 0},
		{`{"find": "log", "filter": {"_id": 1}}`, "FETCH IXSCAN(_id_)", 0, 0, 0},
		{`{"count": "c", "query": {"a": 7}}`, "COUNT FETCH IXSCAN(a)", 10, 10, 10},
		{`{"count": "c"}`, "RECORD_STORE_FAST_COUNT", 100, 0, 0},
		{`{"distinct": "c", "key": "_id", "query": {"a": 7}}`, "FETCH IXSCAN(a)", 10, 10, 10},
		{`{"update": "c", "updates": [{"q": {"a": 7}, "u": {"$set": {"a": 8}}, "multi": true}]}`, "UPDATE FETCH IXSCAN(a)", 10, 10, 10},
		{`{"update": "c", "updates": [{"q": {"_id": 200}, "u": {"$set": {"a": 8}}, "upsert": true}]}`, "UPDATE IDHACK", 0, 0, 0},
		{`{"update": "other", "updates": [{"q": {}, "u": {"$set": {"a": 8}}, "upsert": true}]}`, "UPDATE EOF", 0, 0, 0},
		{`{"delete": "c", "deletes": [{"q": {"a": 7}, "limit": 1}]}`, "DELETE FETCH IXSCAN(a)", 1, 1, 1},
		{`{"findAndModify": "c", "query": {"a": 7}, "remove": true, "sort": {"_id": -1}}`, "DELETE SORT FETCH IXSCAN(a)", 1, 10, 10},
		{`{"findAndModify": "c", "query": {"_id": 7}, "update": {"a": 9}}`, "UPDATE IDHACK", 1, 1, 0},
		{`{"aggregate": "c", "pipeline": [{"$match": {"a": 7}}, {"$sort": {"_id": 1}}], "cursor": {}}`, "SORT FETCH IXSCAN(a)", 10, 10, 10},
	} {
		reply := c.must(cmd(t, `{"explain": %s, "verbosity": "executionStats"}`, test.cmd))
		stats := reply.Lookup("executionStats").Document()
		plan := stagesOf(reply.Lookup("queryPlanner", "winningPlan").Document())
		if plan != test.plan || stagesOf(stats.Lookup("executionStages").Document()) != plan {
			t.Errorf("%s: the plan is %s, want %s", test.cmd, plan, test.plan)
		}
		if n, docs, keys := number(stats, "nReturned"), number(stats, "totalDocsExamined"), number(stats, "totalKeysExamined"); n != test.returned || docs != test.docs || keys != test.keys {
			t.Errorf("%s: %d returned, %d documents and %d keys examined; want %d, %d, %d", test.cmd, n, docs, keys, test.returned, test.docs, test.keys)
		}
	}
	read := examined(c)
	reply := c.must(cmd(t, `{"explain": {"aggregate": "c", "pipeline": [{"$match": {"a": 7}}, {"$group": {"_id": "$a"}}], "cursor": {}}, "verbosity": "queryPlanner"}`))
	plan := stagesOf(reply.Lookup("stages", "0", "$cursor", "queryPlanner", "winningPlan").Document())
	if plan != "FETCH IXSCAN(a)" || examined(c) != read {
		t.Errorf("an aggregation: %s, %v, %d documents read", plan, reply, examined(c)-read)
	}
	reply = c.must(cmd(t, `{"explain": {"update": "c", "updates": [{"q": {"a": {"$in": [7, 8]}}, "u": {"$set": {"a": 8}}, "multi": true}]}, "verbosity": "executionStats"}`))
	if stage := reply.Lookup("executionStats", "executionStages").Document(); number(stage, "nMatched") != 20 || number(stage, "nWouldModify") != 10 {
		t.Errorf("an update: %v", stage)
	}
	if after := everything(); !slices.Equal(after, before) {
		t.Errorf("explain has changed something:\n%q\n%q", before, after)
	}
	for _, test := range []struct {
		text string
		code int
	}{
		{`{"explain": {"insert": "c", "documents": [{}]}}`, 59},
		{`{"explain": {"drop": "c"}}`, 59},
		{`{"explain": {"find": "c", "filter": {"a": {"$frob": 1}}}}`, 2},
		{`{"explain": {"find": "c", "hint": "none"}}`, 2},
		{`{"explain": {"find": "c"}, "verbosity": "loud"}`, 9},
		{`{"explain": 1}`, 14},
		{`{"explain": {"aggregate": "c", "pipeline": [{"$lookup": {}}]}}`, 40324},
		{`{"explain": {"delete": "c", "deletes": [{"q": {}, "limit": 1}, {"q": {}, "limit": 1}]}}`, 16},
	} {
		if code := c.code(cmd(t, "%s", test.text)); code != test.code {
			t.Errorf("%s: code %d, want %d", test.text, code, test.code)
		}
	}
}

// The time limit of an explained command is that of its execution.
func TestExplainHasATimeLimit(t *testing.T) {
	c := connect(t, open(t, embedded.Options{}))
	list := make([]int, 300)
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: []any{d{{Key: "a", Value: list}, {Key: "b", Value: list}}}}})
	const slow = `{"aggregate": "c", "pipeline": [{"$unwind": "$a"}, {"$unwind": "$b"}], "cursor": {}`
	for _, text := range []string{
		`{"explain": ` + slow + `, "maxTimeMS": 1}, "verbosity": "executionStats"}`,
		`{"explain": ` + slow + `}, "verbosity": "executionStats", "maxTimeMS": 1}`,
		`{"explain": ` + slow + `, "maxTimeMS": 1000000}, "verbosity": "executionStats", "maxTimeMS": 1}`,
	} {
		if code := c.code(cmd(t, "%s", text)); code != 50 {
			t.Errorf("%s: code %d", text, code)
		}
	}
}

// What mongosh asks when it starts, and for its reports on collections and databases.
func TestWhatAShellAsks(t *testing.T) {
	c := numbered(t, 100)
	for _, ask := range []string{
		`{"hello": 1}`, `{"buildInfo": 1}`, `{"connectionStatus": 1, "showPrivileges": true}`, `{"whatsmyuri": 1}`, `{"hostInfo": 1}`,
		`{"getCmdLineOpts": 1}`, `{"getParameter": "*"}`, `{"getParameter": 1, "featureCompatibilityVersion": 1}`,
		`{"getLog": "*"}`, `{"getLog": "global"}`, `{"getLog": "startupWarnings"}`,
	} {
		c.must(cmd(t, "%s", ask))
	}
	if n := number(c.must(cmd(t, `{"hello": 1}`)), "maxWireVersion"); n != 9 {
		t.Errorf("the protocol is version %d", n)
	}
	if code := c.code(cmd(t, `{"getParameter": 1, "frob": 1}`)); code != 72 {
		t.Errorf("an unknown parameter: code %d", code)
	}
	if code := c.code(cmd(t, `{"getLog": "frob"}`)); code != 96 {
		t.Errorf("an unknown log: code %d", code)
	}
	stats := c.must(cmd(t, `{"dbStats": 1}`))
	coll := c.must(cmd(t, `{"collStats": "c"}`))
	if number(stats, "objects") != 100 || number(stats, "indexes") != 2 || number(stats, "dataSize") != number(coll, "size") || number(coll, "size") < 1000 {
		t.Errorf("%v\n%v", stats, coll)
	}
	if scaled := c.must(cmd(t, `{"dbStats": 1, "scale": 100}`)); number(scaled, "dataSize") != number(stats, "dataSize")/100 {
		t.Errorf("scaled: %v", scaled)
	}
	if got, want := aggregated(t, c, `{"$collStats": {"storageStats": {}}}, {"$group": {"_id": null, "v": {"$sum": "$storageStats.size"}}}, {"$project": {"_id": 0, "n": {"$eq": ["$v", `+coll.Lookup("size").String()+`]}}}`), `{"n":true}`; got != want {
		t.Errorf("$collStats: %s", got)
	}
	if code := c.code(cmd(t, `{"aggregate": "none", "pipeline": [{"$collStats": {"storageStats": {}}}], "cursor": {}}`)); code != 26 {
		t.Errorf("$collStats of nothing: code %d", code)
	}
	for _, test := range []struct{ ask, names string }{
		{`{"replSetGetStatus": 1}`, "'replSetGetStatus'"},
		{`{"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}}`, "'$currentOp'"},
		{`{"aggregate": "c", "pipeline": [{"$collStats": {"latencyStats": {}}}], "cursor": {}}`, "'latencyStats'"},
		{`{"update": "c", "updates": [{"q": {}, "u": [{"$set": {"a": 1}}]}]}`, "pipeline"},
	} {
		if reply := c.command(cmd(t, "%s", test.ask)); !strings.Contains(reply.String(), test.names) {
			t.Errorf("%s: %v", test.ask, reply)
		}
	}
}

// quietLog discards what a server logs.
type quietLog struct{}

func (quietLog) Infof(string, ...any)  {}
func (quietLog) Errorf(string, ...any) {}

// getLog returns the latest messages, each as one line of JSON.
func TestLog(t *testing.T) {
	s, err := embedded.Open("store", embedded.Options{FS: vfs.NewMem(), Logger: quietLog{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 1100 {
		bad := connect(t, s)
		bad.send([]byte{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xd4, 7, 0, 0})
		if _, err := bad.conn.Read(make([]byte, 1)); err == nil {
			t.Fatal("a reply to a message that is too short")
		}
	}
	reply := connect(t, s).must(d{{Key: "getLog", Value: "global"}})
	lines, err := reply.Lookup("log").Array().Values()
	if err != nil || len(lines) != 1024 || number(reply, "totalLinesWritten") != 1100 {
		t.Fatalf("%d lines of %d, %v", len(lines), number(reply, "totalLinesWritten"), err)
	}
	var line struct{ S, Msg string }
	if err := bson.UnmarshalExtJSON([]byte(lines[0].StringValue()), false, &line); err != nil || line.S != "I" || !strings.HasPrefix(line.Msg, "from ") {
		t.Errorf("%s: %v", lines[0], err)
	}
}
