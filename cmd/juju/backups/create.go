package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// CreateCommand returns create-backup.
func CreateCommand(s *cli.Session) *cobra.Command {
	c := &create{passphrase: passphrase{Session: s}}
	cmd := &cobra.Command{
		Use:   "create-backup FILE",
		Short: "Back up a controller",
		Long: `Back up everything that a controller stores to a new file: its models, users, charms,
resources, keys and passwords, as of a single moment. The controller keeps working during
the backup. Data on machines and in storage is not included: back up the data of services
yourself.

Anyone who can read a backup can take over the controller, so it is encrypted with a
passphrase unless you give --plain. It can't be restored without the passphrase. The
command requires a superuser of the controller and a store with transactions: the embedded
store, or a replica set of MongoDB 4.0 or later.`,
		Example: `  juju create-backup prod.backup
  juju create-backup --passphrase-file secret /backups/$(date +%F).backup`,
		Annotations: cli.SeeAlso("verify-backup", "restore-backup"),
		Args: func(cmd *cobra.Command, args []string) error {
			if c.filename != "" {
				args = append([]string{c.filename}, args...)
			}
			return oneFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), append(args, c.filename)[0])
		},
	}
	cmd.Flags().StringVar(&c.filename, "filename", "", "the `FILE` to write, instead of the argument")
	cmd.Flags().BoolVar(&c.readable, "plain", false, "do not encrypt the backup")
	c.flag(cmd)
	s.ControllerFlag(cmd)
	return cmd
}

type create struct {
	passphrase
	readable bool
	filename string
}

func (c *create) run(ctx context.Context, path string) error {
	if c.readable && c.file != "" {
		return cli.Usagef("--plain and --passphrase-file exclude each other")
	}
	if _, err := os.Lstat(path); err == nil {
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "cannot back up: %s exists", path), "Name another file.")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot back up: %w", err)
	}
	st, t, err := c.ReadTarget()
	if err != nil {
		return err
	}
	secret := ""
	if !c.readable {
		if secret, err = c.new(ctx); err != nil {
			return err
		}
	}
	p := c.Progress("Backing up controller %q", t.Name)
	defer p.Done()
	conn, err := dialOwn(ctx, c.Session, st, t)
	if err != nil {
		return err
	}
	defer conn.Close()
	size, err := c.write(ctx, conn, path, secret, p)
	if err != nil {
		return fmt.Errorf("cannot back up controller %q: %w", t.Name, err)
	}
	p.Done()
	if c.readable {
		c.Warn("the backup does not have the key of charms' and users' secrets: to restore them, keep secret-key of the controller's controller.conf")
	}
	c.Note("Controller %q is backed up in %s, which has %d bytes.", t.Name, path, size)
	return nil
}

// dialOwn connects to the controller's own model.
func dialOwn(ctx context.Context, s *cli.Session, st *store.Store, t cli.Target) (*client.Conn, error) {
	conn, err := connect.Dial(ctx, s, st, t, "")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	models, err := conn.ModelSummaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m.IsController {
			return connect.Dial(ctx, s, st, t, m.UUID)
		}
	}
	return nil, entity.WithHint(entity.Errorf(entity.Unauthorized,
		"cannot back up controller %q: its own model is not visible to you", t.Name),
		"Only a superuser of the controller can back it up.")
}

// write writes a backup to a temporary file, verifies that, and gives it its name.
func (c *create) write(ctx context.Context, conn *client.Conn, path, secret string,
	p *cli.Progress) (size int64, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(tmp.Name()) // there is none if it was renamed
	defer tmp.Close()
	if err := receive(ctx, conn, tmp, secret, p); err != nil {
		return 0, err
	}
	p.Say("Verifying %s", path)
	if err := tmp.Sync(); err != nil {
		return 0, err
	}
	if _, err := (&file{tmp, secret}).verify(ctx); err != nil {
		return 0, err
	}
	info, err := tmp.Stat()
	if err != nil {
		return 0, err
	}
	// A link, unlike a rename, doesn't replace a file that somebody has made meanwhile.
	return info.Size(), os.Link(tmp.Name(), path)
}

// receive writes a new backup of the controller to w.
func receive(ctx context.Context, conn *client.Conn, w io.Writer, secret string, p *cli.Progress) error {
	const step = 128 // MiB; each is a line where there is no terminal
	r, err := conn.Backup(ctx, secret == "", func(bytes int64) {
		if mib := uint64(bytes) >> 20 / step * step; mib > 0 {
			p.Say("The controller has read %s", entity.MiB(mib))
		}
	})
	if err != nil {
		return err
	}
	defer r.Close()
	p.Say("Receiving the backup")
	if secret == "" {
		_, err := io.Copy(w, r)
		return err
	}
	sealed, err := seal(w, secret)
	if err != nil {
		return err
	}
	if _, err := io.Copy(sealed, r); err != nil {
		return err
	}
	return sealed.Close()
}
