// Package charms keeps the charms of a model.
package charms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/resources"
	"juju/state/mongo"
)

var logger = loggo.GetLogger("juju.state")

// files are the files of a charm that are stored in its document.
var files = []string{"metadata.yaml", "config.yaml", "actions.yaml", "manifest.yaml", "lxd-profile.yaml"}

// Charms are the charms of a model.
type Charms struct {
	db, watched *modeltxn.DB
	archives    Archives
}

// Archives stores the archives of charms, one copy of each.
type Archives interface {
	resources.Files

	// Release drops the model's reference to an archive, unless it is used or stored again meanwhile.
	Release(ctx context.Context, sum string, used func() (bool, error)) error
}

// Of returns the charms of a model, which is watched as its watches have reported it.
func Of(db, watched *modeltxn.DB, archives Archives) Charms { return Charms{db, watched, archives} }

// Add stores the charm archive at path under a new URL, local:series/name-revision. The revision is the archive's if
// that is free, else the next free one. Errors in the archive itself are entity.Invalid, and do not mention path.
func (c Charms) Add(ctx context.Context, path, series string) (url string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot add charm: %w", err)
	}
	defer file.Close()
	return c.add(ctx, file, func(ctx context.Context, archive *charm.Archive, doc *modeldb.Charm) error {
		model, err := c.db.AliveModel(ctx)
		if err != nil {
			return err
		}
		doc.Base = charm.URL{Schema: "local", Series: cmp.Or(series, model.SeriesFor(archive.Meta.Series)), Name: archive.Meta.Name,
			Revision: -1}.String()
		var same []modeldb.Charm
		if err := c.db.All(ctx, modeldb.CharmsC, bson.D{{"base", doc.Base}}, &same); err != nil {
			return err
		}
		doc.Revision = archive.Revision
		for _, d := range same {
			doc.Revision = max(doc.Revision, d.Revision+1)
		}
		return nil
	})
}

// AddStored stores a file, the archive of a charm from a store, whose URL has the revision there. It does nothing if the model has that
// charm already. The errors are as those of Add; a charm of another name, or another archive for the same revision, is
// entity.Invalid.
func (c Charms) AddStored(ctx context.Context, file *os.File, url charm.URL) error {
	_, err := c.add(ctx, file, func(ctx context.Context, archive *charm.Archive, doc *modeldb.Charm) error {
		if archive.Meta.Name != url.Name {
			return entity.Errorf(entity.Invalid, "the charm store has it as %q", url.Name)
		}
		doc.Revision = url.Revision
		base := url
		base.Revision = -1
		doc.Base = base.String()
		sum, err := c.Sum(ctx, url.String())
		switch {
		case entity.IsNotFound(err):
			return nil
		case err == nil && sum == doc.SHA256:
			return mongo.ErrNothing
		case err == nil:
			return entity.Errorf(entity.Invalid, "the charm store has another archive for revision %d than it had before", url.Revision)
		}
		return err
	})
	return err
}

// add stores an archive under the URL that identify gives the charm, in the transaction that adds it.
func (c Charms) add(ctx context.Context, file *os.File,
	identify func(context.Context, *charm.Archive, *modeldb.Charm) error) (url string, err error) {
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot add charm: %w", err)
	}
	archive, err := charm.ReadArchiveFrom(ctx, file, info.Size())
	if errors.Is(err, charm.ErrInvalid) {
		return "", entity.Errorf(entity.Invalid, "%w", err)
	} else if err != nil {
		return "", fmt.Errorf("cannot add charm: %w", err)
	}
	if _, err := c.db.AliveModel(ctx); err != nil {
		return "", fmt.Errorf("cannot add charm %s: %w", archive.Meta.Name, err)
	}
	doc := modeldb.Charm{Warnings: archive.Warnings(), Version: archive.Version}
	if doc.Files, err = readFiles(archive); err != nil {
		return "", err
	}
	// Until the charm is added, nothing refers to the archive.
	defer c.archives.Adding()()
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		doc.SHA256, doc.Size, err = c.archives.Keep(ctx, file)
	}
	if err != nil {
		return "", fmt.Errorf("cannot store charm %s: %w", archive.Meta.Name, err)
	}
	err = c.db.Change(ctx, func(o *modeltxn.Ops) error {
		if _, err := c.db.AliveModel(ctx); err != nil {
			return err
		}
		if err := identify(ctx, archive, &doc); err != nil {
			return err
		}
		doc.URL = fmt.Sprintf("%s-%d", doc.Base, doc.Revision)
		o.AssertModelAlive()
		o.Insert(modeldb.CharmsC, doc.URL, doc)
		return nil
	})
	if err != nil {
		if entity.KindOf(err) == entity.NotAlive {
			c.release(context.WithoutCancel(ctx), doc.SHA256)
		}
		return "", fmt.Errorf("cannot add charm %s: %w", archive.Meta.Name, err)
	}
	return doc.URL, nil
}

// release drops the archive of a charm that was not added, unless something uses it. The model must not be Alive: in an Alive one
// another upload may have stored the same archive, and add its charm only now. What is left otherwise, juju check finds.
func (c Charms) release(ctx context.Context, sum string) {
	err := c.archives.Release(ctx, sum, func() (bool, error) { return resources.Uses(ctx, c.db, sum) })
	if err != nil {
		logger.Warningf("cannot drop the archive of a charm that was not added: %v", err)
	}
}

// Warnings returns what the charm declares but this controller ignores, one line each, as found when the charm was
// added.
func (c Charms) Warnings(ctx context.Context, url string) ([]string, error) {
	var doc modeldb.Charm
	err := c.db.Get(ctx, modeldb.CharmsC, url, &doc, fmt.Sprintf("charm %q", url))
	return doc.Warnings, err
}

func readFiles(archive *charm.Archive) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range files {
		data, err := archive.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, entity.Errorf(entity.Invalid, "cannot read %s of the charm: %w", name, err)
		}
		all[modeldb.EscapeKey(name)] = string(data)
	}
	return all, nil
}

// Get returns the parsed files of a charm; the error is entity.NotFound if the model does not have it.
func (c Charms) Get(ctx context.Context, url string) (*charm.Charm, error) {
	return c.db.Charm(ctx, url)
}

// Sum returns the SHA-256 of a charm's archive, in hex; the error is entity.NotFound if the model does not have the charm.
func (c Charms) Sum(ctx context.Context, url string) (string, error) {
	var doc modeldb.Charm
	err := c.db.Get(ctx, modeldb.CharmsC, url, &doc, fmt.Sprintf("charm %q", url))
	return doc.SHA256, err
}

// Archive opens the archive of a charm, and returns its SHA-256 in hex.
func (c Charms) Archive(ctx context.Context, url string) (io.ReadCloser, string, error) {
	var doc modeldb.Charm
	// A charm never changes. If it was just removed, so was its archive.
	if err := c.watched.Get(ctx, modeldb.CharmsC, url, &doc, fmt.Sprintf("charm %q", url)); err != nil {
		return nil, "", err
	}
	archive, err := c.archives.Open(ctx, doc.SHA256)
	if err != nil {
		return nil, "", fmt.Errorf("cannot open the archive of charm %q: %w", url, err)
	}
	return archive, doc.SHA256, nil
}
