package machines

import (
	"context"
	"fmt"
	osuser "os/user"
	"time"

	"github.com/google/uuid"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/sshhost"
	"juju/state/entity"
)

// undoTimeout is how long removing a machine may take after installation on its host failed.
const undoTimeout = 30 * time.Second

// host returns the host that a placement names.
func (a *addMachine) host(at entity.Placement) (sshhost.Host, error) {
	h, err := sshhost.ParseHost(at.Manual)
	if err != nil {
		return h, cli.Usage(fmt.Errorf("invalid placement %q: %w", at, err))
	}
	if a.constraints != "" {
		return h, cli.Usagef("cannot use --constraints with %s", entity.ManualPlacement)
	}
	if h.User == "" {
		h.User = a.Getenv("USER")
	}
	if h.User == "" {
		me, err := osuser.Current()
		if err != nil {
			return h, entity.WithHint(fmt.Errorf("cannot determine the current user: %w", err), "Specify the user: %sUSER@%s",
				entity.ManualPlacement,
				h)
		}
		h.User = me.Username
	}
	return h, nil
}

// reachable rejects hosts for a controller that they can't reach, before connecting to them.
func (a *addMachine) reachable() error {
	_, t, err := a.ReadModelTarget()
	if err != nil {
		return err
	}
	if !clouds.Of(t.Controller.Cloud).TakesHosts() {
		return entity.NoHosts()
	}
	return nil
}

// addHost adds a host as a machine, and returns its id.
func (a *addMachine) addHost(ctx context.Context, api addHostAPI, h sshhost.Host, series string) (string, error) {
	keys := ssh.UserKeys(a.Session)
	keys.File = a.privateKey
	conn, err := sshhost.Dial(ctx, h, keys)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	facts, err := conn.Probe(ctx)
	if err != nil {
		return "", err
	}
	if series != "" && series != facts.Series {
		return "", entity.Errorf(entity.Invalid, "cannot add host %s: its series is %q, not %q", h, facts.Series, series)
	}
	instance := entity.ManualInstance(h.Name)
	nonce := instance + ":" + uuid.NewString()
	id, warnings, err := api.AddMachine(ctx, client.MachineArgs{Series: facts.Series, Hardware: facts.Hardware,
		Placement: entity.Placement{Manual: h.User + "@" + h.String()},
		Manual:    entity.Instance{ID: instance, Nonce: nonce, Addresses: []string{conn.Address}}})
	if err != nil {
		return "", err
	}
	a.Warn(warnings...)
	a.Detail("%s has %s and %s", h, facts.Series, facts.Hardware)
	script, err := api.ProvisioningScript(ctx, id, nonce)
	if err == nil {
		warnings, err = conn.Install(ctx, script)
	}
	if err != nil {
		return "", a.undo(ctx, api, id, err)
	}
	a.Warn(warnings...)
	a.Note("created machine %s", id)
	return id, nil
}

// undo removes a machine after installation on its host failed or was interrupted, and returns why.
func (a *addMachine) undo(ctx context.Context, api addHostAPI, id string, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	errs, _, err := api.DestroyMachines(ctx, entity.Destruction{Strength: entity.Force}, id)
	for _, one := range errs {
		if err == nil {
			err = one
		}
	}
	if err != nil {
		return cli.AlsoHint(why, "Machine %s was not removed (%v). To remove it: juju destroy-machine %s --force", id, err,
			id)
	}
	return why
}
