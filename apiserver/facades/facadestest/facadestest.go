// Package facadestest has what a controller gives to the methods of the API, as tests of these and of the server need it: a
// cloud, hosts of users, upgrades, plans, and other controllers.
package facadestest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"juju/agent/controller/clouds"
	"juju/apiserver/facades"
	"juju/provider"
	"juju/provider/dummytest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// OnCloud makes the API ask a cloud.
func OnCloud(c *facades.Config, cloud *dummytest.Cloud) {
	c.Cloud = func(ctx context.Context, model string) (facades.Cloud, error) {
		environ, err := cloud.Open(ctx, provider.Config{Controller: "c", Model: model})
		return clouds.Facade(environ), err
	}
}

// Hosts are ManualHosts of one architecture.
type Hosts struct{}

// HasBinaries implements facades.ManualHosts.
func (Hosts) HasBinaries(arch string) bool { return arch == "amd64" }

// Script implements facades.ManualHosts.
func (Hosts) Script(_ context.Context, st *state.State, m entity.MachineInfo, password string) (string, error) {
	return fmt.Sprint(st.Name(), " ", m.ID, " ", m.Nonce, " ", password), nil
}

// Upgrades are those of a controller that runs Runs.
type Upgrades struct {
	Installed map[entity.Binaries]string
	Switched  []entity.Binaries
	By        string
	Replied   <-chan struct{}
	Kept      map[string]string // archives, by hash
}

// Runs are the binaries of a controller with Upgrades.
var Runs = entity.Binaries{Version: "1.2.3", SHA256: strings.Repeat("12", 32)}

// Running implements facades.Upgrades, as do the methods below.
func (u *Upgrades) Running(context.Context) (entity.ControllerBinaries, error) {
	return entity.ControllerBinaries{Binaries: Runs}, nil
}

// Install implements facades.Upgrades.
func (u *Upgrades) Install(_ context.Context, file string, p entity.Binaries) error {
	text, err := os.ReadFile(file)
	u.Installed[p] = string(text)
	return err
}

// Archive implements facades.Upgrades.
func (u *Upgrades) Archive(sha256 string) string { return u.Kept[sha256] }

// Switch implements facades.Upgrades.
func (u *Upgrades) Switch(_ context.Context, by string, to entity.Binaries, replied <-chan struct{}) error {
	u.Switched, u.By, u.Replied = append(u.Switched, to), by, replied
	return nil
}

// Plans plans changes of a model by making them.
type Plans struct {
	Controller *controller.Controller
	Model      *state.State
}

// Plan implements facades.Plans.
func (p Plans) Plan(ctx context.Context, _, _ string, _ func(string) bool,
	change func(context.Context, *controller.Controller, *state.State) error) (entity.Plan, error) {
	token, err := p.Model.Transactions().Token(ctx)
	if err == nil {
		err = change(ctx, p.Controller, p.Model)
	}
	return entity.Plan{Token: token}, err
}

// Controllers are those that share a store, as far as the API is told.
type Controllers struct {
	All      []entity.ControllerNode
	Upgraded *entity.ControllerUpgrade
	Moved    chan struct{} // of the last Watch
}

// Nodes implements facades.Controllers, as do the methods below.
func (c *Controllers) Nodes(context.Context) ([]entity.ControllerNode, error) { return c.All, nil }

// Alone implements facades.Controllers.
func (c *Controllers) Alone() bool { return len(c.All) == 1 }

// Upgrade implements facades.Controllers.
func (c *Controllers) Upgrade(context.Context) (*entity.ControllerUpgrade, error) {
	return c.Upgraded, nil
}

// Watch implements facades.Controllers.
func (c *Controllers) Watch(context.Context) (<-chan struct{}, error) {
	c.Moved = make(chan struct{}, 1)
	c.Moved <- struct{}{}
	return c.Moved, nil
}

// Addresses implements facades.Controllers.
func (c *Controllers) Addresses() (all []string) {
	for _, n := range c.All {
		all = append(all, n.Addresses...)
	}
	return all
}

// OfferMySQL offers a model's mysql as "hosted", and returns the offer's UUID.
func OfferMySQL(t testing.TB, st *state.State) string {
	t.Helper()
	x := st.CrossModel()
	err := x.AddOffer(t.Context(), entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := x.Offers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all[0].UUID
}
