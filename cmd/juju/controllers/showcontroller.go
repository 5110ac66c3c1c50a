package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

type showControllerAPI interface {
	ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error)
	ControllerAccess() string
	ControllerNodes(ctx context.Context) ([]entity.ControllerNode, *entity.ControllerUpgrade, error)
	ServerVersion() string
	Release() string
	Addresses() []string
}

func ShowControllerCommand(s *cli.Session) *cobra.Command {
	c := &showController{Session: s}
	cmd := &cobra.Command{
		Use:     "show-controller [CONTROLLER]",
		Aliases: []string{"api-endpoints", "api-info"},
		Short:   "Show a controller",
		Long: `Show a controller: its addresses, CA certificate and version, your models there and your
account. If its store is a MongoDB that controllers can share, also show which controllers
are up, which one leads, and when one that is down was last seen. The one that leads runs
the workers that must run once. During an upgrade, also show the new version, the
progress, and what has failed. Without CONTROLLER, show the selected controller.`,
		Example: `  juju show-controller
  juju show-controller prod --format json`,
		Annotations: cli.SeeAlso("enable-ha", "upgrade-controller", "status", "models"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				s.Controller = args[0]
			}
			return c.run(cmd.Context())
		},
	}
	c.output.Flags(cmd, "yaml", "yaml", "json")
	s.ControllerFlag(cmd)
	return cmd
}

type showController struct {
	*cli.Session
	output cli.Output
}

// The YAML and JSON forms of a controller.
type (
	shownController struct {
		Details  controllerDetails         `yaml:"details" json:"details"`
		Machines map[string]controllerNode `yaml:"controller-machines,omitempty" json:"controller-machines,omitempty"`
		Upgrade  *controllerUpgrade        `yaml:"upgrade,omitempty" json:"upgrade,omitempty"`
		Models   map[string]countedModel   `yaml:"models,omitempty" json:"models,omitempty"`
		Model    string                    `yaml:"current-model,omitempty" json:"current-model,omitempty"`
		Account  controllerAccount         `yaml:"account" json:"account"`
	}
	controllerDetails struct {
		UUID        string   `yaml:"controller-uuid" json:"uuid"` // each has the key of Juju
		Addresses   []string `yaml:"api-endpoints" json:"api-endpoints"`
		Cloud       string   `yaml:"cloud" json:"cloud"`
		Region      string   `yaml:"region,omitempty" json:"region,omitempty"`
		Version     string   `yaml:"agent-version" json:"agent-version"`
		Commit      string   `yaml:"agent-git-commit,omitempty" json:"agent-git-commit,omitempty"`
		Model       string   `yaml:"controller-model-version,omitempty" json:"controller-model-version,omitempty"`
		Release     string   `yaml:"release" json:"release"`
		Fingerprint string   `yaml:"ca-fingerprint,omitempty" json:"ca-fingerprint,omitempty"` // SHA-256
		CACert      string   `yaml:"ca-cert" json:"ca-cert"`
	}
	countedModel struct {
		UUID     string `yaml:"model-uuid" json:"uuid"`
		Machines int64  `yaml:"machine-count" json:"machine-count"`
		Cores    int64  `yaml:"core-count" json:"core-count"`
		Units    int64  `yaml:"unit-count" json:"unit-count"`
	}
	controllerNode struct {
		Addresses []string `yaml:"api-endpoints" json:"api-endpoints"`
		Status    string   `yaml:"ha-status" json:"ha-status"`
		Primary   bool     `yaml:"ha-primary,omitempty" json:"ha-primary,omitempty"`
		Seen      string   `yaml:"last-seen,omitempty" json:"last-seen,omitempty"`
		Release   string   `yaml:"release,omitempty" json:"release,omitempty"`
		Commit    string   `yaml:"agent-git-commit,omitempty" json:"agent-git-commit,omitempty"`
		Failure   string   `yaml:"upgrade-failure,omitempty" json:"upgrade-failure,omitempty"`
	}
	controllerUpgrade struct {
		Release   string   `yaml:"release" json:"release"`
		Commit    string   `yaml:"agent-git-commit,omitempty" json:"agent-git-commit,omitempty"`
		Status    string   `yaml:"status" json:"status"` // "in progress", "done" or "cancelled"
		User      string   `yaml:"started-by" json:"started-by"`
		Since     string   `yaml:"since" json:"since"`
		Upgrading string   `yaml:"upgrading,omitempty" json:"upgrading,omitempty"`
		Upgraded  []string `yaml:"upgraded,omitempty,flow" json:"upgraded,omitempty"`
		Reason    string   `yaml:"reason,omitempty" json:"reason,omitempty"` // why it was cancelled
	}
	controllerAccount struct {
		User   string `yaml:"user" json:"user"`
		Access string `yaml:"access" json:"access"`
	}
)

func (c *showController) run(ctx context.Context) error {
	if err := cli.CheckFormat(c.output.Format); err != nil {
		return err
	}
	return cli.WithController(ctx, c.Session, func(t cli.Target, api showControllerAPI) error {
		nodes, upgrade, err := api.ControllerNodes(ctx)
		if err == nil {
			err = c.note(ctx, t, nodes)
		}
		if err != nil {
			return err
		}
		summaries, err := api.ModelSummaries(ctx)
		if err != nil {
			return err
		}
		shown := shownController{
			Details: controllerDetails{UUID: t.Controller.UUID, Addresses: api.Addresses(), Cloud: t.Controller.ShownCloud(),
				Version: api.ServerVersion(), Release: api.Release(), Fingerprint: fingerprint(t.Controller.CACert), CACert: t.Controller.CACert},
			Account: controllerAccount{t.Controller.User, api.ControllerAccess()}, Models: counted(t, summaries),
			Model: t.Controller.Unqualify(t.Controller.Model), Machines: map[string]controllerNode{},
		}
		for _, s := range summaries {
			if s.IsController {
				shown.Details.Region, shown.Details.Model = s.CloudRegion, s.AgentVersion
			}
		}
		for _, n := range nodes {
			if n.Leads {
				shown.Details.Commit = n.Commit
			}
			one := controllerNode{Addresses: append([]string{}, n.Addresses...), Status: "ha-enabled", Primary: n.Leads, Release: n.Version,
				Commit: n.Commit}
			if n.Waits {
				one.Status = "waiting"
			}
			if !n.Up {
				one.Status, one.Primary = "down", false
				if !n.Seen.IsZero() {
					one.Seen = n.Seen.UTC().Format(time.RFC3339)
				}
			}
			if upgrade != nil {
				if f := upgrade.Failure(n.Machine); f != nil {
					one.Failure = f.Error
				}
			}
			shown.Machines[n.Machine] = one
		}
		shown.Upgrade = upgradeShown(upgrade)
		text, err := cli.Encode(c.output.Format, map[string]shownController{t.Name: shown})
		if err != nil {
			return err
		}
		return c.Write(c.output, text)
	})
}

// counted returns the models of a controller, with how much each has.
func counted(t cli.Target, summaries []entity.ModelSummary) map[string]countedModel {
	all := map[string]countedModel{}
	for _, s := range summaries {
		one := countedModel{UUID: s.UUID}
		for _, c := range s.Counts {
			switch c.Entity {
			case "machines":
				one.Machines = c.Count
			case "cores":
				one.Cores = c.Count
			case "units":
				one.Units = c.Count
			}
		}
		all[t.Controller.Unqualify(s.OwnerTag.ID+"/"+s.Name)] = one
	}
	return all
}

// fingerprint returns the SHA-256 hash of a certificate, as in AB:CD:…; "" if there is none.
func fingerprint(cert string) string {
	block, _ := pem.Decode([]byte(cert))
	if block == nil {
		return ""
	}
	hash := sha256.Sum256(block.Bytes)
	return strings.ReplaceAll(fmt.Sprintf("% X", hash[:]), " ", ":")
}

// note stores how many controllers there are, for juju controllers.
func (c *showController) note(ctx context.Context, t cli.Target, nodes []entity.ControllerNode) error {
	st, err := c.Store()
	if err != nil {
		return err
	}
	return st.Update(ctx, func(known *store.Contents) error {
		if ctrl, ok := known.Controllers[t.Name]; ok {
			noteNodes(ctrl, nodes)
		}
		return nil
	})
}

// upgradeShown returns the shown form of an upgrade, nil for none.
func upgradeShown(u *entity.ControllerUpgrade) *controllerUpgrade {
	if u == nil {
		return nil
	}
	shown := &controllerUpgrade{Release: u.To.Version, Commit: u.To.Commit, Status: "done", User: u.By,
		Since: u.Began.UTC().Format(time.RFC3339), Upgrading: u.Turn, Upgraded: u.Changed, Reason: u.Cancelled}
	switch {
	case u.IsGoing():
		shown.Status = "in progress"
	case u.Cancelled != "":
		shown.Status = "cancelled"
	}
	return shown
}
