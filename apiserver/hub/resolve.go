package hub

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/charm"
	"juju/charm/charmhub"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A Resolved is a charm that a store has.
type Resolved struct {
	URL    charm.URL
	Origin params.CharmOrigin
	Bases  []entity.Base // that it runs on, on the architecture
	// Found is the channel where the store has found it: the one asked for may be closed.
	Found string
	offer *charmhub.Charm
}

// Resolve asks the store of a model for a charm: by the revision in its URL or its origin, or the newest in the origin's channel. The
// origin may name a base; else it is the model's default if the charm is released for that, or else one that it is released for.
func Resolve(ctx context.Context, st *state.State, reference string, o params.CharmOrigin) (*Resolved, error) {
	store, err := Store(ctx, st)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return resolve(ctx, st, store, reference, o)
}

func resolve(ctx context.Context, st *state.State, store *charmhub.Client, reference string, o params.CharmOrigin) (*Resolved, error) {
	want, err := choice(reference, o)
	if err != nil {
		return nil, err
	}
	config, err := st.Settings().Config(ctx)
	if err != nil {
		return nil, err
	}
	preferred := entity.BaseOf(config[modelconfig.DefaultSeries].Value)
	answer, err := choose(ctx, store, want, preferred)
	if err != nil {
		return nil, err
	}
	ch := answer.Entity
	r := &Resolved{URL: URL(ch, want.Base.Architecture), offer: ch, Found: answer.EffectiveChannel}
	anywhere := len(ch.Bases) == 0
	for _, b := range ch.Bases {
		is := b.Of()
		switch {
		case b.Architecture != want.Base.Architecture && b.Architecture != all:
		case b.Name == all:
			anywhere = true
		case !slices.Contains(r.Bases, is):
			r.Bases = append(r.Bases, is)
		}
	}
	base := preferred
	switch {
	case !want.Base.IsAny():
		base = want.Base.Of()
	case !anywhere && len(r.Bases) > 0 && !slices.ContainsFunc(r.Bases, func(b entity.Base) bool { return b.Short() == preferred.Short() }):
		base = r.Bases[0]
	}
	if want.Channel.Track == "" && r.Found != "" { // the charm's default track, which can be another tomorrow
		if found, err := charmhub.ParseChannel(r.Found); err == nil {
			want.Channel = want.Channel.In(cmp.Or(found.Track, charmhub.LatestTrack))
		}
	}
	revision := ch.Revision
	r.Origin = params.CharmOrigin{Source: params.FromStore, Type: cmp.Or(ch.Type, "charm"), ID: ch.ID, Revision: &revision,
		Track: want.Channel.Track, Risk: want.Channel.Risk, Branch: want.Channel.Branch, Architecture: want.Base.Architecture, Base: &base}
	return r, nil
}

// all is the name of a system, and the architecture, of a charm that runs on any.
const all = "all"

// choice returns what a client asks for.
func choice(reference string, o params.CharmOrigin) (want charmhub.Choice, err error) {
	u, err := charm.ParseURL(reference)
	if err != nil {
		return want, entity.Errorf(entity.Invalid, "%w", err)
	}
	if u.Schema != "ch" {
		return want, entity.WithHint(entity.Errorf(entity.NotSupported, "charm %q is not of a charm store", reference),
			"A local charm is added by uploading it.")
	}
	want = charmhub.Choice{Name: u.Name, Revision: u.Revision,
		Base: charmhub.Base{Architecture: cmp.Or(o.Architecture, u.Architecture, runtime.GOARCH)}}
	if o.Revision != nil && want.Revision < 0 {
		want.Revision = *o.Revision
	}
	if o.Base != nil && o.Base.Name != "" {
		release, _, _ := strings.Cut(o.Base.Channel, "/")
		want.Base.Name, want.Base.Channel = o.Base.Name, release
	}
	if text := ChannelOf(o); text != "" {
		want.Channel, err = charmhub.ParseChannel(text)
	} else {
		want.Channel.Risk = charmhub.Risks[0]
	}
	return want, err
}

// ChannelOf returns the channel of an origin, "" if it has none.
func ChannelOf(o params.CharmOrigin) string {
	var parts []string
	for _, part := range []string{o.Track, o.Risk, o.Branch} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// SetChannel gives an origin a channel, as users write it; "" for none.
func SetChannel(o *params.CharmOrigin, text string) error {
	if text == "" {
		return nil
	}
	channel, err := charmhub.ParseChannel(text)
	o.Track, o.Risk, o.Branch = channel.Track, channel.Risk, channel.Branch
	return err
}

// Origin returns what is recorded of where a charm comes from; nil if a user has uploaded it.
func Origin(o *params.CharmOrigin) (*entity.CharmOrigin, error) {
	if o == nil || o.Source != params.FromStore {
		return nil, nil
	}
	origin := &entity.CharmOrigin{ID: o.ID}
	text := ChannelOf(*o)
	if text == "" {
		return origin, nil
	}
	channel, err := charmhub.ParseChannel(text)
	origin.Channel = channel.String()
	return origin, err
}

// choose asks for a charm. If no base is asked for, it is first asked for on the preferred one.
func choose(ctx context.Context, store *charmhub.Client, want charmhub.Choice, preferred entity.Base) (*charmhub.Answer, error) {
	if want.Base.IsAny() && want.Revision < 0 {
		on := want
		on.Base.Name = preferred.Name
		on.Base.Channel, _, _ = strings.Cut(preferred.Channel, "/")
		answer, err := store.Choose(ctx, charmhub.Install, on)
		if err == nil || !errors.Is(err, entity.NotFound) {
			return answer, known(err)
		}
	}
	answer, err := store.Choose(ctx, charmhub.Install, want)
	return answer, known(err)
}

// Add has a model get a charm that Resolve has returned, and returns the origin with the hash of its archive. It does not ask the
// store for a charm that the model has.
func (h *Hub) Add(ctx context.Context, st *state.State, reference string, o params.CharmOrigin) (params.CharmOrigin, error) {
	u, err := Stored(reference)
	if err != nil {
		return o, err
	}
	if o.Hash, err = st.Charms().Sum(ctx, u); err == nil || !entity.IsNotFound(err) {
		return o, err
	}
	store, err := Store(ctx, st)
	if err != nil {
		return o, err
	}
	defer store.Close()
	r, err := resolve(ctx, st, store, u, o)
	if err != nil {
		return o, err
	}
	if r.URL.String() != u {
		return o, entity.Errorf(entity.Invalid, "the charm store has %s, and not %s", r.URL, u)
	}
	if err := h.fetch(ctx, st, store, r.offer, r.URL); err != nil {
		return o, err
	}
	o.ID, o.Type = r.Origin.ID, r.Origin.Type
	o.Hash, err = st.Charms().Sum(ctx, u)
	return o, err
}

// Stored returns the URL under which a model has a charm: that of one from a store names its architecture, and no series. The
// revision must be known.
func Stored(reference string) (string, error) {
	u, err := charm.ParseURL(reference)
	switch {
	case err != nil:
		return "", entity.Errorf(entity.Invalid, "%w", err)
	case u.Schema == "cs":
		return "", entity.WithHint(entity.Errorf(entity.NotSupported, "cannot add charm %q: the store of cs: charms is no more", reference),
			"Its charms are in Charmhub, as ch:NAME. Or deploy a charm from its directory or archive: juju deploy ./DIRECTORY")
	case u.Schema == "ch" && u.Revision < 0:
		return "", entity.Errorf(entity.Invalid, "charm %q has no revision", reference)
	case u.Schema == "ch":
		u.Architecture, u.Series = cmp.Or(u.Architecture, runtime.GOARCH), ""
	}
	return u.String(), nil
}
