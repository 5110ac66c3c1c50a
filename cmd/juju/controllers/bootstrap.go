package controllers

import (
	"cmp"
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
		Use:   "bootstrap [CLOUD[/REGION]] [NAME]",
		Short: "Create a controller",
		Long: `Create a controller on a cloud, with a model, and select both.

The default cloud is "local": this host. It requires neither root nor other software. A
machine is a directory and a process with its own loopback address. All files of the
controller are below $JUJU_DATA, by default ~/.local/share/juju. Its processes keep
running when you log out. After a reboot, the next juju command restarts the controller.

On the cloud "lxd", each machine, including the controller's, is an LXD system container.
By default it uses the LXD on this host, which requires root or membership in LXD's group.
To use another, define a cloud and its credential (juju help add-cloud), and name that
cloud; or describe it in a YAML file given by --cloud-config. Its keys are:

  endpoint      the path of LXD's socket, or https://HOST:PORT
  client-cert, client-key
                certificate and key of a client that LXD trusts, in PEM, for https
  server-cert   LXD's certificate, in PEM
  project       the LXD project for all containers
  profiles      list of profiles for containers (default: [default])
  network       network for containers (default: that of the profiles). It must connect
                the containers on all members of a cluster.
  pool          storage pool (default: that of the profiles' root disk)
  image-server  URL of a simplestreams server for images that LXD does not have

LXD needs an image with cloud-init for each series, under the alias juju/SERIES or on the
image server. Clients must be able to reach the containers' addresses. A host with more
than a dozen containers needs more inotify instances than the usual 128, or services in
some containers do not start: sysctl fs.inotify.max_user_instances=1024

The controller stores its data in an embedded database or, with --mongo-url, in MongoDB
3.6 or newer: a single server or a replica set that only this controller uses. Its user
needs the roles readWriteAnyDatabase and dbAdminAnyDatabase. An example of a URL is
mongodb://juju:secret@db1,db2,db3/?replicaSet=rs0&tls=true. To keep the password out of
the process list, pass the URL as --mongo-url @FILE or in the environment variable
JUJU_MONGO_URL. The controller keeps it in a file that only you can read.

With --config open-telemetry-enabled=true and open-telemetry-endpoint=HOST:4318, the
controller and its agents send traces to an OpenTelemetry collector there, as OTLP over
HTTP, with TLS unless open-telemetry-insecure=true. open-telemetry-sample-ratio (default:
0.1) is the fraction of traces that they record among those that no command begins.

The controller's name is NAME, by default the name of its cloud. If bootstrap fails, it
cleans up unless --keep-broken is given.`,
		Example: `  juju bootstrap
  juju bootstrap local test
  juju bootstrap --config automatically-retry-hooks=true
  juju bootstrap local prod --mongo-url @mongodb.url
  juju bootstrap lxd --bootstrap-constraints mem=4G
  juju bootstrap rack/there prod --credential ops`,
		Annotations: cli.SeeAlso("destroy-environment", "clouds", "add-cloud", "add-model", "register", "whoami"),
		Args:        cli.AtMost(2),
		RunE:        func(cmd *cobra.Command, args []string) error { return b.run(cmd.Context(), args) },
	}
	cmd.Flags().StringArrayVar(&b.config, "config", nil,
		"a setting of the first model, as `KEY=VALUE` (see juju help model-config), or of the controller, such as open-telemetry-enabled")
	cmd.Flags().StringArrayVar(&b.defaults, "model-default", nil,
		"a setting of all new models, as `KEY=VALUE` (see juju help model-defaults)")
	cmd.Flags().BoolVar(&b.keepBroken, "keep-broken", false,
		"if bootstrap fails, keep what it created for debugging")
	cmd.Flags().TextVar(&b.logFormat, "log-format", entity.LogFormat(""),
		"the `FORMAT` of the log files of controllers and agents: text (default) or json, with an object on each line")
	cmd.Flags().StringVar(&b.mongoURL, "mongo-url", "",
		"the URL of the MongoDB that stores the controller's data, or @FILE to read it from")
	cmd.Flags().StringVar(&b.cloudConfig, "cloud-config", "", "a YAML `FILE` that describes the cloud, for lxd")
	cmd.Flags().StringVar(&b.credential, "credential", "",
		"the name of this client's credential for the cloud (see juju help add-credential)")
	cmd.Flags().StringVar(&b.machine, "bootstrap-constraints", "",
		"constraints of the controller's machine, for lxd; they override --constraints (see juju help set-constraints)")
	cmd.Flags().StringVar(&b.constraints, "constraints", "",
		"constraints of the first model and, on lxd, of the controller's machine (see juju help set-constraints)")
	cmd.Flags().StringVar(&b.model, "add-model", clouds.DefaultModel, "the `NAME` of the first model")
	cmd.Flags().StringVarP(&b.model, "default-model", "d", clouds.DefaultModel, "") // the older name
	cmd.Flags().Lookup("default-model").Hidden = true
	for _, accepted := range []string{"no-gui", "no-dashboard"} { // there is none
		cmd.Flags().Bool(accepted, false, "")
		cmd.Flags().Lookup(accepted).Hidden = true
	}
	cmd.Flags().BoolVar(&b.noSwitch, "no-switch", false, "do not select the new controller")
	return cmd
}

type bootstrap struct {
	*cli.Session
	config, defaults     []string
	mongoURL             string
	model, constraints   string // of the first model
	cloudConfig, machine string // machine has constraints of the controller's machine
	credential           string
	keepBroken, noSwitch bool
	logFormat            entity.LogFormat
	warnings             []string // what the new controller lacks
}

func (b *bootstrap) run(ctx context.Context, args []string) error {
	st, err := b.Store()
	if err != nil {
		return err
	}
	params, err := b.params(st, args)
	if err != nil {
		return err
	}
	at := clouds.Homes[params.Cloud]
	contents, err := st.Read()
	if err != nil {
		return err
	}
	if _, ok := contents.Controllers[params.Name]; ok {
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "controller %q already exists", params.Name),
			"To use another name: juju bootstrap %s NAME; to destroy the existing controller: juju destroy-environment %s",
			cmp.Or(params.CloudName, params.Cloud), params.Name)
	}
	if err := at.Prepare(ctx, &params); err != nil {
		return err
	}
	if err := clouds.CheckBinaries(); err != nil {
		return err
	}
	b.Warn(params.Warnings...)
	dir := clouds.Dir(st, params.Cloud, params.Name)
	unlock, err := claim(ctx, at, dir, params)
	if err != nil {
		return err
	}
	defer unlock()
	p := b.Steps("Creating controller %q on cloud %q", params.Name, cmp.Or(params.CloudName, params.Cloud))
	p.OnInterrupt("What was created is " + map[bool]string{false: "removed", true: "kept"}[b.keepBroken])
	err = b.make(ctx, st, at, params, p)
	p.End(err)
	b.Warn(b.warnings...)
	if err == nil {
		b.Note("Controller %q is up; model %q is selected.", params.Name, params.Model)
		return nil
	}
	if b.keepBroken {
		return cli.AlsoHint(err, "What was created is kept in %s. To remove it: juju destroy-environment %s",
			dir, params.Name)
	}
	// Also clean up after an interrupted bootstrap.
	p = b.Progress("Cleaning up controller %q", params.Name)
	defer p.Done()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTimeout)
	defer cancel()
	if _, err2 := destroyHome(bounded, st, params.Cloud, params.Name, true); err2 != nil {
		err = cli.AlsoHint(fmt.Errorf("%w; and cleaning up failed: %w", err, err2),
			"To retry the cleanup: juju destroy-environment %s", params.Name)
	} else if errors.Is(err, entity.Unavailable) {
		// The hint named the log, which cleanup has removed.
		err = entity.WithHint(err, "Everything was cleaned up. Fix the cause and bootstrap again.")
	}
	return err
}

// params returns the parameters of bootstrap from its arguments and flags.
func (b *bootstrap) params(st *store.Store, args []string) (p clouds.BootstrapParams, err error) {
	p = clouds.BootstrapParams{User: clouds.AdminUser, Model: b.model, LogFormat: b.logFormat}
	at := clouds.Default
	if len(args) > 0 {
		at = args[0]
	}
	p.Name, _, _ = strings.Cut(at, "/")
	if len(args) > 1 {
		p.Name = args[1]
	}
	if err := p.Choose(st, at, b.credential); err != nil && p.Cloud == "" {
		return p, cli.AlsoHint(err, "To give the controller a name: juju bootstrap %s NAME", clouds.Default)
	} else if err != nil {
		return p, err
	}
	if err := clouds.CheckName(p.Name); err != nil {
		return p, cli.Usage(err)
	}
	if !entity.IsValidModel(b.model) {
		return p, cli.Usage(entity.InvalidModel(b.model))
	}
	if b.model == clouds.ControllerModel {
		return p, cli.Usagef("cannot call the first model %q: every controller has a model of this name for itself", b.model)
	}
	config, tracing := b.splitConfig()
	if p.Tracing, err = entity.ParseTracing(tracing); err != nil {
		return p, cli.Usage(err)
	}
	if p.Config, err = models.ModelSettings(b.Session, config); err != nil {
		return p, err
	}
	if p.Defaults, err = models.ModelSettings(b.Session, b.defaults); err != nil {
		return p, err
	}
	if _, keys := p.Defaults[modelconfig.AuthorizedKeys]; keys {
		return p, cli.Usage(entity.Errorf(entity.Invalid,
			"%s can't have a default: each new model gets the keys of the client that creates it",
			modelconfig.AuthorizedKeys))
	}
	// It is the default for all models, not only for the first.
	p.Series = p.Config[modelconfig.DefaultSeries]
	delete(p.Config, modelconfig.DefaultSeries)
	p.CloudConfig = b.cloudConfig
	if p.Constraints, err = clouds.ParseConstraints(b.constraints); err != nil {
		return p, err
	}
	if p.Machine, err = clouds.ParseConstraints(b.machine); err != nil {
		return p, err
	}
	if p.Cloud != clouds.Default { // there the controller is a process
		p.Machine = constraints.Merge(p.Constraints, p.Machine)
	}
	if p.MongoURL, err = clouds.MongoURL(b.mongoURL); err != nil {
		return p, err
	}
	secret := make([]byte, 24)
	rand.Read(secret)
	p.Password = base64.RawURLEncoding.EncodeToString(secret)
	return p, nil
}

// splitConfig separates the settings of the controller, of which most have no effect, from those of the first model, which stay KEY=VALUE.
func (b *bootstrap) splitConfig() (model []string, ofController map[string]string) {
	ofController = map[string]string{}
	for _, pair := range b.config {
		if key, value, ok := strings.Cut(pair, "="); ok && entity.IsTracingSetting(key) {
			ofController[key] = value
		} else if ok && modelconfig.IsOfController(key) {
			b.Warn(modelconfig.ControllerWord(key))
		} else {
			model = append(model, pair)
		}
	}
	return model, ofController
}

// claim creates and locks the controller's directory, so that commands that create or destroy a controller of this name
// cannot overlap. The directory must not exist, or contain only storage that an earlier controller released.
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
		if isLocked(ctx, dir) {
			return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists,
				"controller %q is being created or destroyed by another juju command", p.Name),
				"Wait until it is done, or use another name: juju bootstrap %s NAME", cmp.Or(p.CloudName, p.Cloud))
		}
		return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists,
			"%s already exists: a bootstrap of controller %q did not finish", dir, p.Name),
			"To clean up before you bootstrap again: juju destroy-environment %s", p.Name)
	} else if err != nil {
		return nil, fmt.Errorf("cannot create the controller's directory: %w", err)
	}
	return store.LockDir(ctx, dir)
}

// isLocked reports whether another bootstrap or destroy-environment has locked a controller's directory.
func isLocked(ctx context.Context, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	unlock, err := store.LockDir(ctx, dir)
	if err == nil {
		unlock()
	}
	return errors.Is(err, store.ErrLocked)
}

// lockTimeout is how long isLocked tries to lock the directory. Other commands hold the lock much longer.
const lockTimeout = 200 * time.Millisecond

// make creates the controller, records it in the store, and waits until it accepts connections.
func (b *bootstrap) make(ctx context.Context, st *store.Store, at clouds.Home, params clouds.BootstrapParams,
	p *cli.Progress) error {
	dir := clouds.Dir(st, params.Cloud, params.Name)
	var err error
	if params.Config, err = ssh.WithKeys(ctx, b.Session, st, params.Cloud, params.Config); err != nil {
		return err
	}
	made, err := at.Create(ctx, dir, params, p)
	if err != nil {
		return err
	}
	b.warnings = made.Warnings
	ctrl := &store.Controller{UUID: made.Controller, Addresses: made.Addresses, CACert: made.CACert, Cloud: params.Cloud, CloudName: params.CloudName,
		User: params.User, Password: params.Password, Generated: true, Models: map[string]string{}}
	for name, uuid := range made.Models {
		ctrl.Models[ctrl.Qualify(name)] = uuid
	}
	ctrl.Model = ctrl.Qualify(params.Model)
	// Record it before it runs: if this command is killed now, the next one starts the controller.
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
	if _, err := ssh.MakeKey(ctx, st); err != nil {
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
