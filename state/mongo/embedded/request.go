package embedded

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/wire"
)

// A request is one command being executed.
type request struct {
	conn      *conn
	s         *Server
	ctx       context.Context
	db        string
	name      string // of the command, as sent
	body      []byte
	sequences []wire.Sequence
	// session is set for a command of a transaction and for a retryable write, which run in tx; inTxn is set for the
	// former, and failed if one of its writes failed.
	session       *session
	lsid          string // of the session that the command names, if any
	tx            *storage.Txn
	inTxn, failed bool
	// out is the reply being built; commands append fields to it. holes are where shared documents belong.
	out   []byte
	holes []hole

	// durable is set if the reply may only be sent once everything that was written before, and what it tells, is on disk:
	// the write concern or the read concern requires it.
	durable bool
	// unacknowledged is set for the write concern w: 0: the client doesn't want a reply.
	unacknowledged bool
}

// A command executes one kind of request, and appends its reply to the request's out.
type command struct {
	name string
	run  func(*request) error
	// admin commands don't apply to a database.
	admin bool
}

// commands holds all commands by name, which is the first key of a request.
var commands = map[string]command{
	"ismaster":          {name: "ismaster", run: (*request).isMaster, admin: true},
	"isMaster":          {name: "isMaster", run: (*request).isMaster, admin: true},
	"hello":             {name: "hello", run: (*request).isMaster, admin: true},
	"getnonce":          {name: "getnonce", run: (*request).getNonce, admin: true},
	"buildInfo":         {name: "buildInfo", run: (*request).buildInfo, admin: true},
	"buildinfo":         {name: "buildinfo", run: (*request).buildInfo, admin: true},
	"ping":              {name: "ping", run: (*request).ping, admin: true},
	"serverStatus":      {name: "serverStatus", run: (*request).serverStatus, admin: true},
	"listDatabases":     {name: "listDatabases", run: (*request).listDatabases, admin: true},
	"connectionStatus":  {name: "connectionStatus", run: (*request).connectionStatus, admin: true},
	"whatsmyuri":        {name: "whatsmyuri", run: (*request).whatsMyURI, admin: true},
	"getParameter":      {name: "getParameter", run: (*request).getParameter, admin: true},
	"getCmdLineOpts":    {name: "getCmdLineOpts", run: (*request).getCmdLineOpts, admin: true},
	"hostInfo":          {name: "hostInfo", run: (*request).hostInfo, admin: true},
	"getLog":            {name: "getLog", run: (*request).getLog, admin: true},
	"find":              {name: "find", run: (*request).find},
	"getMore":           {name: "getMore", run: (*request).getMore},
	"aggregate":         {name: "aggregate", run: (*request).aggregate},
	"explain":           {name: "explain", run: (*request).explain},
	"killCursors":       {name: "killCursors", run: (*request).killCursors},
	"insert":            {name: "insert", run: (*request).insert},
	"update":            {name: "update", run: (*request).update},
	"delete":            {name: "delete", run: (*request).delete},
	"findAndModify":     {name: "findAndModify", run: (*request).findAndModify},
	"findandmodify":     {name: "findandmodify", run: (*request).findAndModify},
	"count":             {name: "count", run: (*request).count},
	"distinct":          {name: "distinct", run: (*request).distinct},
	"create":            {name: "create", run: (*request).create},
	"drop":              {name: "drop", run: (*request).drop},
	"dropDatabase":      {name: "dropDatabase", run: (*request).dropDatabase},
	"createIndexes":     {name: "createIndexes", run: (*request).createIndexes},
	"dropIndexes":       {name: "dropIndexes", run: (*request).dropIndexes},
	"deleteIndexes":     {name: "deleteIndexes", run: (*request).dropIndexes},
	"commitTransaction": {name: "commitTransaction", run: (*request).commitTransaction},
	"abortTransaction":  {name: "abortTransaction", run: (*request).abortTransaction},
	"endSessions":       {name: "endSessions", run: (*request).endSessions},
	"listIndexes":       {name: "listIndexes", run: (*request).listIndexes},
	"listCollections":   {name: "listCollections", run: (*request).listCollections},
	"dbStats":           {name: "dbStats", run: (*request).dbStats},
	"dbstats":           {name: "dbstats", run: (*request).dbStats},
	"collStats":         {name: "collStats", run: (*request).collStats},
	"collstats":         {name: "collstats", run: (*request).collStats},
}

func (r *request) run() error {
	it := raw.Elements(r.body)
	first, _ := it.Next()
	cmd, ok := commands[string(first.Key)]
	if !ok {
		return mongoerr.New(mongoerr.CommandNotFound, "no such command: '%s'", first.Key)
	}
	r.name = cmd.name
	if cmd.name != "getMore" { // whose maxTimeMS is how long to wait for events
		defer r.limit(r.body)()
	}
	if !cmd.admin {
		if err := checkDatabase(r.db); err != nil {
			return err
		}
	}
	if err := r.inSession(cmd); err != nil {
		return err
	}
	if r.durable {
		return r.s.Barrier(r.conn.ctx)
	}
	return nil
}

// limit lets r.ctx end when the maxTimeMS of a command has passed, or when the caller calls what it returns.
func (r *request) limit(body []byte) context.CancelFunc {
	v, ok := raw.Get(body, "maxTimeMS")
	if d, err := maxTime(v); ok && err == nil && d > 0 { // general reports the error
		return r.within(d)
	}
	return func() {}
}

func (r *request) within(d time.Duration) (cancel context.CancelFunc) {
	r.ctx, cancel = context.WithTimeoutCause(r.ctx, d, errLate)
	r.conn.until = r.ctx
	return cancel
}

var errLate = mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")

func checkDatabase(name string) error {
	if name == "" || len(name) > 63 || strings.ContainsAny(name, "/\\. \"$*<>:|?\x00") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", name)
	}
	return nil
}

// maxNamespace is the maximum length of database.collection, in bytes.
const maxNamespace = 255

// collection returns the command's first field as a collection's name.
func (r *request) collection() (string, error) {
	it := raw.Elements(r.body)
	first, _ := it.Next()
	if first.Value.Type != bson.TypeString {
		return "", mongoerr.New(mongoerr.BadValue, "collection name has invalid type %s", first.Value.Type)
	}
	name := string(raw.Text(first.Value))
	return name, checkCollection(r.db, name)
}

func checkCollection(db, name string) error {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "$\x00") ||
		len(db)+1+len(name) > maxNamespace {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s.%s'", db, name)
	}
	return nil
}

var fieldNames = names("$db", "lsid", "$clusterTime", "writeConcern", "ordered", "documents", "updates", "deletes",
	"filter", "query", "sort", "projection", "fields", "limit", "batchSize", "singleBatch", "skip", "update", "remove",
	"new", "upsert", "collection", "maxTimeMS")

func names(list ...string) map[string]string {
	out := map[string]string{}
	for _, name := range list {
		out[name] = name
	}
	return out
}

// fields calls with for each field of the command except the first. with returns false for a field that it
// doesn't know, which must then be a general one.
func (r *request) fields(with func(key string, v bsoncore.Value) (bool, error)) error {
	it := raw.Elements(r.body)
	it.Next()
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		key, usual := fieldNames[string(e.Key)] // avoids most allocations
		if !usual {
			key = string(e.Key)
		}
		known, err := with(key, e.Value)
		if err == nil && !known {
			known, err = r.general(key, e.Value)
		}
		if err != nil {
			return err
		}
		if !known {
			return mongoerr.New(mongoerr.FailedToParse, "Failed to parse: unrecognized field '%s' in command %s", key, r.name)
		}
	}
	return nil
}

// general parses the fields that any command may have.
func (r *request) general(key string, v bsoncore.Value) (bool, error) {
	switch key {
	case "$db", "lsid", "$clusterTime", "$readPreference", "comment", "$comment", "apiVersion",
		"txnNumber", "startTransaction", "autocommit", "stmtId", "stmtIds":
		return true, nil
	case "readConcern":
		doc, err := wantDocument(key, v)
		level, _ := raw.Get(doc, "level")
		r.durable = r.durable || isText(level, "majority", "linearizable")
		return true, err
	case "maxTimeMS":
		_, err := maxTime(v)
		return true, err
	case "writeConcern":
		return true, r.writeConcern(v)
	case "collation":
		return true, checkCollation(v)
	}
	return false, nil
}

// maxTime parses a time limit; 0 means none.
func maxTime(v bsoncore.Value) (time.Duration, error) {
	n, ok := raw.Int(v)
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0, mongoerr.New(mongoerr.BadValue, "maxTimeMS must be a non-negative integer")
	}
	return time.Duration(n) * time.Millisecond, nil
}

func (r *request) writeConcern(v bsoncore.Value) error {
	if v.Type != bson.TypeEmbeddedDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "writeConcern must be an object")
	}
	var majority, journaled, said bool
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "j", "fsync":
			said = true
			journaled = journaled || raw.Truthy(e.Value)
		case "w":
			majority = isText(e.Value, "majority")
			n, ok := raw.Int(e.Value)
			r.unacknowledged = ok && n == 0
			if ok && n > 1 {
				return mongoerr.New(mongoerr.BadValue, "cannot use 'w' > 1 when a host is not replicated")
			}
		}
	}
	// w: "majority" implies j: true unless the client says otherwise.
	r.durable = r.durable || journaled || majority && !said
	return nil
}

// isText reports whether a value is one of these strings.
func isText(v bsoncore.Value, texts ...string) bool {
	return v.Type == bson.TypeString && slices.Contains(texts, string(raw.Text(v)))
}

// late returns an error once the client's time limit has passed or the server has closed.
func (r *request) late() error { return context.Cause(r.ctx) }

// documents returns the list of a write command, from its body or from a sequence.
func (r *request) documents(name string) ([]bsoncore.Document, error) {
	for _, s := range r.sequences {
		if s.ID == name {
			return s.Documents, nil
		}
	}
	v, ok := raw.Get(r.body, name)
	if !ok || v.Type != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s needs an array '%s'", r.name, name)
	}
	var list []bsoncore.Document
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if e.Value.Type != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "%s.%s must contain only objects", r.name, name)
		}
		list = append(list, e.Value.Data)
	}
	return list, nil
}

func wantDocument(key string, v bsoncore.Value) (bsoncore.Document, error) {
	if v.Type == bson.TypeNull {
		return nil, nil
	}
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "%s must be an object, not %s", key, v.Type)
	}
	return v.Data, nil
}

func wantInt(key string, v bsoncore.Value) (int64, error) {
	if n, ok := raw.Int(v); ok {
		return n, nil
	}
	if v.Type == bson.TypeNull {
		return 0, nil
	}
	if f, ok := raw.Number(v); ok {
		return int64(f), nil
	}
	return 0, mongoerr.New(mongoerr.TypeMismatch, "%s must be a number, not %s", key, v.Type)
}
