package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/store"
)

func MigrateStoreCommand(s *cli.Session) *cobra.Command {
	m := &migrateStore{Session: s}
	cmd := &cobra.Command{
		Use:   "migrate-store",
		Short: "Move a controller's store to a MongoDB, or back",
		Long: `Move all data of a controller from its embedded store to a MongoDB, which several
controllers can share, or back. The MongoDB must be a replica set of version 4.0 or later
that no other controller uses.

The controller stops during the move and then starts again. Services keep running, and
agents reconnect. All documents are compared before the controller uses the new store;
only then is the old one removed. If the command is interrupted, the controller still has
one complete store, and the same command continues the move. Make a backup first anyway.

Run the command on the client that bootstrapped or restored the controller.`,
		Example: `  juju migrate-store --mongo-url @mongodb.url
  juju migrate-store --embedded`,
		Annotations: cli.SeeAlso("enable-ha", "create-backup", "bootstrap"),
		Args:        cli.AtMost(0),
		RunE:        func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&m.url, "mongo-url", "", "the URL of the MongoDB, or @FILE to read it from")
	cmd.Flags().BoolVar(&m.embedded, "embedded", false, "move the data back to the controller's embedded store")
	s.ControllerFlag(cmd)
	return cmd
}

type migrateStore struct {
	*cli.Session
	url      string
	embedded bool
}

func (m *migrateStore) run(ctx context.Context) error {
	if (m.url == "") != m.embedded {
		return cli.Usage(errors.New("give either --mongo-url or --embedded"))
	}
	url := ""
	if !m.embedded {
		var err error
		if url, err = clouds.MongoURL(m.url); err != nil {
			return err
		}
	}
	st, t, err := m.ReadTarget()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	cloud, err := clouds.HomeOf(st, contents, t.Name)
	if err != nil {
		return fmt.Errorf("cannot migrate the store: %w", err)
	}
	dir := clouds.Dir(st, cloud, t.Name)
	unlock, err := store.LockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	p := m.Progress("Moving the store of controller %q", t.Name)
	defer p.Done()
	if err := clouds.Homes[cloud].MigrateStore(ctx, dir, t.Controller.UUID, url); err != nil {
		return err
	}
	p.Say("Waiting for controller %q", t.Name)
	conn, err := connect.Dial(ctx, m.Session, st, t, "")
	if err != nil {
		return err
	}
	p.Done()
	to := "in the MongoDB. To add controllers: juju enable-ha"
	if m.embedded {
		to = "embedded"
	}
	m.Note("The store of controller %q is now %s", t.Name, to)
	return conn.Close()
}
