package controllers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/models"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig"
)

func BootstrapCommand(s *cli.Session) *cobra.Command {
	b := &bootstrap{Session: s}
	cmd := &cobra.Command{
		Use:   "bootstrap [CLOUD] [NAME]",
		Short: "Create a controller",
		Long: `Create a controller on a cloud, with a model named "default". The controller and this
model become the selected ones, so commands that follow work there.

The default cloud is "local": this host. It needs neither root nor other software. A
machine is a directory, a process and a loopback address of its own. All files of the
controller are below $JUJU_DATA, by default ~/.local/share/juju. Its processes keep
running when you log out. After a reboot, the next juju command starts the controller
again.

On the cloud "lxd", each machine is a system container of LXD, and so is the controller.
By default it is the LXD of this host, which only root and members of its group can use.
--cloud-config names a file in YAML for another. It can have these keys:

  endpoint      the path of LXD's socket, or https://HOST:PORT
  client-cert, client-key
                the certificate and key of a client that LXD trusts, in PEM, for https
  server-cert   the certificate that LXD must have, in PEM
  project       the project of LXD that has all containers
  profiles      a list of the profiles of containers (default: [default])
  network       the network of containers; otherwise that of the profiles. The
                containers of all members of a cluster must reach each other by it.
  pool          the storage pool; otherwise that of the profiles' root disk
  image-server  the URL of a simplestreams server with images that LXD does not have

LXD needs an image with cloud-init for each series: under the alias juju/SERIES, or on the
image server. Clients must be able to reach the containers' addresses.

The controller stores its data in a database of its own, unless --mongo-url names a
MongoDB, 3.6 or newer: a single server or a replica set that only this controller
uses. Its user needs the roles readWriteAnyDatabase and dbAdminAnyDatabase. A URL is
like mongodb://juju:secret@db1,db2,db3/?replicaSet=rs0&tls=true. To keep the password
out of the list of processes, give the URL as --mongo-url @FILE or in the environment
variable JUJU_MONGO_URL. The controller keeps it in a file that only you can read.

The controller is called NAME, or else has the name of its cloud. If bootstrap fails,
it removes what it created, unless you give --keep-broken.`,
		Example: `  juju bootstrap
  juju bootstrap local test
  juju bootstrap --config automatically-retry-hooks=true
  juju bootstrap local prod --mongo-url @mongodb.url
  juju bootstrap lxd --bootstrap-constraints mem=4G`,
		Annotations: cli.SeeAlso("destroy-environment", "add-model", "register", "whoami"),
		RunE:        func(cmd *cobra.Command, args []string) error { return b.run(cmd.Context(), args) },
	}
	cmd.Flags().StringArrayVar(&b.config, "config", nil,
		"a setting of the default model, as `KEY=VALUE` (see juju help model-config)")
	cmd.Flags().BoolVar(&b.keepBroken, "keep-broken", false,
		"if bootstrap fails, keep what it created, so that you can look into it")
	cmd.Flags().StringVar(&b.mongoURL, "mongo-url", "",
		"the URL of the MongoDB that stores the controller's data, or @FILE to read it from")
	cmd.Flags().StringVar(&b.cloudConfig, "cloud-config", "", "a `FILE` that describes the cloud, for lxd")
	cmd.Flags().StringVar(&b.constraints, "bootstrap-constraints", "",
		"constraints of the controller's own machine, for lxd (see juju help set-constraints)")
	cmd.Flags().BoolVar(&b.noSwitch, "no-switch", false, "do not select the new controller")
	return cmd
}

type bootstrap struct {
	*cli.Session
	config                   []string
	mongoURL                 string
	cloudConfig, constraints string
	keepBroken, noSwitch     bool
}

func (b *bootstrap) run(ctx context.Context, args []string) error {
	params, err := b.params(args)
	if err != nil {
		return err
	}
	at := clouds.Homes[params.Cloud]
	st, err := b.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	if _, ok := contents.Controllers[params.Name]; ok {
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "controller %q already exists", params.Name),
			"Choose another name: juju bootstrap %s NAME; or destroy the existing one: juju destroy-environment %s",
			params.Cloud, params.Name)
	}
	if err := at.Prepare(ctx, &params); err != nil {
		return err
	}
	if err := clouds.CheckBinaries(); err != nil {
		return err
	}
	dir := clouds.Dir(st, params.Cloud, params.Name)
	unlock, err := claim(ctx, at, dir, params)
	if err != nil {
		return err
	}
	defer unlock()
	p := b.Progress("Creating controller %q on cloud %q", params.Name, params.Cloud)
	err = b.make(ctx, st, at, params, p)
	p.Done()
	if err == nil {
		b.Note("Controller %q is up; model %q is selected.", params.Name, clouds.DefaultModel)
		return nil
	}
	if b.keepBroken {
		return cli.AlsoHint(err, "What was created is kept in %s; to remove it: juju destroy-environment %s",
			dir, params.Name)
	}
	// Also clean up after an interrupted bootstrap.
	p = b.Progress("Cleaning up controller %q", params.Name)
	defer p.Done()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyBound)
	defer cancel()
	if _, err2 := destroyHome(bounded, st, params.Cloud, params.Name, true); err2 != nil {
		err = cli.AlsoHint(fmt.Errorf("%w; and cleaning up failed: %w", err, err2),
			"To try to clean up again: juju destroy-environment %s", params.Name)
	} else if errors.Is(err, entity.Unavailable) {
		// The hint named the log, which cleanup has removed.
		err = entity.WithHint(err, "Everything was cleaned up. Once the cause is fixed, bootstrap again.")
	}
	return err
}

// params returns the parameters of bootstrap from its arguments and flags.
func (b *bootstrap) params(args []string) (p clouds.BootstrapParams, err error) {
	p = clouds.BootstrapParams{Cloud: clouds.Default, User: clouds.AdminUser}
	if len(args) > 2 {
		return p, cli.Usagef("unrecognized args: %q", args[2:])
	}
	if len(args) > 0 {
		p.Cloud = args[0]
	}
	p.Name = p.Cloud
	if len(args) > 1 {
		p.Name = args[1]
	}
	if _, ok := clouds.Homes[p.Cloud]; !ok {
		return p, entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found", p.Cloud),
			"Valid clouds: %s; to give the controller a name: juju bootstrap %s NAME", clouds.Names(), clouds.Default)
	}
	if err := clouds.CheckName(p.Name); err != nil {
		return p, cli.Usage(err)
	}
	if p.Config, err = models.ModelSettings(b.config); err != nil {
		return p, err
	}
	// It is the default of all models, not only of the first.
	p.Series = p.Config[modelconfig.DefaultSeries]
	delete(p.Config, modelconfig.DefaultSeries)
	p.CloudConfig = b.cloudConfig
	if p.Constraints, err = constraints.Parse(b.constraints); err != nil {
		return p, cli.Usage(err)
	}
	if p.MongoURL, err = mongoURL(b.mongoURL); err != nil {
		return p, err
	}
	secret := make([]byte, 24)
	rand.Read(secret)
	p.Password = base64.RawURLEncoding.EncodeToString(secret)
	return p, nil
}

// mongoVariable is the environment variable used when --mongo-url is not given.
const mongoVariable = "JUJU_MONGO_URL"

// maxURLFile is the maximum size of a file with the URL.
const maxURLFile = 64 << 10

// mongoURL returns the URL that was given, "" if none. jujud validates it.
func mongoURL(given string) (string, error) {
	if given == "" {
		given = os.Getenv(mongoVariable)
	}
	// Child processes do not need it.
	if err := os.Unsetenv(mongoVariable); err != nil {
		return "", err
	}
	file, ok := strings.CutPrefix(given, "@")
	if !ok {
		return given, nil
	}
	text, err := cli.ReadWhole(file, maxURLFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the URL of the MongoDB: %w", err)
	}
	if given = strings.TrimSpace(string(text)); given == "" {
		return "", fmt.Errorf("cannot read the URL of the MongoDB: %s is empty", file)
	}
	return given, nil
}

// claim creates and locks the controller's directory, which must not exist, or have nothing but
// storage that another controller has released. So two bootstraps of one name, or a bootstrap and
// a destroy-environment, cannot overlap.
func claim(ctx context.Context, at clouds.Home, dir string, p clouds.BootstrapParams) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the controller's directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		if at.IsFree(dir) {
			if unlock, err = store.LockDir(ctx, dir); err != nil || at.IsFree(dir) {
				return unlock, err
			}
			unlock()
		}
		if atWork(ctx, dir) {
			return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists,
				"controller %q is being created or destroyed by another juju command", p.Name),
				"Wait until it is done; or choose another name: juju bootstrap %s NAME", p.Cloud)
		}
		return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists,
			"%s already exists: a bootstrap of controller %q did not finish", dir, p.Name),
			"Clean up: juju destroy-environment %s; then bootstrap again", p.Name)
	} else if err != nil {
		return nil, fmt.Errorf("cannot create the controller's directory: %w", err)
	}
	return store.LockDir(ctx, dir)
}

// atWork reports whether another bootstrap or destroy-environment has locked a controller's
// directory.
func atWork(ctx context.Context, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, lockedBound)
	defer cancel()
	unlock, err := store.LockDir(ctx, dir)
	if err == nil {
		unlock()
	}
	return errors.Is(err, store.ErrLocked)
}

// lockedBound is how long atWork tries to lock the directory. A command that is at work holds
// the lock much longer.
const lockedBound = 200 * time.Millisecond

// make creates the controller, records it in the store, and returns when it accepts
// connections.
func (b *bootstrap) make(ctx context.Context, st *store.Store, at clouds.Home, params clouds.BootstrapParams, p *cli.Progress) error {
	dir := clouds.Dir(st, params.Cloud, params.Name)
	var err error
	if params.Config, err = ssh.WithKeys(b.Session, st, params.Cloud, params.Name, params.Config); err != nil {
		return err
	}
	made, err := at.Create(ctx, dir, params, p)
	if err != nil {
		return err
	}
	ctrl := &store.Controller{UUID: made.Controller, Addresses: made.Addresses, CACert: made.CACert, Cloud: params.Cloud,
		User: params.User, Password: params.Password, Generated: true, Models: map[string]string{}}
	for name, uuid := range made.Models {
		ctrl.Models[ctrl.Qualify(name)] = uuid
	}
	ctrl.Model = ctrl.Qualify(clouds.DefaultModel)
	// Record it before it runs: if this command is killed now, the next one finds the
	// controller and starts it.
	err = st.Update(ctx, func(c *store.Contents) error {
		if _, ok := c.Controllers[params.Name]; ok {
			return entity.Errorf(entity.AlreadyExists, "controller %q already exists", params.Name)
		}
		c.Controllers[params.Name] = ctrl
		if !b.noSwitch || c.Current == "" {
			c.Current = params.Name
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.Say("Starting controller %q", params.Name)
	if err := at.Start(ctx, dir, made.Controller); err != nil {
		return err
	}
	p.Say("Logging in to controller %q", params.Name)
	conn, err := connect.Dial(ctx, b.Session, st, cli.Target{params.Name, ctrl, ctrl.Model}, ctrl.Models[ctrl.Model])
	if err != nil {
		return err
	}
	return conn.Close()
}
