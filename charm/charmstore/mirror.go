package charmstore

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"juju/charm/charmhub"
	"juju/state/entity"
)

// A Wish is a charm that is mirrored: with its releases in the channels, or in all.
type Wish struct {
	Name     string
	Channels []charmhub.Channel
}

// Mirror copies a charm from another store, with the revisions that are released there, under the same numbers, and with their
// resources. What the directory has already is not fetched again. done is told of each file.
func (d *Directory) Mirror(ctx context.Context, from *charmhub.Client, wish Wish, done func(what string)) error {
	info, err := from.Info(ctx, wish.Name, "")
	if err != nil {
		return fmt.Errorf("cannot mirror charm %s: %w", wish.Name, err)
	}
	if info.Type != "charm" {
		return entity.Errorf(entity.NotSupported, "cannot mirror %s: it is a %s", wish.Name, info.Type)
	}
	byChannel := map[charmhub.Channel][]charmhub.Release{}
	for _, one := range info.ChannelMap {
		c, err := charmhub.ParseChannel(one.Channel.Name)
		if err != nil {
			return err
		}
		c = c.In(charmhub.LatestTrack)
		byChannel[c] = append(byChannel[c], one)
	}
	wanted := wish.Channels
	if len(wanted) == 0 {
		wanted = slices.Collect(maps.Keys(byChannel))
	}
	for _, c := range wanted {
		c = c.In(charmhub.LatestTrack)
		if len(byChannel[c]) == 0 {
			return entity.Errorf(entity.NotFound, "cannot mirror charm %s: nothing is released in channel %s", wish.Name, c)
		}
		for _, one := range byChannel[c] {
			if err := d.mirror(ctx, from, info, c, one, done); err != nil {
				return fmt.Errorf("cannot mirror charm %s, channel %s: %w", wish.Name, c, err)
			}
		}
	}
	return nil
}

// mirror copies a release.
func (d *Directory) mirror(ctx context.Context, from *charmhub.Client, info *charmhub.Info, c charmhub.Channel, one charmhub.Release,
	done func(string)) error {
	answer, err := from.Choose(ctx, charmhub.Download, charmhub.Choice{Name: info.Name, Channel: c, Revision: -1, Base: one.Channel.Base})
	if err != nil {
		return err
	}
	ch := answer.Entity
	if err := os.MkdirAll(filepath.Join(d.folder(ch.Name), resourcesDir), 0o755); err != nil {
		return err
	}
	dr, rev, err := d.fetchCharm(ctx, from, ch, done)
	if err != nil {
		return err
	}
	if dr != nil {
		defer dr.drop()
	}
	parts := map[string]*draft{}
	for _, res := range ch.Resources {
		part, err := d.fetchResource(ctx, from, ch.Name, res, done)
		if err != nil {
			return err
		}
		if part != nil {
			defer part.drop()
			parts[res.Name] = part
		}
	}
	return d.change(ctx, func() error {
		if dr != nil {
			if err := dr.place(d.charmPath(ch.Name, ch.Revision)); err != nil {
				return err
			}
		}
		e, err := d.read(ctx, ch.Name)
		if err != nil {
			return err
		}
		if e.revision(ch.Revision) == nil || rev != nil && e.revision(ch.Revision).SHA384 != rev.SHA384 {
			return entity.Errorf(entity.AlreadyExists, "there is another revision %d of charm %s", ch.Revision, ch.Name)
		}
		e.ID, e.Publisher, e.DefaultTrack = ch.ID, info.Result.Publisher["display-name"], info.DefaultRelease.Channel.Track
		with := map[string]int{}
		for _, res := range ch.Resources {
			if part := parts[res.Name]; part != nil {
				if err := part.place(d.resourcePath(ch.Name, res.Name, res.Revision)); err != nil {
					return err
				}
				known, err := hashes(part.Name())
				if err != nil {
					return err
				}
				if e.Resources == nil {
					e.Resources = map[string][]resource{}
				}
				e.Resources[res.Name] = append(e.Resources[res.Name], resource{res.Revision, filepath.Base(res.Filename), known})
				slices.SortFunc(e.Resources[res.Name], func(a, b resource) int { return a.Revision - b.Revision })
			}
			if e.resource(res.Name, res.Revision) != nil {
				with[res.Name] = res.Revision
			}
		}
		e.add(release{Channel: c.String(), Revision: ch.Revision, Resources: with, ReleasedAt: released(one)})
		return d.save(ch.Name, e.record)
	})
}

func released(one charmhub.Release) time.Time {
	if t, err := time.Parse(time.RFC3339, one.Channel.ReleasedAt); err == nil {
		return t.UTC()
	}
	return time.Now().UTC()
}

// fetchCharm downloads a revision, unless it is there: nil then.
func (d *Directory) fetchCharm(ctx context.Context, from *charmhub.Client, ch *charmhub.Charm, done func(string)) (*draft, *revision, error) {
	if e, err := d.find(ctx, ch.Name); err == nil && e.revision(ch.Revision) != nil {
		return nil, nil, nil
	}
	dr, err := d.fetch(ctx, from, ch.Download, maxCharm)
	if err != nil {
		return nil, nil, err
	}
	name, rev, err := examine(ctx, dr.Name())
	if err == nil && name != ch.Name {
		err = entity.Errorf(entity.Invalid, "the file is the charm %s", entity.Named(name))
	}
	if err != nil {
		dr.drop()
		return nil, nil, err
	}
	done(fmt.Sprintf("charm %s, revision %d", ch.Name, ch.Revision))
	return dr, &rev, nil
}

// fetchResource downloads a revision of a resource, unless it is there or is an image of a container: nil then.
func (d *Directory) fetchResource(ctx context.Context, from *charmhub.Client, name string, res charmhub.Resource, done func(string)) (*draft, error) {
	if e, err := d.find(ctx, name); res.Type != "file" || err == nil && e.resource(res.Name, res.Revision) != nil {
		return nil, nil
	}
	if !resourceName.MatchString(res.Name) || res.Revision < 0 {
		return nil, entity.Errorf(entity.Invalid, "the store names a resource %s", entity.Named(res.Name))
	}
	dr, err := d.fetch(ctx, from, res.Download, maxResource)
	if err == nil {
		done(fmt.Sprintf("resource %s of charm %s, revision %d", res.Name, name, res.Revision))
	}
	return dr, err
}

func (d *Directory) fetch(ctx context.Context, from *charmhub.Client, f charmhub.File, limit int64) (*draft, error) {
	dr, err := d.draft()
	if err != nil {
		return nil, err
	}
	if err = from.Fetch(ctx, f, dr, limit, nil); err == nil {
		err = dr.Sync()
	}
	if err != nil {
		dr.drop()
		return nil, err
	}
	return dr, nil
}
