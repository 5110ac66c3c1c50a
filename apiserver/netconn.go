package apiserver

import (
	"context"
	"crypto/tls"
	"net"

	"juju/apiserver/admission"
	"juju/state/controller"
)

type netConnKey struct{}

// withNetConn adds a connection to the context of its requests.
func withNetConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if m, ok := c.(memoryConn); ok {
		ctx = controller.KeepFences(ctx, m.dialled)
	}
	g, ok := c.(*admission.Conn)
	if !ok {
		g = admission.InMemory()
	}
	return context.WithValue(ctx, netConnKey{}, g)
}

func netConnOf(ctx context.Context) *admission.Conn { return ctx.Value(netConnKey{}).(*admission.Conn) }
