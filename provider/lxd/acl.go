package lxd

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/state/entity"
)

// Configuration keys of networks and ACLs that juju sets.
const (
	aclsKey     = "security.acls"
	defaultsKey = "user.juju-acl-defaults" // which of defaultActions juju has set on a network
	peersKey    = "user.juju-peers"
	fromKey     = "user.juju-from"
)

// aclNotes is what the rules of an ACL do not say by themselves.
type aclNotes struct {
	peers []string
	from  map[string][]entity.PortsFrom // by container
}

// config returns the ACL's configuration keys.
func (n aclNotes) config() map[string]string {
	config := map[string]string{peersKey: strings.Join(n.peers, ",")}
	if len(n.from) > 0 {
		text, _ := json.Marshal(n.from) // texts and numbers
		config[fromKey] = string(text)
	}
	return config
}

// notesOf returns the notes of an ACL. Those that juju did not write are skipped, so that the rules don't agree with them
// and are set again.
func notesOf(acl api.NetworkACL) aclNotes {
	n := aclNotes{peers: list(acl.Config[peersKey])}
	if json.Unmarshal([]byte(acl.Config[fromKey]), &n.from) != nil {
		n.from = nil
	}
	for name, from := range n.from {
		if slices.ContainsFunc(from, func(f entity.PortsFrom) bool {
			_, err := netip.ParsePrefix(f.CIDR)
			return err != nil
		}) {
			delete(n.from, name)
		}
	}
	return n
}

// defaultActions are the network configuration keys for the action on traffic that matches no ACL
// rule. If they are unset, LXD rejects it.
var defaultActions = []string{"security.acls.default.egress.action", "security.acls.default.ingress.action"}

// bridgeACLs is the API extension for ACLs on bridges.
const bridgeACLs = "network_bridge_acl"

func aclPath(name string) string { return "/1.0/network-acls/" + url.PathEscape(name) }

// checkACLs returns a NotSupported error if LXD is too old for ACLs on bridges.
func (c *Cloud) checkACLs(ctx context.Context) error {
	server, err := c.server(ctx)
	if err == nil && !slices.Contains(server.APIExtensions, bridgeACLs) {
		err = entity.Errorf(entity.NotSupported, "LXD %s does not support ACLs on bridges", server.Environment.ServerVersion)
	}
	return err
}

// putACL sets the rules of the model's ACL, whose lock the caller must hold. It creates the ACL if
// needed, and deletes it if there are no rules.
func (e *environ) putACL(ctx context.Context, rules []api.NetworkACLRule, notes aclNotes) error {
	c, name := e.cloud, e.aclName()
	if len(rules) == 0 {
		return c.deleteACL(ctx, name)
	}
	put := api.NetworkACLPut{
		Description: "juju firewall of model " + e.config.Model, Ingress: rules, Egress: []api.NetworkACLRule{},
		Config: notes.config(),
	}
	put.Config[controllerKey], put.Config[modelKey] = e.config.Controller, e.config.Model
	var acl api.NetworkACL
	etag, err := c.client.getTagged(ctx, aclPath(name), nil, &acl)
	switch {
	case isNotFound(err):
		_, err = c.client.do(ctx, http.MethodPost, "/1.0/network-acls", nil, api.NetworkACLsPost{
			NetworkACLPost: api.NetworkACLPost{Name: name}, NetworkACLPut: put})
	case err == nil && !c.owns(acl.Config, e.config.Model):
		err = entity.Errorf(entity.Invalid, "ACL %s in LXD does not belong to this model", name)
	case err == nil && (!slices.Equal(acl.Ingress, rules) || acl.Config[peersKey] != put.Config[peersKey] ||
		acl.Config[fromKey] != put.Config[fromKey]):
		_, err = c.client.doIf(ctx, http.MethodPut, aclPath(name), nil, etag, put)
	}
	return err
}

// dropRules removes the rules of deleted containers.
func (e *environ) dropRules(ctx context.Context, deleted []string) error {
	if e.cloud.checkACLs(ctx) != nil {
		return nil
	}
	unlock, err := e.cloud.busy.Lock(ctx, e.aclName())
	if err != nil {
		return err
	}
	defer unlock()
	var acl api.NetworkACL
	if err := e.cloud.client.get(ctx, aclPath(e.aclName()), nil, &acl); isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(acl.Ingress), func(r api.NetworkACLRule) bool {
		return slices.Contains(deleted, r.Description)
	})
	if len(left) == len(acl.Ingress) {
		return nil
	}
	notes := notesOf(acl)
	maps.DeleteFunc(notes.from, func(name string, _ []entity.PortsFrom) bool { return slices.Contains(deleted, name) })
	return e.putACL(ctx, left, notes)
}

// list splits a comma-separated list.
func list(text string) (all []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// attachACL attaches an ACL to a network. With the network's first ACL it sets the default actions to
// allow, so that other traffic is unaffected.
func (c *Cloud) attachACL(ctx context.Context, network, acl string) error {
	return c.changeNetwork(ctx, network, func(config map[string]string) bool {
		acls := list(config[aclsKey])
		if slices.Contains(acls, acl) {
			return false
		}
		if len(acls) == 0 {
			var set []string
			for _, key := range defaultActions {
				if config[key] == "" {
					config[key] = "allow"
					set = append(set, key)
				}
			}
			config[defaultsKey] = strings.Join(set, ",")
		}
		config[aclsKey] = strings.Join(append(acls, acl), ",")
		return true
	})
}

// detachACL undoes attachACL.
func (c *Cloud) detachACL(ctx context.Context, network, acl string) error {
	return c.changeNetwork(ctx, network, func(config map[string]string) bool {
		acls := list(config[aclsKey])
		at := slices.Index(acls, acl)
		if at < 0 {
			return false
		}
		acls = slices.Delete(acls, at, at+1)
		config[aclsKey] = strings.Join(acls, ",")
		if len(acls) == 0 {
			for _, key := range append(list(config[defaultsKey]), aclsKey, defaultsKey) {
				delete(config, key)
			}
		}
		return true
	})
}

// networkTries is the maximum number of attempts at a network change that conflicts with others'.
const networkTries = 10

// changeNetwork changes a network's configuration, unless edit returns false.
func (c *Cloud) changeNetwork(ctx context.Context, name string, edit func(map[string]string) bool) (err error) {
	path := "/1.0/networks/" + url.PathEscape(name)
	for range networkTries {
		var n api.Network
		etag, err2 := c.client.getTagged(ctx, path, nil, &n)
		if err2 != nil || !edit(n.Config) {
			return err2
		}
		_, err = c.client.doIf(ctx, http.MethodPut, path, nil, etag,
			api.NetworkPut{Config: n.Config, Description: n.Description})
		var r *apiError
		if !errors.As(err, &r) || r.status != http.StatusPreconditionFailed {
			break
		}
	}
	return err
}

// deleteACL detaches and deletes an ACL; nil if it does not exist.
func (c *Cloud) deleteACL(ctx context.Context, name string) error {
	if err := c.client.get(ctx, aclPath(name), nil, nil); isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	networks, err := c.networks(ctx)
	if err != nil {
		return err
	}
	for _, n := range networks {
		if slices.Contains(list(n.Config[aclsKey]), name) {
			if err := c.detachACL(ctx, n.Name, name); err != nil && !isNotFound(err) {
				return err
			}
		}
	}
	if _, err = c.client.do(ctx, http.MethodDelete, aclPath(name), nil, nil); isNotFound(err) {
		return nil
	}
	return err
}

// deleteACLs deletes the ACLs of a model, or of the whole controller if model is "".
func (c *Cloud) deleteACLs(ctx context.Context, model string) error {
	all, err := c.acls(ctx, model)
	for _, name := range all {
		if err == nil {
			err = c.deleteACL(ctx, name)
		}
	}
	return err
}

// acls returns the names of the ACLs of a model, or of the whole controller if model is "".
func (c *Cloud) acls(ctx context.Context, model string) (names []string, err error) {
	err = c.checkACLs(ctx)
	if errors.Is(err, entity.NotSupported) {
		return nil, nil
	}
	var all []api.NetworkACL
	if err == nil {
		err = c.client.get(ctx, "/1.0/network-acls", recursion(1), &all)
	}
	for _, acl := range all {
		if c.owns(acl.Config, model) {
			names = append(names, acl.Name)
		}
	}
	return names, err
}
