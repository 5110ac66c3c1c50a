package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// A release is a MongoDB release that the server imitates.
type release struct {
	major, minor int32
	wire         int32 // the highest protocol version
}

func (s *Server) release() release {
	if s.opts.Standalone {
		return release{3, 6, 6}
	}
	return release{4, 4, 9}
}

func (r release) String() string { return r.short() + ".0" }

func (r release) short() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

// setName is the name of the replica set that the server presents itself as.
const setName = "embedded"

// anything accepts all fields. It is for commands whose fields only describe the client.
func anything(string, bsoncore.Value) (bool, error) { return true, nil }

func (r *request) isMaster() error {
	if r.name == "hello" {
		r.out = bsoncore.AppendBooleanElement(r.out, "isWritablePrimary", true)
	} else {
		r.out = bsoncore.AppendBooleanElement(r.out, "ismaster", true)
	}
	if v, ok := raw.Get(r.body, "helloOk"); ok && raw.Truthy(v) {
		r.out = bsoncore.AppendBooleanElement(r.out, "helloOk", true)
	}
	r.out = bsoncore.AppendInt32Element(r.out, "maxBsonObjectSize", wire.MaxDocument)
	r.out = bsoncore.AppendInt32Element(r.out, "maxMessageSizeBytes", wire.MaxMessage)
	r.out = bsoncore.AppendInt32Element(r.out, "maxWriteBatchSize", maxWrites)
	r.out = bsoncore.AppendDateTimeElement(r.out, "localTime", time.Now().UnixMilli())
	r.out = bsoncore.AppendInt32Element(r.out, "minWireVersion", 0)
	r.out = bsoncore.AppendInt32Element(r.out, "maxWireVersion", r.s.release().wire)
	r.out = bsoncore.AppendBooleanElement(r.out, "readOnly", false)
	if r.s.opts.Standalone {
		return nil
	}
	// Drivers use sessions and transactions only on members of a replica set; this is one of one member.
	me := r.conn.address()
	r.out = bsoncore.AppendStringElement(r.out, "setName", setName)
	r.out = bsoncore.AppendInt32Element(r.out, "setVersion", 1)
	r.out = bsoncore.AppendBooleanElement(r.out, "secondary", false)
	r.out = bsoncore.AppendArrayElement(r.out, "hosts", bsoncore.NewArrayBuilder().AppendString(me).Build())
	r.out = bsoncore.AppendStringElement(r.out, "primary", me)
	r.out = bsoncore.AppendStringElement(r.out, "me", me)
	r.out = bsoncore.AppendInt32Element(r.out, "logicalSessionTimeoutMinutes", int32(sessionTimeout.Minutes()))
	return nil
}

func (r *request) getNonce() error {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	r.out = bsoncore.AppendStringElement(r.out, "nonce", hex.EncodeToString(nonce[:]))
	return nil
}

func (r *request) buildInfo() error {
	is := r.s.release()
	r.out = bsoncore.AppendStringElement(r.out, "version", is.String())
	r.out = bsoncore.AppendStringElement(r.out, "gitVersion", "")
	r.out = bsoncore.AppendArrayElement(r.out, "versionArray", bsoncore.BuildArray(nil,
		raw.Int32(is.major), raw.Int32(is.minor), raw.Int32(0), raw.Int32(0)))
	r.out = bsoncore.AppendInt32Element(r.out, "bits", 64)
	r.out = bsoncore.AppendBooleanElement(r.out, "debug", false)
	r.out = bsoncore.AppendInt32Element(r.out, "maxBsonObjectSize", wire.MaxDocument)
	return nil
}

func (r *request) ping() error { return r.fields(anything) }

func (r *request) serverStatus() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	up := time.Since(r.s.started)
	docs, keys := r.s.store.Examined()
	open, total := r.s.cursors.counts()
	r.s.mu.Lock()
	current := len(r.s.conns)
	r.s.mu.Unlock()
	r.out = bsoncore.AppendStringElement(r.out, "host", host)
	r.out = bsoncore.AppendStringElement(r.out, "version", r.s.release().String())
	r.out = bsoncore.AppendStringElement(r.out, "process", "embedded")
	r.out = bsoncore.AppendInt64Element(r.out, "pid", int64(os.Getpid()))
	r.out = bsoncore.AppendDoubleElement(r.out, "uptime", up.Seconds())
	r.out = bsoncore.AppendInt64Element(r.out, "uptimeMillis", up.Milliseconds())
	r.out = bsoncore.AppendDateTimeElement(r.out, "localTime", time.Now().UnixMilli())
	r.out = bsoncore.AppendDocumentElement(r.out, "connections", bsoncore.NewDocumentBuilder().
		AppendInt32("current", int32(current)).
		AppendInt64("totalCreated", r.s.connected.Load()).Build())
	r.out = bsoncore.AppendDocumentElement(r.out, "metrics", bsoncore.NewDocumentBuilder().
		AppendDocument("cursor", bsoncore.NewDocumentBuilder().
			AppendDocument("open", bsoncore.NewDocumentBuilder().AppendInt64("total", int64(open)).Build()).
			AppendInt64("totalOpened", total).Build()).
		AppendDocument("queryExecutor", bsoncore.NewDocumentBuilder().
			AppendInt64("scanned", keys).
			AppendInt64("scannedObjects", docs).Build()).Build())
	r.out = bsoncore.AppendDocumentElement(r.out, "storageEngine", bsoncore.NewDocumentBuilder().
		AppendString("name", "pebble").
		AppendInt64("diskBytes", int64(r.s.store.DiskUsage())).
		AppendBoolean("persistent", true).Build())
	return nil
}

func (r *request) listDatabases() error {
	filter, err := query.Compile(nil)
	if err != nil {
		return err
	}
	namesOnly := false
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		switch key {
		case "filter":
			doc, err := wantDocument(key, v)
			if err != nil {
				return true, err
			}
			filter, err = query.Compile(doc)
			return true, err
		case "nameOnly":
			namesOnly = raw.Truthy(v)
			return true, nil
		}
		return key == "authorizedDatabases", nil
	}); err != nil {
		return err
	}
	list := bsoncore.NewArrayBuilder()
	total := int64(0)
	for _, name := range r.s.store.Databases() {
		doc := bsoncore.NewDocumentBuilder().AppendString("name", name)
		if !namesOnly {
			size, err := r.s.store.DatabaseSize(name)
			if err != nil {
				return err
			}
			total += size
			doc.AppendDouble("sizeOnDisk", float64(size)).AppendBoolean("empty", false)
		}
		if one := doc.Build(); filter.Match(one) {
			list.AppendDocument(one)
		}
	}
	r.out = bsoncore.AppendArrayElement(r.out, "databases", list.Build())
	if !namesOnly {
		r.out = bsoncore.AppendDoubleElement(r.out, "totalSize", float64(total))
	}
	return nil
}
