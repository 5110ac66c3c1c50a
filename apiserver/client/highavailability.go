package client

import (
	"context"
	"net"
	"slices"
	"strconv"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// EnableHA adds controllers until there are n, and demotes those that are lost; 0 is the default. The connection must be
// to the controller itself.
func (c *Conn) EnableHA(ctx context.Context, n int,
	cons constraints.Value) (changes entity.ControllerChanges, err error) {
	var results params.ControllersChangeResults
	err = c.call(ctx, "HighAvailability", 2, "EnableHA",
		params.ControllersSpecs{Specs: []params.ControllersSpec{{NumControllers: n, Constraints: cons}}}, &results)
	if err == nil {
		err = isOne(len(results.Results))
	}
	if err != nil {
		return changes, err
	}
	result := results.Results[0]
	ids := func(tags []params.Tag) (ids []string) {
		for _, tag := range tags {
			ids = append(ids, tag.ID)
		}
		return ids
	}
	return entity.ControllerChanges{Added: ids(result.Result.Added), Maintained: ids(result.Result.Maintained),
		Demoted: ids(result.Result.Demoted)}, params.FromError(result.Error)
}

// ControllerNodes returns the controllers that share a store, none if there can be only one, and their last upgrade, nil
// if there was none. The connection must be to the controller itself.
func (c *Conn) ControllerNodes(ctx context.Context) ([]entity.ControllerNode, *entity.ControllerUpgrade, error) {
	var results params.ControllerDetailsResults
	err := c.call(ctx, "HighAvailability", 2, "ControllerDetails", nil, &results)
	if results.Alone {
		return nil, nil, err
	}
	return results.Results, results.Upgrade, err
}

// Addresses returns the addresses of the API, "host:port": those that the controller gave at the login, and the one that
// the connection uses, if it is in a network.
func (c *Conn) Addresses() (addresses []string) {
	for _, server := range c.hello.Servers {
		for _, hp := range server {
			addresses = append(addresses, net.JoinHostPort(hp.Value, strconv.Itoa(hp.Port)))
		}
	}
	if c.dialer.info.Dial == nil && !slices.Contains(addresses, c.dialer.address) {
		addresses = append(addresses, c.dialer.address)
	}
	return addresses
}
