package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/juju/loggo"
	"github.com/spf13/cobra"

	"juju/agent/controller"
	"juju/agent/host/logfile"
	"juju/state/entity"
	"juju/state/mongo/embedded"
)

func mongodCommand() *cobra.Command {
	var opts mongodOptions
	cmd := &cobra.Command{
		Use:   "mongod --dbpath DIR",
		Short: "Serve the embedded store to MongoDB clients",
		Long: `Serve the embedded store, which a controller without a MongoDB uses, over MongoDB's
wire protocol on a loopback port, so that MongoDB's tools and test suites can access
it. No controller must be running on DIR.

As with MongoDB, a write is acknowledged before it is on disk, and is on disk at most
100 ms later. A write with the write concern j or majority is acknowledged when it is
on disk. With --nojournal, only such writes are flushed.

With --repair, open a store with a damaged log without what follows the damage, print
what is lost, and exit. The damaged log is kept under another name.

There are no users and no passwords, so it serves only loopback addresses.

It logs to standard error, or to the file that --logpath names. When the file reaches
8 MiB it is renamed to FILE.1, so that the log never takes more than 16 MiB.

--nssize, --noprealloc and --smallfiles, which test harnesses pass to a real mongod,
are ignored.`,
		Example: `  jujud mongod --dbpath /tmp/db
  jujud mongod --dbpath /tmp/db --port 27018 --bind_ip ::1 --nojournal
  jujud mongod --repair --dbpath /tmp/db`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unrecognized args: %q", args)}
			}
			return opts.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			controller.LimitMemory(os.DirFS("/"))
			return mongod(cmd.Context(), cmd.OutOrStdout(), opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.dbpath, "dbpath", "", "directory of the store, created if it does not exist")
	f.Uint16Var(&opts.port, "port", 27017, "TCP port; 0 for any free one")
	f.StringVar(&opts.bindIP, "bind_ip", "127.0.0.1", "loopback address to listen on")
	f.BoolVar(&opts.repair, "repair", false,
		"repair a store with a damaged log, and exit")
	f.BoolVar(&opts.nojournal, "nojournal", false, "flush a write only if its write concern asks for it")
	f.StringVar(&opts.logpath, "logpath", "", "file to log to, instead of standard error")
	f.BoolVar(&opts.onlyMsg, "only-op-msg", false, "reject the messages that MongoDB removed in 5.1")
	f.StringVar(&opts.replSet, "replSet", "", "rejected: the store is not a replica set")
	f.Int("nssize", 0, "ignored")
	f.Bool("noprealloc", false, "ignored")
	f.Bool("smallfiles", false, "ignored")
	for _, name := range []string{"replSet", "nssize", "noprealloc", "smallfiles"} {
		f.Lookup(name).Hidden = true
	}
	return cmd
}

// waiting is printed when clients can connect. Test harnesses wait for it.
const waiting = "waiting for connections on %s\n"

// journalEvery is how long a write may stay in memory: MongoDB's default.
const journalEvery = 100 * time.Millisecond

type mongodOptions struct {
	dbpath, bindIP, replSet, logpath string
	port                             uint16
	nojournal, onlyMsg               bool
	repair                           bool
}

func (o mongodOptions) check() error {
	if o.dbpath == "" {
		return usageError{errors.New("no --dbpath given")}
	}
	if o.replSet != "" {
		return usageError{fmt.Errorf("cannot be a member of replica set %q: the embedded store is a single server",
			o.replSet)}
	}
	_, err := o.address()
	return err
}

// address returns the host and port to listen on.
func (o mongodOptions) address() (string, error) { return loopback(o.bindIP, o.port) }

// loopback returns an address to listen on. The host must be a loopback address.
func loopback(host string, port uint16) (string, error) {
	asked := host
	if host == "localhost" {
		// Do not resolve the name: a resolver may return any address.
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return "", usageError{fmt.Errorf("cannot bind to %q: it requires no password, so it serves only loopback "+
			"addresses", asked)}
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), nil
}

// mongod serves the store until ctx ends, and then shuts down cleanly.
func mongod(ctx context.Context, out io.Writer, o mongodOptions) (err error) {
	addr, err := o.address()
	if err != nil {
		return err
	}
	if o.logpath != "" {
		log, err := logfile.Open(o.logpath, 0)
		if err != nil {
			return err
		}
		defer log.Close()
		before, err := loggo.ReplaceDefaultWriter(loggo.NewSimpleWriter(log, loggo.DefaultFormatter))
		if err != nil {
			return err
		}
		defer loggo.ReplaceDefaultWriter(before)
	}
	every := journalEvery
	if o.nojournal {
		every = 0
	}
	server, err := embedded.Open(o.dbpath, embedded.Options{
		SyncEvery: every,
		OnlyMsg:   o.onlyMsg,
		Repair:    o.repair,
		Logger:    loggo.GetLogger("juju.mongod"),
	})
	if errors.Is(err, embedded.ErrDamaged) && !o.repair {
		return entity.WithHint(fmt.Errorf("cannot open the store in %s: %w", o.dbpath, err), "Restore it from a backup. "+
			"If a .log is damaged, the store can be opened without the writes after the damage: add --repair")
	}
	if err != nil {
		return fmt.Errorf("cannot open the store in %s: %w", o.dbpath, err)
	}
	defer func() {
		if cerr := server.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("cannot close the store: %w", cerr)
		}
	}()
	if o.repair {
		if err := server.Check(ctx, nil); err != nil {
			return fmt.Errorf("the store in %s was repaired, but is inconsistent: %w", o.dbpath, err)
		}
		fmt.Fprintf(out, "The store in %s opens.\n", o.dbpath)
		return nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	defer listener.Close()
	fmt.Fprintf(out, waiting, listener.Addr())
	if err := server.Serve(ctx, listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot serve on %s: %w", listener.Addr(), err)
	}
	return nil
}
