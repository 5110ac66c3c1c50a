package mongotest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/doc/tools/verify"
	"juju/state/mongo"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// Tenant returns a Dial for one user of a MongoDB that many tests share: the user sees no databases but its own, under
// the names that it gave them. On the server, these names have a random prefix. They are dropped when the test ends,
// after what it registers later with Cleanup. dial connects to the servers; nil is TCP. The URL must be without TLS.
func Tenant(t testing.TB, url *mongo.URL, dial mongo.Dial) mongo.Dial {
	t.Helper()
	if dial == nil {
		dial = dialTCP
	}
	prefix := fmt.Sprintf("t%010x-", rand.Uint64()>>24) // short: MongoDB limits a database's name to 63 bytes
	own := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return &tenant{Conn: conn, prefix: prefix, in: bufio.NewReader(conn)}, nil
	}
	t.Cleanup(func() {
		if err := dropAll(url, own); err != nil {
			t.Errorf("cannot drop the databases %s*: %v", prefix, err)
		}
	})
	return own
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// dropAll drops all databases of a tenant, by name.
func dropAll(url *mongo.URL, dial mongo.Dial) error {
	ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
	defer cancel()
	store, err := mongo.OpenURL(ctx, url, mongo.Options{Dial: dial})
	if err != nil {
		return err
	}
	defer store.Close()
	names, err := store.Databases(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := store.Drop(ctx, name); err != nil {
			return err
		}
	}
	return store.DropBarrier(ctx)
}

// A tenant is a connection that adds a prefix to the names of databases in requests, and removes it from those in replies.
type tenant struct {
	net.Conn
	prefix string
	in     *bufio.Reader
	out    []byte // the beginning of a request
	reply  []byte // the rest of a reply
}

// Write sends the requests that are complete.
func (c *tenant) Write(b []byte) (int, error) {
	c.out = append(c.out, b...)
	for len(c.out) >= wire.HeaderSize {
		rest := bytes.NewReader(c.out)
		head, m, err := wire.Read(rest, wire.MaxMessage)
		if int(head.Length) > len(c.out) {
			break
		}
		if err != nil {
			return 0, err
		}
		request := c.out[:head.Length]
		if msg, ok := m.(*wire.Msg); ok { // the greeting, an OP_QUERY, names no database of the tenant's
			msg.Body = c.request(msg.Body)
			request = wire.AppendSections(nil, head.RequestID, head.ResponseTo, *msg)
		}
		if _, err := c.Conn.Write(request); err != nil {
			return 0, err
		}
		c.out = append(c.out[:0], c.out[head.Length:]...)
	}
	return len(b), nil
}

// Read returns bytes of one reply.
func (c *tenant) Read(b []byte) (int, error) {
	if len(c.reply) == 0 {
		head, m, err := wire.ReadAnswer(c.in, wire.MaxMessage)
		if err != nil {
			return 0, err
		}
		switch m := m.(type) {
		case *wire.Msg:
			m.Body = c.answer(m.Body)
			c.reply = wire.AppendSections(nil, head.RequestID, head.ResponseTo, *m)
		case *wire.Reply:
			c.reply = wire.AppendReply(nil, head.RequestID, head.ResponseTo, *m)
		}
	}
	n := copy(b, c.reply)
	c.reply = c.reply[n:]
	return n, nil
}

// request adds the prefix to a command's database, and to the namespaces of the indexes that it creates.
func (c *tenant) request(body bsoncore.Document) bsoncore.Document {
	return edit(body, func(key string, v bsoncore.Value) (bsoncore.Value, bool) {
		switch {
		case key == "$db" && !slices.Contains([]string{"admin", "config", "local"}, string(raw.Text(v))):
			return textOf(c.prefix + string(raw.Text(v))), true
		case key == "indexes" && v.Type == bson.TypeArray:
			v.Data = edit(v.Data, func(_ string, index bsoncore.Value) (bsoncore.Value, bool) {
				index.Data = edit(index.Data, func(key string, v bsoncore.Value) (bsoncore.Value, bool) {
					if key == "ns" {
						v = textOf(c.prefix + string(raw.Text(v)))
					}
					return v, true
				})
				return index, true
			})
		}
		return v, true
	})
}

// answer removes the prefix from a cursor's namespace and from an error, and lists only the tenant's databases.
func (c *tenant) answer(body bsoncore.Document) bsoncore.Document {
	return edit(body, func(key string, v bsoncore.Value) (bsoncore.Value, bool) {
		switch {
		case key == "errmsg":
			return textOf(strings.ReplaceAll(string(raw.Text(v)), c.prefix, "")), true
		case key == "cursor" && v.Type == bson.TypeEmbeddedDocument:
			v.Data = c.strip(v.Data, "ns")
		case key == "databases" && v.Type == bson.TypeArray:
			v.Data = edit(v.Data, func(_ string, db bsoncore.Value) (bsoncore.Value, bool) {
				own := strings.HasPrefix(text(db.Data, "name"), c.prefix)
				db.Data = c.strip(db.Data, "name")
				return db, own
			})
		}
		return v, true
	})
}

// strip removes the prefix from one field of a document.
func (c *tenant) strip(doc bsoncore.Document, field string) bsoncore.Document {
	return edit(doc, func(key string, v bsoncore.Value) (bsoncore.Value, bool) {
		if key == field {
			v = textOf(strings.TrimPrefix(string(raw.Text(v)), c.prefix))
		}
		return v, true
	})
}

// edit copies a document with what f returns for each field, without those for which f returns false.
func edit(doc bsoncore.Document, f func(key string, v bsoncore.Value) (bsoncore.Value, bool)) bsoncore.Document {
	start, out := bsoncore.ReserveLength(nil)
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if v, keep := f(string(e.Key), e.Value); keep {
			out = raw.AppendElem(out, e.Key, v)
		}
	}
	out, _ = bsoncore.AppendDocumentEnd(out, start)
	return out
}

func textOf(s string) bsoncore.Value {
	return bsoncore.Value{Type: bson.TypeString, Data: bsoncore.AppendString(nil, s)}
}
