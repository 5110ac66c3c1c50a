package charms

import (
	"context"
	"fmt"

	"juju/apiserver/client"
	"juju/charm"
	"juju/charm/charmhub"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// StoreAPI is what a command needs to have a model get charms from its store.
type StoreAPI interface {
	ResolveCharm(ctx context.Context, name string, want client.CharmOrigin) (url string, origin client.CharmOrigin, err error)
	AddCharm(ctx context.Context, url string, origin client.CharmOrigin) (client.CharmOrigin, error)
	CharmInfo(ctx context.Context, url string) (*client.CharmInfo, error)
}

// A Choice says which charm of a store a user wants.
type Choice struct {
	Name    string
	Channel string // "" for stable
	// Revision is the one wanted, -1 for the newest in the channel.
	Revision int
	Series   string // "" for any
}

// ParseChoice returns the choice of a charm of a store by its name, as users write it: NAME or ch:NAME.
func ParseChoice(name, channel string, revision int, series string) (c Choice, err error) {
	u, err := charm.ParseURL(name)
	switch {
	case err != nil:
		return c, cli.Usage(err)
	case u.Schema == "cs":
		return c, entity.WithHint(cli.Usagef("the store of cs: charms is no more: %q", name),
			"Its charms are in Charmhub: ch:%s", u.Name)
	case u.Schema != "ch":
		return c, cli.Usagef("%q is no charm of a store", name)
	case u.Revision >= 0:
		return c, cli.Usagef("cannot specify revision in a charm or bundle name. Please use --revision.")
	case u.Series != "":
		return c, cli.Usagef("%q names a series: use --base", name)
	}
	if channel != "" {
		if _, err := charmhub.ParseChannel(channel); err != nil {
			return c, cli.Usage(err)
		}
	}
	return Choice{u.Name, channel, revision, series}, nil
}

// origin returns the choice as the controller is asked for it.
func (c Choice) origin() (o client.CharmOrigin) {
	o.Source, o.Type = "charm-hub", "charm"
	if channel, err := charmhub.ParseChannel(c.Channel); err == nil {
		o.Track, o.Risk, o.Branch = channel.Track, channel.Risk, channel.Branch
	}
	if c.Revision >= 0 {
		o.Revision = &c.Revision
	}
	if c.Series != "" {
		base := entity.BaseOf(c.Series)
		o.Base = &base
	}
	return o
}

// FromStore has the model get a charm from its store.
func FromStore(ctx context.Context, s *cli.Session, api StoreAPI, want Choice) (*Source, error) {
	p := s.Progress("Getting charm %q", want.Name)
	defer p.Done()
	url, origin, err := api.ResolveCharm(ctx, "ch:"+want.Name, want.origin())
	if err != nil {
		return nil, fmt.Errorf("cannot get charm %q: %w", want.Name, err)
	}
	if origin, err = api.AddCharm(ctx, url, origin); err != nil {
		return nil, fmt.Errorf("cannot get charm %q: %w", want.Name, err)
	}
	info, err := api.CharmInfo(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Source{Path: want.Name, Charm: asCharm(info), URL: url, Origin: &origin}, nil
}

// InChannel says which charm of a store it is: `charm-hub charm "web", revision 3 in channel stable`.
func (s *Source) InChannel() string {
	return fmt.Sprintf("charm-hub charm %q, revision %d in channel %s", s.Charm.Meta.Name, *s.Origin.Revision, s.channel())
}

// channel returns the channel from which a charm of a store gets its next revisions.
func (s *Source) channel() string {
	return charmhub.Channel{Track: s.Origin.Track, Risk: s.Origin.Risk, Branch: s.Origin.Branch}.String()
}

// asCharm returns what a command needs of a charm that the controller has; the controller checks the rest.
func asCharm(info *client.CharmInfo) *charm.Charm {
	ch := &charm.Charm{Meta: &charm.Meta{Name: info.Meta.Name, Subordinate: info.Meta.Subordinate, Resources: map[string]charm.Resource{}},
		Config: &charm.Config{Options: map[string]charm.Option{}}, Actions: &charm.Actions{}, Revision: info.Revision}
	ch.Meta.Series = info.Meta.Series
	if info.Manifest != nil {
		ch.Meta.Bases = info.Manifest.Bases
	}
	for name, r := range info.Meta.Resources {
		ch.Meta.Resources[name] = charm.Resource{Name: r.Name, Type: r.Type, Filename: r.Path, Description: r.Description}
	}
	for name, o := range info.Config {
		ch.Config.Options[name] = charm.Option{Type: charm.OptionType(o.Type), Description: o.Description}
	}
	return ch
}
