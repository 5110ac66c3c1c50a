package adapter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// minWireVersion is the wire version of MongoDB 3.6, the first release with OP_MSG.
const minWireVersion = 6

// greet performs the first exchange on a connection. It is the only request that every version of MongoDB
// accepts in the same form, and the only one in which a client may identify itself.
func (c *conn) greet(ctx context.Context) error {
	// The wait ends with ctx, for whatever reason.
	defer context.AfterFunc(ctx, func() { c.server.SetDeadline(time.Unix(1, 0)) })()
	greeting := bsoncore.NewDocumentBuilder().
		AppendInt32("isMaster", 1).
		AppendBoolean("helloOk", true).
		AppendDocument("client", bsoncore.NewDocumentBuilder().
			AppendDocument("application", bsoncore.NewDocumentBuilder().AppendString("name", c.a.opts.Name).Build()).
			AppendDocument("driver", bsoncore.NewDocumentBuilder().
				AppendString("name", "juju").AppendString("version", runtime.Version()).Build()).
			AppendDocument("os", bsoncore.NewDocumentBuilder().AppendString("type", runtime.GOOS).Build()).
			Build()).
		Build()
	c.nextID++
	message := wire.AppendQuery(nil, c.nextID, wire.Query{Flags: wire.QuerySlaveOK, Collection: "admin.$cmd", Limit: -1, Query: greeting})
	if _, err := c.server.Write(message); err != nil {
		return fmt.Errorf("it does not accept the greeting: %w", ended(ctx, err))
	}
	head, answer, err := wire.ReadAnswer(c.serverIn, wire.MaxMessage)
	if err != nil {
		return fmt.Errorf("it does not reply to the greeting: %w", ended(ctx, err))
	}
	reply, ok := answer.(*wire.Reply)
	if !ok || head.ResponseTo != c.nextID || len(reply.Documents) != 1 {
		return errors.New("its reply to the greeting is invalid")
	}
	return c.greeted(reply.Documents[0])
}

// ended returns why ctx ended, or err if it has not.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// greeted checks the server's description of itself.
func (c *conn) greeted(reply bsoncore.Document) error {
	if code, text := failure(reply); code != 0 {
		return fmt.Errorf("it rejects the greeting: %s (%d)", text, code)
	}
	version, _ := number(reply, "maxWireVersion")
	if version < minWireVersion {
		return fmt.Errorf("it is too old: its protocol version is %d; MongoDB 3.6 and later have at least %d",
			version, minWireVersion)
	}
	if text(reply, "msg") == "isdbgrid" {
		return errors.New("it is the router of a sharded cluster; specify a single server or a replica set")
	}
	if set := text(reply, "setName"); c.a.opts.Set != "" && set != c.a.opts.Set {
		if set == "" {
			return fmt.Errorf("it is not a member of replica set %q", c.a.opts.Set)
		}
		return fmt.Errorf("it is a member of replica set %q, not of %q", set, c.a.opts.Set)
	}
	c.hello = truthy(reply, "helloOk")
	c.a.isPrimary(c, saysPrimary(reply))
	return nil
}

// saysPrimary reports whether a reply to hello or isMaster says that the server is primary.
func saysPrimary(reply bsoncore.Document) bool {
	return truthy(reply, "isWritablePrimary") || truthy(reply, "ismaster")
}

func truthy(doc bsoncore.Document, key string) bool {
	v, ok := raw.Get(doc, key)
	return ok && raw.Truthy(v)
}
