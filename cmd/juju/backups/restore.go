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
	r := &restore{passphrase: passphrase{Session: s}}
	cmd := &cobra.Command{
		Use:   "restore-backup FILE",
		Short: "Restore a lost controller from a backup",
		Long: `Restore a controller from a backup made by juju create-backup, after its database was lost
or damaged. The old controller must be gone; on lxd, its container must be deleted or
stopped. The restored controller has the old name and keys and, if possible, the old
addresses, so agents and clients reconnect by themselves. If its container can't get the
old address, LXD tells the agents in containers the new one, and this command tells those
on hosts that were added over SSH, with your keys. The whole backup is read and checked
first.

The controller is restored to the embedded store, whatever it used before, or with
--mongo-url to an empty MongoDB, a replica set of version 4.0 or later. If there were
several controllers, only one is restored: the others must be down, and can't be used
again. To add new ones, use juju enable-ha.

Changes made after the backup are lost. Machines added after it keep running, although the
controller doesn't know them: juju check lists them, and the model setting
provisioner-harvest-mode is changed so that they are kept.

If this client has no login for the controller, the user admin gets a new password.`,
		Example: `  juju restore-backup prod.backup
  juju restore-backup prod.backup --mongo-url @mongodb.url`,
		Annotations: cli.SeeAlso("create-backup", "verify-backup", "check"),
		Args:        oneFile,
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0]) },
	}
	r.flag(cmd)
	cmd.Flags().StringVar(&r.mongoURL, "mongo-url", "",
		"the URL of an empty MongoDB for the controller's data, or @FILE to read the URL from")
	cmd.Flags().StringVar(&r.cloudConfig, "cloud-config", "",
		"a YAML `FILE` that describes the cloud, for lxd, if it is no longer reached as before")
	cmd.Flags().StringVar(&r.constraints, "bootstrap-constraints", "",
		"constraints of the controller's machine, for lxd (see juju help set-constraints)")
	return cmd
}

type restore struct {
	passphrase
	mongoURL, cloudConfig, constraints string
}

func (r *restore) run(ctx context.Context, path string) error {
	url, err := clouds.MongoURL(r.mongoURL)
	if err != nil {
		return err
	}
	cons, err := clouds.ParseConstraints(r.constraints)
	if err != nil {
		return err
	}
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
		return entity.WithHint(entity.Errorf(entity.AlreadyExists,
			"cannot restore controller %q: there is another one of that name", m.Name),
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
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the backup: %w", err)
	}
	p.Say("Restoring controller %q", m.Name)
	what := clouds.Restoration{Name: m.Name, Controller: m.Controller, Backup: f.plain, Size: info.Size(), MongoURL: url,
		CloudConfig: r.cloudConfig, Constraints: cons}
	if known == nil || known.User == "" {
		what.User = clouds.AdminUser // this client has no login
	}
	made, err := at.Restore(ctx, dir, what, p)
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
	r.Warn(made.Warnings...)
	if made.Moved {
		r.tellHosts(ctx, st, cli.Target{Name: m.Name, Controller: known})
	}
	r.Note("Controller %q is restored as it was at %s.\nTo compare it with its machines: juju check", m.Name,
		m.Made.Format(time.RFC3339))
	return nil
}

// record stores how the controller is reached, and selects it if no other is.
func (r *restore) record(ctx context.Context, st *store.Store, m backup.Manifest,
	made *clouds.Bootstrapped) (ctrl *store.Controller, err error) {
	err = st.Update(ctx, func(c *store.Contents) error {
		if ctrl = c.Controllers[m.Name]; ctrl == nil {
			ctrl = &store.Controller{}
			c.Controllers[m.Name] = ctrl
		}
		ctrl.UUID, ctrl.Addresses, ctrl.CACert, ctrl.Cloud, ctrl.CloudName, ctrl.Models = made.Controller, made.Addresses,
			made.CACert, m.Cloud, made.CloudName, made.Models
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
