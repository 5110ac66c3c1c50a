package backups

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"juju/agent/backup"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// RestoreCommand returns restore-backup.
func RestoreCommand(s *cli.Session) *cobra.Command {
	r := &restore{passphrase{Session: s}}
	cmd := &cobra.Command{
		Use:   "restore-backup FILE",
		Short: "Create a lost controller again from a backup",
		Long: `Create a controller again from a backup that juju create-backup has written, after its
database was lost or damaged. The controller must no longer be there. It comes up with the
name, addresses and keys that it had, so agents and clients return to it by themselves.
The whole backup is read and checked first.

What has changed since the backup is lost. Machines that were added since run on, although
the controller doesn't know them: juju check lists them, and the model's setting
provisioner-harvest-mode is changed so that they are kept.

Only controllers on the cloud "local" can be restored, on the host where their machines
are. If this client has no login of the controller, the user admin gets a new password.`,
		Example:     `  juju restore-backup prod.backup`,
		Annotations: cli.SeeAlso("create-backup", "verify-backup", "check"),
		Args:        oneFile,
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0]) },
	}
	r.flag(cmd)
	return cmd
}

type restore struct{ passphrase }

func (r *restore) run(ctx context.Context, path string) error {
	f, err := r.open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := r.Progress("Reading %s", path)
	defer p.Done()
	m, err := f.verify(ctx)
	if err != nil {
		return err
	}
	at, ok := clouds.Homes[m.Cloud]
	if !ok {
		return entity.Errorf(entity.NotFound, "cannot restore controller %q: cloud %q not found", m.Name, m.Cloud)
	}
	if err := clouds.CheckName(m.Name); err != nil { // it becomes part of a path
		return fmt.Errorf("cannot restore the controller: %w", err)
	}
	st, err := r.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	known := contents.Controllers[m.Name]
	if known != nil && known.UUID != m.Controller {
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "cannot restore controller %q: there is another one of that name", m.Name),
			"To end it: juju destroy-environment %s; to forget it here: juju unregister %s", m.Name, m.Name)
	}
	dir := clouds.Dir(st, m.Cloud, m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot restore controller %q: %w", m.Name, err)
	}
	unlock, err := store.LockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	p.Say("Restoring controller %q", m.Name)
	made, err := r.restore(ctx, at, f, dir, known)
	if err != nil {
		return err
	}
	if known, err = r.record(ctx, st, m, made); err != nil {
		return err
	}
	p.Say("Starting controller %q", m.Name)
	if err := at.Start(ctx, dir, made.Controller); err != nil {
		return err
	}
	conn, err := connect.Dial(ctx, r.Session, st, cli.Target{Name: m.Name, Controller: known}, "")
	if err != nil {
		return err
	}
	if err := conn.Close(); err != nil {
		return err
	}
	p.Done()
	r.Note("Controller %q is restored as it was at %s.\nTo compare it with its machines: juju check", m.Name, m.Made.Format(time.RFC3339))
	return nil
}

// restore creates the controller, and gives a client without a login one.
func (r *restore) restore(ctx context.Context, at clouds.Home, f *file, dir string, known *store.Controller) (*clouds.Bootstrapped, error) {
	user := ""
	if known == nil || known.User == "" {
		user = clouds.AdminUser
	}
	plain, err := f.plain()
	if err != nil {
		return nil, err
	}
	return at.Restore(ctx, dir, plain, user)
}

// record stores how the controller is reached, and selects it if no other is.
func (r *restore) record(ctx context.Context, st *store.Store, m backup.Manifest, made *clouds.Bootstrapped) (ctrl *store.Controller, err error) {
	err = st.Update(ctx, func(c *store.Contents) error {
		if ctrl = c.Controllers[m.Name]; ctrl == nil {
			ctrl = &store.Controller{}
			c.Controllers[m.Name] = ctrl
		}
		ctrl.UUID, ctrl.Addresses, ctrl.CACert, ctrl.Cloud, ctrl.Models = made.Controller, made.Addresses, made.CACert, m.Cloud, made.Models
		if made.Password != "" {
			ctrl.User, ctrl.Password, ctrl.Generated = clouds.AdminUser, made.Password, true
		}
		if model := ctrl.Qualify(clouds.DefaultModel); ctrl.Model == "" && made.Models[model] != "" {
			ctrl.Model = model
		}
		if c.Current == "" {
			c.Current = m.Name
		}
		return nil
	})
	return ctrl, err
}
