package mongotest

import (
	"bufio"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/wire"
)

type d = bson.D

// TestTenant sends requests, and replies, through a tenant's connection: the server sees the names with the prefix, and
// the client sees them without it.
func TestTenant(t *testing.T) {
	conn, server := link.Pipe()
	client := &tenant{Conn: conn, prefix: "t1-", in: bufio.NewReader(conn)}
	message := func(doc d) []byte {
		t.Helper()
		body, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return wire.AppendMsg(nil, 7, 0, body)
	}
	same := func(what string, m any, err error, want d) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var got d
		if err := bson.Unmarshal(m.(*wire.Msg).Body, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	indexes := func(ns string) bson.A { return bson.A{d{{Key: "ns", Value: ns}, {Key: "name", Value: "n"}}} }
	for _, c := range []struct{ sent, want d }{
		{d{{Key: "find", Value: "c"}, {Key: "$db", Value: "juju"}}, d{{Key: "find", Value: "c"}, {Key: "$db", Value: "t1-juju"}}},
		{d{{Key: "ping", Value: "c"}, {Key: "$db", Value: "admin"}}, d{{Key: "ping", Value: "c"}, {Key: "$db", Value: "admin"}}},
		{d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: indexes("juju.c")}, {Key: "$db", Value: "juju"}},
			d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: indexes("t1-juju.c")}, {Key: "$db", Value: "t1-juju"}}},
	} {
		// The messages may arrive in pieces.
		text := message(c.sent)
		for _, piece := range [][]byte{text[:5], text[5:20], text[20:]} {
			if _, err := client.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		_, m, err := wire.Read(server, wire.MaxMessage)
		same("request", m, err, c.want)
	}
	names := func(all ...string) (list bson.A) {
		for _, name := range all {
			list = append(list, d{{Key: "name", Value: name}})
		}
		return list
	}
	for _, c := range []struct{ sent, want d }{
		{d{{Key: "databases", Value: names("juju", "t1-juju", "t12-juju", "t1-m")}}, d{{Key: "databases", Value: names("juju", "m")}}},
		{d{{Key: "cursor", Value: d{{Key: "ns", Value: "t1-juju.c"}}}}, d{{Key: "cursor", Value: d{{Key: "ns", Value: "juju.c"}}}}},
		{d{{Key: "errmsg", Value: "no t1-juju.c"}}, d{{Key: "errmsg", Value: "no juju.c"}}},
	} {
		if _, err := server.Write(message(c.sent)); err != nil {
			t.Fatal(err)
		}
		_, m, err := wire.ReadAnswer(client, wire.MaxMessage)
		same("reply", m, err, c.want)
	}
}
