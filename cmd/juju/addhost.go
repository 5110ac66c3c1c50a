package main

import (
	"context"
	"fmt"
	osuser "os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"juju/apiserver/client"
	"juju/provider/manual"
	"juju/state/entity"
)

// hostPrefix begins a placement that names a host of the user's.
const hostPrefix = "ssh:"

// undoBound is how long the removal of a machine may take whose host could not be set up.
const undoBound = 30 * time.Second

// host returns the host that is to be a machine.
func (a *addMachine) host(text string) (manual.Host, error) {
	h, err := manual.ParseHost(strings.TrimPrefix(text, hostPrefix))
	if err != nil {
		return h, usageError{fmt.Errorf("invalid placement %q: %w", text, err)}
	}
	if a.constraints != "" {
		return h, usagef("cannot use --constraints with %s: the host is as it is", hostPrefix)
	}
	if h.User == "" {
		h.User = a.getenv("USER")
	}
	if h.User == "" {
		me, err := osuser.Current()
		if err != nil {
			return h, entity.WithHint(fmt.Errorf("cannot tell who you are: %w", err), "Name the user: %sUSER@%s", hostPrefix,
				h)
		}
		h.User = me.Username
	}
	return h, nil
}

// reachable refuses hosts for a controller that they can't reach.
func (a *addMachine) reachable(h manual.Host) error {
	st, err := a.store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	t, err := a.target(contents)
	if err != nil {
		return err
	}
	if t.ctrl.Cloud == localCloud {
		return entity.WithHint(entity.Errorf(entity.NotSupported, "cannot add host %s: controller %q, on cloud %q, listens on "+
			"this host's loopback addresses only, where no other host reaches it", h, t.name, localCloud),
			"A controller on a cloud with a network can have hosts: juju bootstrap lxd")
	}
	return nil
}

// keys returns the user's keys, where OpenSSH has them.
func (a *addMachine) keys() manual.Keys {
	dir := filepath.Join(a.getenv("HOME"), ".ssh")
	k := manual.Keys{File: a.privateKey, Agent: a.getenv("SSH_AUTH_SOCK"),
		KnownHosts: []string{filepath.Join(dir, "known_hosts"), filepath.Join(dir, "known_hosts2"),
			"/etc/ssh/ssh_known_hosts"}}
	for _, name := range ownKeys {
		k.Defaults = append(k.Defaults, filepath.Join(dir, name))
	}
	return k
}

// addHost makes a host a machine, and returns its id.
func (a *addMachine) addHost(ctx context.Context, api addMachineAPI, h manual.Host, series string) (string, error) {
	conn, err := manual.Dial(ctx, h, a.keys())
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
		Manual: entity.Instance{ID: instance, Nonce: nonce, Addresses: []string{conn.Address}}})
	if err != nil {
		return "", err
	}
	a.warn(warnings...)
	a.detail("%s has %s and %s", h, facts.Series, facts.Hardware)
	script, err := api.ProvisioningScript(ctx, id, nonce)
	if err == nil {
		err = conn.Install(ctx, script)
	}
	if err != nil {
		return "", a.undo(ctx, api, id, err)
	}
	a.note("created machine %s", id)
	return id, nil
}

// undo removes a machine whose host could not be set up, even if the user has interrupted that, and
// returns why it could not.
func (a *addMachine) undo(ctx context.Context, api addMachineAPI, id string, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBound)
	defer cancel()
	errs, _, err := api.DestroyMachines(ctx, entity.Destruction{Strength: entity.Force}, id)
	for _, one := range errs {
		if err == nil {
			err = one
		}
	}
	if err != nil {
		return alsoHint(why, "Machine %s is still recorded (%v). Remove it: juju destroy-machine %s --force", id, err, id)
	}
	return why
}
