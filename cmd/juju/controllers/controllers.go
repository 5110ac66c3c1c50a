package controllers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func ControllersCommand(s *cli.Session) *cobra.Command {
	c := &controllers{Session: s}
	cmd := &cobra.Command{
		Use:     "controllers",
		Aliases: []string{"list-controllers", "systems", "list-systems"},
		Short:   "List the controllers that this client knows",
		Long: `List the controllers that this client has created or registered with: the selected model
and your user on each, your access to it, its cloud and version, and how many controllers
share its store ("2/3": one of them is down). An asterisk marks the selected controller.
The list shows what each controller last reported. With --refresh, the command asks each
controller; those that don't respond are listed with what is known.`,
		Example: `  juju controllers
  juju controllers --refresh
  juju controllers --format yaml`,
		Annotations: cli.SeeAlso("show-controller", "switch", "models"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(c.output.Format); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&c.refresh, "refresh", false, "ask each controller")
	c.output.Flags(cmd, "tabular", cli.ListFormats...)
	return cmd
}

type controllers struct {
	*cli.Session
	output  cli.Output
	refresh bool
}

// The YAML and JSON forms of the list.
type (
	listedControllers struct {
		Controllers map[string]listedController `yaml:"controllers" json:"controllers"`
		Current     string                      `yaml:"current-controller" json:"current-controller"`
	}
	listedController struct {
		Model     string              `yaml:"current-model,omitempty" json:"current-model,omitempty"`
		User      string              `yaml:"user,omitempty" json:"user,omitempty"`
		Access    string              `yaml:"access,omitempty" json:"access,omitempty"`
		Server    string              `yaml:"recent-server,omitempty" json:"recent-server,omitempty"`
		UUID      string              `yaml:"controller-uuid" json:"uuid"`
		Addresses []string            `yaml:"api-endpoints" json:"api-endpoints"`
		CACert    string              `yaml:"ca-cert" json:"ca-cert"`
		Cloud     string              `yaml:"cloud" json:"cloud"`
		Version   string              `yaml:"agent-version,omitempty" json:"agent-version,omitempty"`
		Release   string              `yaml:"release,omitempty" json:"release,omitempty"`
		Models    int                 `yaml:"model-count" json:"model-count"`
		Machines  *controllerMachines `yaml:"controller-machines,omitempty" json:"controller-machines,omitempty"`
	}
	controllerMachines struct {
		Active int `yaml:"active" json:"Active"` // capitals, as in Juju
		Total  int `yaml:"total" json:"Total"`
	}
)

func (c *controllers) run(ctx context.Context) error {
	st, err := c.Store()
	if err != nil {
		return err
	}
	known, err := st.Read()
	if err == nil && c.refresh {
		c.askAll(ctx, known)
		if known, err = st.Read(); err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return err
	}
	shown := listedControllers{map[string]listedController{}, known.Current}
	rows := [][]string{{"Controller", "Model", "User", "Access", "Cloud", "Models", "HA", "Version"}}
	for _, name := range known.Names() {
		one := listed(known.Controllers[name])
		shown.Controllers[name] = one
		if name == known.Current {
			name += "*"
		}
		rows = append(rows, []string{name, cmp.Or(one.Model, "-"), cmp.Or(one.User, "-"), cmp.Or(one.Access, "-"), cmp.Or(one.Cloud, "-"),
			strconv.Itoa(one.Models), one.Machines.text(), cmp.Or(one.Version, "-")})
	}
	if len(rows) == 1 && c.output.Format == "tabular" {
		c.Note("No controllers registered. To create one: juju bootstrap")
		return nil
	}
	return c.WriteList(c.output, shown, rows)
}

func listed(c *store.Controller) listedController {
	one := listedController{Model: c.Unqualify(c.Model), User: c.User, UUID: c.UUID, Addresses: append([]string{}, c.Addresses...), CACert: c.CACert,
		Cloud: c.ShownCloud(), Version: c.Version, Release: c.Release, Models: len(c.Models)}
	if len(c.Addresses) > 0 {
		one.Server = c.Addresses[0]
	}
	if c.User != "" {
		one.Access = c.Access
	}
	if c.Nodes > 0 {
		one.Machines = &controllerMachines{c.Up, c.Nodes}
	}
	return one
}

// text returns the number of controllers in a table.
func (m *controllerMachines) text() string {
	switch {
	case m == nil:
		return "-"
	case m.Active < m.Total:
		return fmt.Sprintf("%d/%d", m.Active, m.Total)
	case m.Total == 1:
		return "none"
	}
	return strconv.Itoa(m.Total)
}

// askTimeout is how long controllers may take to answer.
const askTimeout = 10 * time.Second

// refreshAPI is what controllers are asked.
type refreshAPI interface {
	cli.ModelsAPI
	io.Closer
	ControllerNodes(ctx context.Context) ([]entity.ControllerNode, *entity.ControllerUpgrade, error)
	ServerVersion() string
	Release() string
	ControllerAccess() string
	Addresses() []string
}

// askAll asks each controller, and stores what it says. It notes which of them don't answer, and why.
func (c *controllers) askAll(ctx context.Context, known *store.Contents) {
	p := c.Quickly("Asking the controllers")
	errs := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	bounded, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
	defer cancel()
	for name, ctrl := range known.Controllers {
		all.Go(func() {
			if err := c.ask(bounded, cli.Target{Name: name, Controller: ctrl}); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs[name] = err
			}
		})
	}
	all.Wait()
	p.Done()
	for _, name := range known.Names() {
		if err := errs[name]; err != nil && ctx.Err() == nil {
			c.Note("Controller %q has not answered, and is listed as it was last known: %s", name,
				display.Line(strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
	}
}

// ask asks one controller.
func (c *controllers) ask(ctx context.Context, t cli.Target) (err error) {
	conn, err := c.AskController(ctx, t)
	if err != nil {
		return err
	}
	api := conn.(refreshAPI)
	defer func() { _ = api.Close() }()
	nodes, _, err := api.ControllerNodes(ctx)
	if err != nil {
		return err
	}
	models, err := api.Models(ctx)
	if err != nil {
		return err
	}
	return c.NoteModels(ctx, t, models, func(ctrl *store.Controller) {
		ctrl.Version, ctrl.Release = api.ServerVersion(), api.Release()
		ctrl.Access, ctrl.Addresses = api.ControllerAccess(), api.Addresses()
		noteNodes(ctrl, nodes)
	})
}

// noteNodes stores how many controllers there are, of which one has answered.
func noteNodes(ctrl *store.Controller, nodes []entity.ControllerNode) {
	up := 0
	for _, n := range nodes {
		if n.Up {
			up++
		}
	}
	ctrl.Nodes, ctrl.Up = max(1, len(nodes)), max(1, up)
}
