package mongotest

import (
	"bufio"
	"net"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// A front is one connection to a member.
type front struct {
	set      *Set
	name     string // the client's
	member   int
	client   net.Conn
	upstream net.Conn
	pair     *replicas // of a set whose members can lose writes
	sure     net.Conn  // to what the majority has
	login    login
}

func (f *front) close() {
	f.client.Close()
	f.upstream.Close()
	if f.sure != nil {
		f.sure.Close()
	}
}

// serve executes requests one at a time.
func (f *front) serve() {
	defer f.set.forget(f)
	defer f.close()
	in := bufio.NewReader(f.client)
	for {
		head, m, err := wire.Read(in, wire.MaxMessage)
		if err != nil {
			return
		}
		time.Sleep(f.set.RoundTrip)
		f.set.thawed()
		var reply []byte
		switch m := m.(type) {
		case *wire.Query: // the greeting: the server rejects any other OP_QUERY
			answer, ok := f.answer(m.Query)
			if !ok {
				return
			}
			reply = wire.AppendReply(nil, 0, head.RequestID, wire.Reply{Documents: []bsoncore.Document{answer}})
		case *wire.Msg:
			answer, ok := f.answer(m.Body)
			if !ok {
				return
			}
			reply = wire.AppendMsg(nil, 0, head.RequestID, answer)
		default:
			return
		}
		if _, err := f.client.Write(reply); err != nil {
			return
		}
	}
}

// A member accepts the open commands in any role and, except for getMore, without a login.
var (
	open   = []string{"getMore", "killCursors", "hello", "isMaster", "ismaster", "ping", "buildInfo", "buildinfo", "saslStart", "saslContinue", "logout"}
	writes = []string{"insert", "update", "delete", "findAndModify", "commitTransaction"}
	reads  = []string{"find", "aggregate", "count", "distinct", "listCollections", "listIndexes", "listDatabases", "collStats", "serverStatus"}
)

// answer executes a command and returns the reply; false closes the connection.
func (f *front) answer(body bsoncore.Document) (bsoncore.Document, bool) {
	name := firstKey(body)
	if f.set.Heard != nil {
		f.set.Heard(Command{f.name, name, text(body, "$db"), text(body, name), body})
	}
	switch name {
	case "hello", "isMaster", "ismaster":
		answer, ok := f.forward(body)
		return f.hello(answer), ok
	case "saslStart", "saslContinue", "logout":
		return f.login.step(f.set.Users, name, body), true
	}
	if (!slices.Contains(open, name) || name == "getMore") && len(f.set.Users) > 0 && !f.login.done {
		return refusal(13, "command "+name+" requires authentication"), true
	}
	is, election := f.set.isPrimary(f.member)
	if !is && !slices.Contains(open, name) {
		_, prefers := raw.Get(body, "$readPreference")
		switch read := slices.Contains(reads, name); {
		case read && !prefers:
			return refusal(13435, "not primary and secondaryOk=false"), true
		case !read:
			return refusal(10107, "not primary"), true
		}
	}
	if name == "replSetStepDown" {
		return f.stepDown(body)
	}
	if !slices.Contains(writes, name) {
		return f.execute(name, body)
	}
	if answer := f.set.beaten(name, body); answer != nil {
		return answer, true
	}
	fate, met := f.set.counts(strings.TrimSpace(name + " " + text(body, name)))
	if met && !fate.Done {
		return f.fail(fate, body)
	}
	answer, ok := f.execute(name, body)
	if isMajorityWrite(body) {
		time.Sleep(f.set.Majority)
	}
	if ok && met {
		return f.fail(fate, body)
	}
	if ok {
		answer = f.set.replicated(body, answer)
	}
	if ok && name != "findAndModify" && name != "commitTransaction" {
		answer = with(answer, func(dst []byte) []byte {
			return bsoncore.AppendObjectIDElement(dst, "electionId", election)
		})
	}
	return answer, ok
}

func isMajorityWrite(body bsoncore.Document) bool {
	concern, _ := raw.Get(body, "writeConcern")
	if concern.Type != bson.TypeEmbeddedDocument {
		return false
	}
	w, _ := raw.Get(concern.Document(), "w")
	return w.Type == bson.TypeString && string(raw.Text(w)) == "majority"
}

// execute forwards a command, and tells the set which transactions are open. None goes on after a member has aborted them all
// because it ceases to be primary: it would stay open, with its locks. Replicas lose them with their server.
func (f *front) execute(name string, body bsoncore.Document) (bsoncore.Document, bool) {
	if _, inTxn := raw.Get(body, "autocommit"); !inTxn {
		return f.forward(body)
	}
	if f.pair == nil {
		f.set.aborts.RLock()
		defer f.set.aborts.RUnlock()
		if is, _ := f.set.isPrimary(f.member); !is {
			return refusal(10107, "not primary"), true
		}
	}
	defer f.note(name, body)
	return f.forward(body)
}

// note tells the set, after a command in a transaction, whether that is open.
func (f *front) note(name string, body bsoncore.Document) {
	session, _ := raw.Get(body, "lsid")
	number, _ := raw.Get(body, "txnNumber")
	abort := bsoncore.NewDocumentBuilder().AppendInt32("abortTransaction", 1).AppendValue("lsid", session).
		AppendValue("txnNumber", number).AppendBoolean("autocommit", false).AppendString("$db", "admin").Build()
	f.set.begun(string(session.Data), abort, name == "commitTransaction" || name == "abortTransaction")
}

// stepDown behaves like MongoDB 3.6: it rejects contradictory periods, and closes all connections of the
// member.
func (f *front) stepDown(body bsoncore.Document) (bsoncore.Document, bool) {
	period, catchUp := int64(0), int64(10)
	if v, ok := raw.Get(body, "replSetStepDown"); ok {
		period, _ = raw.Int(v)
	}
	if v, ok := raw.Get(body, "secondaryCatchUpPeriodSecs"); ok {
		catchUp, _ = raw.Int(v)
	}
	if period < catchUp {
		return refusal(2, "stepdown period must be longer than secondaryCatchUpPeriodSecs"), true
	}
	f.set.lose(Fate{}, body)
	return nil, false
}

// fail loses the primary, and may report that to the client.
func (f *front) fail(fate Fate, body bsoncore.Document) (bsoncore.Document, bool) {
	f.set.lose(fate, body)
	return refusal(fate.Told, "the primary steps down"), fate.Told != 0
}

// forward forwards the command to the server.
func (f *front) forward(body bsoncore.Document) (bsoncore.Document, bool) {
	if f.pair != nil {
		return f.pair.forward(f, body)
	}
	return exchange(f.upstream, body)
}

// hello converts a single server's reply to a member's.
func (f *front) hello(answer bsoncore.Document) bsoncore.Document {
	primary, election := f.set.role(f.member)
	start, doc := bsoncore.ReserveLength(nil)
	it := raw.Elements(answer)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "ismaster", "isWritablePrimary":
			doc = bsoncore.AppendBooleanElement(doc, string(e.Key), primary == f.member)
		case "setName", "secondary", "hosts", "primary", "me": // of the server's own set
		default:
			doc = raw.AppendElem(doc, e.Key, e.Value)
		}
	}
	doc = bsoncore.AppendBooleanElement(doc, "secondary", primary != f.member)
	doc = bsoncore.AppendStringElement(doc, "setName", Name)
	doc = bsoncore.AppendStringElement(doc, "me", f.set.hosts[f.member])
	hosts := bsoncore.NewArrayBuilder()
	for _, h := range f.set.hosts {
		hosts.AppendString(h)
	}
	doc = bsoncore.AppendArrayElement(doc, "hosts", hosts.Build())
	if primary >= 0 {
		doc = bsoncore.AppendStringElement(doc, "primary", f.set.hosts[primary])
	}
	if primary == f.member {
		doc = bsoncore.AppendObjectIDElement(doc, "electionId", election)
	}
	doc, _ = bsoncore.AppendDocumentEnd(doc, start)
	return doc
}

// with appends to a document.
func with(doc bsoncore.Document, more func([]byte) []byte) bsoncore.Document {
	start, out := bsoncore.ReserveLength(nil)
	out = more(append(out, doc[4:len(doc)-1]...))
	out, _ = bsoncore.AppendDocumentEnd(out, start)
	return out
}

// refusal returns a reply with an error.
func refusal(code int32, text string) bsoncore.Document {
	return bsoncore.NewDocumentBuilder().AppendDouble("ok", 0).AppendString("errmsg", text).AppendInt32("code", code).Build()
}

// text returns a field that is a string or bytes.
func text(doc bsoncore.Document, key string) string {
	v, ok := raw.Get(doc, key)
	switch {
	case ok && v.Type == bson.TypeString:
		return string(raw.Text(v))
	case ok && v.Type == bson.TypeBinary:
		_, data := v.Binary()
		return string(data)
	}
	return ""
}
