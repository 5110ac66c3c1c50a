package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/charm"
	"juju/state/entity"
)

// A charmDoc holds the files of a charm that state reads. The archive is in the
// controller's database, once for all models that have it.
type charmDoc struct {
	URL      string            `bson:"_id"`
	Base     string            `bson:"base"` // the URL without its revision
	Revision int               `bson:"revision"`
	SHA256   string            `bson:"sha256"`
	Size     int64             `bson:"size"`
	Files    map[string]string `bson:"files"` // metadata.yaml and the like; keys escaped
}

// The files of a charm that its document holds.
var charmFiles = []string{"metadata.yaml", "config.yaml", "actions.yaml"}

// charmBlobs is the prefix of the collections that hold archives, by SHA-256.
const charmBlobs = "charms"

// AddCharm stores the charm archive in the file at path under a URL of its own:
// local:series/name-revision, where the revision is the archive's, or the next
// one that is free. Errors of the archive itself are Invalid.
func (st *State) AddCharm(ctx context.Context, file, series string) (url string, err error) {
	archive, err := charm.ReadArchive(file)
	if err != nil {
		return "", entity.Errorf(entity.Invalid, "%w", err)
	}
	if series == "" && len(archive.Meta.Series) > 0 {
		series = archive.Meta.Series[0]
	}
	if series == "" {
		model, err := st.model()
		if err != nil {
			return "", err
		}
		series = model.Series
	}
	doc := charmDoc{Base: charm.URL{Schema: "local", Series: series, Name: archive.Meta.Name, Revision: -1}.String()}
	if doc.Files, err = readCharmFiles(archive); err != nil {
		return "", err
	}
	if doc.SHA256, doc.Size, err = st.controller.storeBlob(file); err != nil {
		return "", fmt.Errorf("cannot store charm %s: %w", archive.Meta.Name, err)
	}
	err = st.run(ctx, func(int) ([]txn.Op, error) {
		if _, err := st.aliveModel(); err != nil {
			return nil, err
		}
		var same []charmDoc
		if err := st.db.All(charmsC, bson.D{{"base", doc.Base}}, &same); err != nil {
			return nil, err
		}
		doc.Revision = archive.Revision
		for _, d := range same {
			doc.Revision = max(doc.Revision, d.Revision+1)
		}
		doc.URL = fmt.Sprintf("%s-%d", doc.Base, doc.Revision)
		o := newOps()
		o.assertModelAlive()
		o.insert(charmsC, doc.URL, doc)
		return o.build()
	})
	if err != nil {
		return "", fmt.Errorf("cannot add charm %s: %w", archive.Meta.Name, err)
	}
	return doc.URL, nil
}

func readCharmFiles(archive *charm.Archive) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range charmFiles {
		data, err := archive.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, entity.Errorf(entity.Invalid, "cannot read %s of the charm: %w", name, err)
		}
		files[escapeKey.Replace(name)] = string(data)
	}
	return files, nil
}

// Charm returns what the files of a charm say; entity.NotFound when the model has
// no such charm. A charm never changes, so each is parsed once.
func (st *State) Charm(ctx context.Context, url string) (*charm.Charm, error) {
	if known, ok := st.charms.Load(url); ok {
		return known.(*charm.Charm), nil
	}
	var doc charmDoc
	if err := st.db.Get(charmsC, url, &doc, fmt.Sprintf("charm %q", url)); err != nil {
		return nil, err
	}
	files := unescapeKeys(doc.Files)
	ch := &charm.Charm{Revision: doc.Revision, Config: &charm.Config{Options: map[string]charm.Option{}},
		Actions: &charm.Actions{Specs: map[string]charm.ActionSpec{}}}
	var err error
	if ch.Meta, err = charm.ParseMeta([]byte(files["metadata.yaml"])); err != nil {
		return nil, fmt.Errorf("cannot read charm %q: %w", url, err)
	}
	if text, ok := files["config.yaml"]; ok {
		if ch.Config, err = charm.ParseConfig([]byte(text)); err != nil {
			return nil, fmt.Errorf("cannot read charm %q: %w", url, err)
		}
	}
	if text, ok := files["actions.yaml"]; ok {
		if ch.Actions, err = charm.ParseActions(ch.Meta.Name, []byte(text)); err != nil {
			return nil, fmt.Errorf("cannot read charm %q: %w", url, err)
		}
	}
	st.charms.Store(url, ch)
	return ch, nil
}

// CharmArchive opens the archive of a charm and tells its SHA-256 in hex.
func (st *State) CharmArchive(ctx context.Context, url string) (io.ReadCloser, string, error) {
	var doc charmDoc
	if err := st.db.Get(charmsC, url, &doc, fmt.Sprintf("charm %q", url)); err != nil {
		return nil, "", err
	}
	session := st.controller.store.Session()
	f, err := session.DB(controllerDB).GridFS(charmBlobs).Open(doc.SHA256)
	if err != nil {
		session.Close()
		return nil, "", fmt.Errorf("cannot open the archive of charm %q: %w", url, err)
	}
	return &blob{f, session}, doc.SHA256, nil
}

// A blob is a file in the store with the connection that it is read through.
type blob struct {
	*mgo.GridFile
	session *mgo.Session
}

func (b *blob) Close() error {
	defer b.session.Close()
	return b.GridFile.Close()
}

// storeBlob keeps a file under its SHA-256, once.
func (c *Controller) storeBlob(file string) (sum string, size int64, err error) {
	src, err := os.Open(file)
	if err != nil {
		return "", 0, err
	}
	defer src.Close()
	hash := sha256.New()
	if size, err = io.Copy(hash, src); err != nil {
		return "", 0, err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	session := c.store.Session()
	defer session.Close()
	fs := session.DB(controllerDB).GridFS(charmBlobs)
	if n, err := fs.Find(bson.D{{"filename", sum}}).Count(); err != nil || n > 0 {
		return sum, size, err
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	dst, err := fs.Create(sum)
	if err != nil {
		return "", 0, err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Abort()
		dst.Close()
		return "", 0, err
	}
	return sum, size, dst.Close()
}
