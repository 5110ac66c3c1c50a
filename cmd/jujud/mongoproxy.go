package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"juju/state/mongo"
)

// mongoProxyCommand serves a MongoDB to other processes through the adapter that a controller
// uses to reach it.
func mongoProxyCommand() *cobra.Command {
	var opts proxyOptions
	cmd := &cobra.Command{
		Use:   "mongo-proxy --url mongodb://HOST[:PORT]/ --port PORT",
		Short: "Serve a current MongoDB to clients with mgo's protocol",
		Long: `Serve one MongoDB, 3.6 or newer, to clients that still send the messages OP_QUERY,
OP_GET_MORE and OP_KILL_CURSORS, which MongoDB removed in 5.1. Controllers reach MongoDB
through the same adapter; the proxy lets mgo's own test suite run on it.

Clients log in themselves, so the URL must not name a user. They must connect directly:
from a member of a replica set they would learn the addresses of all members.`,
		Example: `  jujud mongo-proxy --url mongodb://127.0.0.1:27017/ --port 27018
  jujud mongo-proxy --url 'mongodb://db1/?tls=true&tlsCAFile=ca.pem' --port 27018`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unrecognized args: %q", args)}
			}
			return opts.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mongoProxy(cmd.Context(), cmd.OutOrStdout(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.text, "url", "", "URL of the server")
	f.Uint16Var(&opts.port, "port", 27017, "TCP port; 0 for any free one")
	f.StringVar(&opts.bindIP, "bind_ip", "127.0.0.1", "loopback address to listen on")
	return cmd
}

type proxyOptions struct {
	text, bindIP string
	port         uint16
	url          *mongo.URL
}

func (o *proxyOptions) check() (err error) {
	if o.text == "" {
		return usageError{errors.New("no --url given")}
	}
	if o.url, err = mongo.ParseURL(o.text); err != nil {
		return usageError{err}
	}
	if o.url.HasUser() {
		return usageError{errors.New("the URL must not name a user: clients log in themselves")}
	}
	if n := len(o.url.Hosts()); n != 1 {
		return usageError{fmt.Errorf("the URL names %d hosts; the proxy serves only one", n)}
	}
	_, err = loopback(o.bindIP, o.port)
	return err
}

// mongoProxy serves clients until ctx ends, and then shuts down cleanly.
func mongoProxy(ctx context.Context, out io.Writer, o proxyOptions) error {
	addr, err := loopback(o.bindIP, o.port)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	ready := func() { fmt.Fprintf(out, waiting, listener.Addr()) }
	if err := mongo.Proxy(ctx, listener, o.url, ready); err != nil {
		return fmt.Errorf("cannot serve %s: %w", o.url, err)
	}
	return nil
}
