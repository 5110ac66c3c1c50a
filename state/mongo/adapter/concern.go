package adapter

import (
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// A concern makes reads outside transactions tell only of what the majority has, which is never rolled back; without it
// they tell of what the primary has. Each read is at least as new as all before it, and as the writes that reached the
// majority, also if another member has become primary in between: it asks for the latest time that a reply has had.
type concern struct {
	mu     sync.Mutex
	on     bool
	time   bsoncore.Value // the operation time of the latest reply that told of what the majority has
	latest uint64         // the same as a number
}

// ReadMajority has later reads tell only of what the majority has.
func (a *Adapter) ReadMajority() {
	a.concern.mu.Lock()
	defer a.concern.mu.Unlock()
	a.concern.on = true
}

// reads are the commands that may have a read concern.
var reads = []string{"find", "aggregate", "count", "distinct"}

// add appends the read concern to a command that may have one and has none. majority is set if the reply will tell of what
// the majority has.
func (c *concern) add(body []byte) (_ []byte, majority bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return body, false
	}
	it := raw.Elements(body)
	first, _ := it.Next()
	reads := slices.Contains(reads, string(first.Key))
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "readConcern", "autocommit": // the latter is part of a transaction
			reads = false
		case "writeConcern":
			majority = majority || isMajority(e.Value)
		}
	}
	if !reads {
		return body, majority
	}
	body = body[:len(body)-1]
	at, body := bsoncore.AppendDocumentElementStart(body, "readConcern")
	body = bsoncore.AppendStringElement(body, "level", "majority")
	if c.latest > 0 {
		body = raw.AppendElem(body, []byte("afterClusterTime"), c.time)
	}
	body, _ = bsoncore.AppendDocumentEnd(body, at)
	body, _ = bsoncore.AppendDocumentEnd(body, 0)
	return body, true
}

func isMajority(concern bsoncore.Value) bool {
	if concern.Type != bson.TypeEmbeddedDocument {
		return false
	}
	w, _ := raw.Get(concern.Data, "w")
	return w.Type == bson.TypeString && string(raw.Text(w)) == "majority"
}

// told notes the time of a reply that tells of what the majority has.
func (c *concern) told(reply bsoncore.Document) {
	if _, failed := raw.Get(reply, "writeConcernError"); failed || !truthy(reply, "ok") {
		return
	}
	v, _ := raw.Get(reply, "operationTime")
	seconds, n, ok := v.TimestampOK()
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := uint64(seconds)<<32 | uint64(n); t > c.latest {
		c.latest, c.time = t, bsoncore.Value{Type: v.Type, Data: slices.Clone(v.Data)}
	}
}
