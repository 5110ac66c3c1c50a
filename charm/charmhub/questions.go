package charmhub

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"juju/charm"
	"juju/state/entity"
)

// infoFields are what Info asks for, as Juju does.
var infoFields = fields("result", "categories.featured", "categories.name", "description", "license", "publisher.display-name", "store-url",
	"summary") + "," + releaseFields("default-release", "config-yaml", "metadata-yaml", "bundle-yaml", "bases.architecture", "bases.name",
	"bases.channel", "revision", "version", "download.size") + "," + releaseFields("channel-map", "created-at", "bases.architecture",
	"bases.name", "bases.channel", "revision", "version", "download.size")

func fields(of string, names ...string) string {
	for i, name := range names {
		names[i] = of + "." + name
	}
	return strings.Join(names, ",")
}

func releaseFields(of string, revision ...string) string {
	return fields(of+".channel", "name", "base.architecture", "base.name", "base.channel", "released-at", "risk", "track") + "," +
		fields(of+".revision", revision...)
}

// Info returns what the store has of a charm, in all channels or in one. If there is no such charm it returns NotFound.
func (c *Client) Info(ctx context.Context, name, channel string) (*Info, error) {
	if !charm.IsValidName(name) {
		return nil, entity.Errorf(entity.Invalid, "%q is not a charm's name", name)
	}
	query := url.Values{"fields": {infoFields}}
	if channel != "" {
		query.Set("channel", channel)
	}
	info := &Info{}
	if err := c.ask(ctx, http.MethodGet, InfoPath+name, query, nil, info); err != nil {
		return nil, err
	}
	return info, info.check()
}

// check refuses what can't be a charm's.
func (i *Info) check() error {
	if !charm.IsValidName(i.Name) {
		return entity.Errorf(entity.Invalid, "the charm store names a charm %q", plain(i.Name))
	}
	return nil
}

// A Query asks for charms. An empty one asks for those that the store puts first.
type Query struct {
	Text, Category, Channel, Type, Publisher, Platforms, Requires, Provides string
}

// Find returns the charms that a query finds.
func (c *Client) Find(ctx context.Context, q Query) ([]Info, error) {
	if q.Text == "" && q.Category == "" {
		q.Category = "featured"
	}
	query := url.Values{"fields": {fields("result", "categories.featured", "categories.name", "publisher.display-name", "store-url",
		"summary", "title") + "," + releaseFields("default-release", "bases", "revision", "version", "download.size")}}
	for key, value := range map[string]string{"q": q.Text, "category": q.Category, "channel": q.Channel, "type": q.Type,
		"publisher": q.Publisher, "platforms": q.Platforms, "relation-requires": q.Requires, "relation-provides": q.Provides} {
		if value != "" {
			query.Set(key, value)
		}
	}
	var found Found
	if err := c.ask(ctx, http.MethodGet, FindPath, query, nil, &found); err != nil {
		return nil, err
	}
	for _, one := range found.Results {
		if err := one.check(); err != nil {
			return nil, err
		}
	}
	return found.Results, nil
}

// Resources returns the revisions of a charm's resource, the newest first.
func (c *Client) Resources(ctx context.Context, name, resource string) ([]Resource, error) {
	if !charm.IsValidName(name) {
		return nil, entity.Errorf(entity.Invalid, "%q is not a charm's name", name)
	}
	var reply Resources
	err := c.ask(ctx, http.MethodGet, ResourcesPath+name+"/"+url.PathEscape(resource)+"/revisions", nil, nil, &reply)
	return reply.Revisions, err
}
