package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"juju/agent/install"
	"juju/apiserver/client"
	"juju/state/entity"
	"juju/worker"
)

// followAddresses returns the worker that records where the controllers are, for the next connection.
func (a *Agent) followAddresses(conn *client.Conn) worker.Func {
	api := client.APIAddresserFacade{Caller: conn}
	return func(ctx context.Context) error {
		err := worker.Notify(ctx, api.WatchAPIHostPorts, func(ctx context.Context) error {
			addresses, err := api.APIAddresses(ctx)
			if err != nil {
				return err
			}
			return a.learn(addresses)
		})
		if errors.Is(err, entity.NotSupported) {
			return a.learn(conn.Addresses()) // of a controller that can't share its store, and so has no others
		}
		return err
	}
}

// learn records the addresses of the controllers, as the one that the agent is connected to tells them. What the agent was
// told while it was not connected is obsolete then.
func (a *Agent) learn(addresses []string) error {
	addresses = slices.Sorted(slices.Values(addresses))
	if !slices.Equal(addresses, a.addresses()) {
		config := a.config
		config.Addresses = addresses
		if err := config.write(a.dir); err != nil {
			return err
		}
		a.current.Store(&addresses)
	}
	if err := os.Remove(a.toldPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove obsolete addresses: %w", err)
	}
	return nil
}

// addresses returns the addresses of the controllers.
func (a *Agent) addresses() []string {
	if current := a.current.Load(); current != nil {
		return *current
	}
	return a.config.Addresses
}

func (a *Agent) toldPath() string { return filepath.Join(a.dir, install.Addresses) }

// reachable returns the addresses to connect to: the known ones, and those that whoever has moved the controller has told.
func (a *Agent) reachable() []string {
	known := a.addresses()
	text, err := os.ReadFile(a.toldPath())
	if err != nil {
		return known
	}
	all := slices.Clone(known)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		address := lines.Text()
		if _, _, err := net.SplitHostPort(address); err == nil && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all
}
