package clouds

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	"juju/agent/backup"
	"juju/cmd/juju/cli"
	"juju/provider/lxd"
	"juju/state/entity"
)

// A backedUp is what a backup says, in its first entry, about where its controller was.
type backedUp struct {
	Series    string      `json:"series"`
	Addresses []string    `json:"addresses"`
	Model     string      `json:"model"` // UUID of the controller's own model
	LXD       *lxd.Config `json:"lxd"`
}

// readBackedUp reads the first entry of a backup.
func readBackedUp(r Restoration) (b backedUp, err error) {
	plain, err := r.Backup()
	if err != nil {
		return b, err
	}
	contents, err := backup.Open(plain)
	if err == nil {
		err = json.Unmarshal(contents.Text, &b)
	}
	if err == nil && (b.LXD == nil || b.Model == "" || len(b.Addresses) == 0) {
		err = entity.Errorf(entity.Invalid, "it does not say where the controller was")
	}
	return b, err
}

// hosts returns the hosts of addresses.
func hosts(addresses []string) (hosts []string) {
	for _, address := range addresses {
		if host, _, err := net.SplitHostPort(address); err == nil {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Restore implements Home. The controller gets the name and, if it is free, the address of the lost container. If not, LXD
// tells the agents in its containers where the controller is. The containers of controllers that shared the lost store
// run none any more.
func (lxdCloud) Restore(ctx context.Context, dir string, r Restoration, progress *cli.Progress) (*Bootstrapped, error) {
	fail := func(err error) (*Bootstrapped, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("cannot restore the controller: %w", err)
	}
	was, err := readBackedUp(r)
	if err != nil {
		return fail(err)
	}
	config := *was.LXD
	if config.HostSocket != "" { // the controller's socket is passed into its container from there
		config.Endpoint, config.HostSocket = config.HostSocket, ""
	}
	if r.CloudConfig != "" {
		if config, err = readCloudConfig(r.CloudConfig); err != nil {
			return fail(err)
		}
	}
	record := lxdRecord{r.Controller, config}
	cloud, err := record.cloud()
	if err != nil {
		return fail(err)
	}
	if err := record.write(dir); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	params := lxd.ControllerParams{Series: was.Series, Constraints: r.Constraints, Backup: r.Backup, Addresses: hosts(was.Addresses)}
	params.Input = func(addresses []string) ([]byte, error) {
		inside := cloud.Inside()
		text, err := json.Marshal(restoreParams{User: r.User, MongoURL: r.MongoURL, Hosts: addresses, LXD: &inside})
		return append(text, '\n'), err
	}
	out, err := startLXDController(ctx, cloud, r.Name, params, progress)
	if err != nil {
		return nil, err
	}
	made, err := readMade(out)
	if err != nil {
		return fail(err)
	}
	if err := record.writeStore(dir, r.MongoURL); err != nil {
		return fail(err)
	}
	if err := cloud.EndOthers(ctx, was.Model); err != nil {
		return fail(err)
	}
	made.Moved = !slices.ContainsFunc(made.Addresses, func(a string) bool { return slices.Contains(was.Addresses, a) })
	if made.Moved {
		progress.Say("Telling the agents the new address of controller %q", r.Name)
		if err := cloud.Tell(ctx, made.Addresses); err != nil {
			return fail(err)
		}
	}
	if err := cloud.Restored(ctx); err != nil {
		return fail(err)
	}
	return made, nil
}
