package controller

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"juju/agent/controller/clouds"
	"juju/apiserver"
	"juju/provider/local"
	"juju/state"
	"juju/state/constraints"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
	"juju/state/sealing"
)

// BootstrapParams describes a new controller.
type BootstrapParams struct {
	Name     string `json:"name"`
	Cloud    string `json:"cloud"`
	Series   string `json:"series"` // for charms that name no series
	User     string `json:"user"`
	Password string `json:"password"`
	// MongoURL is the URL of the MongoDB for the store; "" means the embedded store.
	MongoURL string `json:"mongo-url,omitempty"`
	// Model is the name of the user's first model; "" means DefaultModel. Config and Constraints are its settings and
	// constraints.
	Model       string            `json:"model,omitempty"`
	Config      map[string]string `json:"config,omitempty"`
	Constraints constraints.Value `json:"constraints,omitzero"`
	// Defaults are settings that all new models get, this one too.
	Defaults map[string]string `json:"defaults,omitempty"`
	// Controller is the controller's UUID; if "", one is generated.
	Controller string `json:"controller-uuid,omitempty"`
	// Hosts are the addresses of the controller's own machine, best first, on a cloud other than local.
	Hosts []string `json:"hosts,omitempty"`
	// CloudName, Region and CredentialName are what a user calls the cloud, its region and the credential; "" for a
	// built-in cloud.
	CloudName      string `json:"cloud-name,omitempty"`
	Region         string `json:"region,omitempty"`
	CredentialName string `json:"credential-name,omitempty"`
	// LogFormat is the format of the logs of controllers and agents; "" for text.
	LogFormat entity.LogFormat `json:"log-format,omitempty"`
	// Tracing says where controllers and agents send traces.
	Tracing entity.Tracing `json:"tracing,omitzero"`
	// Access is how the controller reaches its cloud.
	clouds.Access
}

// Bootstrapped is what a client must know to reach a new controller.
type Bootstrapped struct {
	Controller string            `json:"controller-uuid"`
	CACert     string            `json:"ca-cert"`
	Addresses  []string          `json:"api-addresses"`
	Models     map[string]string `json:"models"`               // name → UUID; OWNER/NAME → UUID of a restored controller
	CloudName  string            `json:"cloud-name,omitempty"` // of a restored controller, if it is not the cloud's kind
	Password   string            `json:"password,omitempty"`   // that a user was given by Restore
	Warnings   []string          `json:"warnings,omitempty"`
}

// DefaultModel is the name of the model that Bootstrap creates for the user, if none is given.
const DefaultModel = "default"

// Bootstrap creates a controller in the cloud's directory dir, without starting it. When it returns, the
// controller is durably on disk. It fails if the directory already has one.
func Bootstrap(ctx context.Context, dir string, p BootstrapParams, o Options) (*Bootstrapped, error) {
	made, err := bootstrap(ctx, dir, p, o)
	return made, noRoom(err, dir, "bootstrap")
}

// noRoom adds a hint to the error of what failed because the disk is full, and is to be done again.
func noRoom(err error, dir, again string) error {
	if !entity.IsDiskFull(err) {
		return err
	}
	return entity.WithHint(fmt.Errorf("the disk is full: %w", err), "Make room where %s is, and %s again.", dir, again)
}

func bootstrap(ctx context.Context, dir string, p BootstrapParams, o Options) (*Bootstrapped, error) {
	if p.Name == "" || p.User == "" || p.Password == "" || p.Cloud == "" {
		return nil, entity.Errorf(entity.Invalid, "cannot bootstrap: name, cloud, user and password are needed")
	}
	own := local.ControllerDir(dir)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, fmt.Errorf("cannot bootstrap: %w", err)
	}
	if _, err := os.Stat(filepath.Join(own, configName)); err == nil {
		return nil, entity.WithHint(entity.Errorf(entity.AlreadyExists, "cannot bootstrap: %s holds a controller", dir),
			"End it first: juju destroy-environment %s", p.Name)
	}
	if o.Open == nil {
		if err := clouds.Of(p.Cloud).Check(clouds.Params{Access: p.Access, Controller: p.Controller, Hosts: p.Hosts}); err != nil {
			return nil, fmt.Errorf("cannot bootstrap: %w", err)
		}
	}
	conf, err := newConfig(p)
	if err != nil {
		return nil, fmt.Errorf("cannot bootstrap: %w", err)
	}
	store, err := makeStore(ctx, own, conf.Controller, p.MongoURL, o, ending("bootstrap", "bootstrap", dir))
	if err != nil {
		return nil, fmt.Errorf("cannot bootstrap: %w", err)
	}
	defer store.Close()
	result := &Bootstrapped{Controller: conf.Controller, CACert: conf.CA.Cert, Addresses: conf.addresses(), Warnings: apiserver.Warnings()}
	if result.Models, err = initialize(ctx, store, conf, p, o); err != nil {
		return nil, fmt.Errorf("cannot bootstrap: %w", err)
	}
	conf.Model = result.Models[state.ControllerModel]
	// The configuration is written last: a directory without one has no controller.
	if err := store.Sync(ctx); err != nil {
		return nil, fmt.Errorf("cannot bootstrap: %w", err)
	}
	return result, conf.write(own)
}

// apiPort is the API's port on a machine that runs only the controller. It is Juju's standard port.
const apiPort = "17070"

func newConfig(p BootstrapParams) (config, error) {
	c := config{Controller: p.Controller, Cloud: p.Cloud, Series: p.Series, Password: state.NewAgentPassword(), Access: p.Access,
		CloudName: p.CloudName, Region: p.Region, CredentialName: p.CredentialName, LogFormat: p.LogFormat, Tracing: p.Tracing,
		SecretKey: sealing.New().Text()}
	if c.Controller == "" {
		c.Controller = uuid.NewString()
	}
	var err error
	if len(p.Hosts) > 0 {
		c.listenOn(p.Hosts)
	} else if c.Address, err = freeAddress(); err != nil {
		return c, err
	}
	if c.CA, err = apiserver.NewCA(c.Controller, time.Now()); err != nil {
		return c, err
	}
	hosts, err := c.hosts()
	if err != nil {
		return c, err
	}
	c.Server, err = apiserver.NewServerCert(c.CA, hosts, time.Now())
	return c, err
}

// freeAddress chooses a free port. The controller always listens on this port, so that agents find it after a
// restart. Linux gives ports from 32768 on to outgoing connections, unless it is told otherwise; one of these could
// have the port while the controller is down.
func freeAddress() (string, error) {
	const first, last = 10000, 32767
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1",
			strconv.Itoa(first+rand.IntN(last-first+1)))); err == nil {
			defer l.Close()
			return l.Addr().String(), nil
		}
	}
	return "", fmt.Errorf("cannot find a free port: %w", err)
}

// initialize writes the controller, its models, and the password of jujud's own agent to the store.
func initialize(ctx context.Context, store *mongo.Store, conf config, p BootstrapParams,
	o Options) (map[string]string, error) {
	err := controller.Initialize(ctx, store, controller.InitParams{Name: p.Name, UUID: conf.Controller, Cloud: p.Cloud,
		Series: p.Series, User: p.User, Password: p.Password}, o.State)
	if err != nil {
		return nil, err
	}
	ctrl, err := controller.Open(ctx, store, o.State)
	if err != nil {
		return nil, err
	}
	defer ctrl.Close()
	if err := ctrl.SetModelDefaults(ctx, p.Defaults, nil); err != nil {
		return nil, err
	}
	first, err := ctrl.AddModel(ctx, controller.AddModelParams{Name: cmp.Or(p.Model, DefaultModel), Owner: p.User, Series: p.Series,
		Config: p.Config})
	if err != nil {
		return nil, err
	}
	if err := first.Settings().SetConstraints(ctx, p.Constraints); err != nil {
		return nil, err
	}
	rows, err := ctrl.Models(ctx)
	if err != nil {
		return nil, err
	}
	models := map[string]string{}
	for _, row := range rows {
		models[row.Name] = row.UUID
	}
	own, err := ctrl.Model(ctx, models[state.ControllerModel])
	if err != nil {
		return nil, err
	}
	if keys := p.Config[modelconfig.AuthorizedKeys]; keys != "" {
		// juju ssh --proxy connects through the controller's machine.
		if err := own.Settings().SetConfig(ctx, map[string]string{modelconfig.AuthorizedKeys: keys}, nil); err != nil {
			return nil, err
		}
	}
	return models, own.Agents().SetPassword(ctx, entity.MachineTag("0"), conf.Password)
}
