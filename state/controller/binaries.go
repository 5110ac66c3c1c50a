package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// Controllers that share a store have the archives of their binaries in it, so that each can get those that were uploaded
// to another one, also when that is lost. An archive is a file whose name is its SHA-256.

// binaryFiles is the prefix of the collections that hold the archives.
const binaryFiles = "binaries"

// keepUnwanted is for how long an archive stays that nothing refers to: its upgrade may be about to begin.
const keepUnwanted = time.Hour

// binariesMeta is recorded with an archive.
type binariesMeta struct {
	Version string `bson:"version"`
	Commit  string `bson:"commit"`
}

func (c *Controller) binaryFiles(f func(*mgo.GridFS) error) error {
	session := c.store.Session()
	defer session.Close()
	return c.store.Told(f(session.DB(controllerDB).GridFS(binaryFiles)))
}

// KeepBinaries stores an archive of binaries, which must have the hash and the version of p, unless it is there already.
func (c *Controller) KeepBinaries(ctx context.Context, p entity.Binaries, archive io.Reader) error {
	return c.binaryFiles(func(fs *mgo.GridFS) error {
		// Two processes may both write the file, which is harmless.
		if n, err := fs.Find(bson.D{{"filename", p.SHA256}}).Count(); err != nil || n > 0 {
			return err
		}
		dst, err := fs.Create(p.SHA256)
		if err != nil {
			return err
		}
		dst.SetMeta(binariesMeta{p.Version, p.Commit})
		if _, err := copyUntil(ctx, dst, archive); err != nil {
			dst.Abort()
			dst.Close()
			return err
		}
		return dst.Close()
	})
}

// OpenBinaries opens an archive of binaries, and returns what it has. The error is NotFound if it is not stored.
func (c *Controller) OpenBinaries(sha256 string) (p entity.Binaries, archive io.ReadCloser, err error) {
	session := c.store.Session()
	f, err := session.DB(controllerDB).GridFS(binaryFiles).Open(sha256)
	var meta binariesMeta
	if err == nil {
		err = f.GetMeta(&meta)
	}
	if err != nil {
		session.Close()
		if mongo.IsNotFound(err) {
			err = entity.Errorf(entity.NotFound, "the archive of agent binaries %.12s is not stored", sha256)
		}
		return p, nil, c.store.Told(err)
	}
	return entity.Binaries{Version: meta.Version, SHA256: sha256, Commit: meta.Commit}, &blob{f, session}, nil
}

// SweepBinaries removes the archives whose hashes are not wanted, except those stored in the last hour.
func (c *Controller) SweepBinaries(wanted ...string) error {
	return c.sweepBinaries(keepUnwanted, wanted...)
}

func (c *Controller) sweepBinaries(keep time.Duration, wanted ...string) error {
	err := c.binaryFiles(func(fs *mgo.GridFS) error {
		var files []struct {
			ID       bson.ObjectId `bson:"_id"`
			Name     string        `bson:"filename"`
			Uploaded time.Time     `bson:"uploadDate"`
		}
		if err := cursor.Find(fs.Files, nil).Select(bson.D{{"filename", 1}, {"uploadDate", 1}}).All(&files); err != nil {
			return err
		}
		var errs []error
		ids := []bson.ObjectId{}
		for _, f := range files {
			ids = append(ids, f.ID)
			if !slices.Contains(wanted, f.Name) && c.now().Sub(f.Uploaded) >= keep {
				errs = append(errs, deleteFiles(fs, f.Name))
			}
		}
		// A process that is killed while it writes an archive leaves contents without a file.
		before := bson.NewObjectIdWithTime(c.now().Add(-keep))
		_, err := fs.Chunks.RemoveAll(bson.D{{"files_id", bson.D{{"$nin", ids}, {"$lt", before}}}})
		return errors.Join(append(errs, err)...)
	})
	if err != nil {
		return fmt.Errorf("cannot remove old archives of agent binaries: %w", err)
	}
	return nil
}
