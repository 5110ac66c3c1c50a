package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// A blobDoc records which models refer to an archive, which is stored once for all of them. File is never
// reused: an archive that loses its last reference and is added again before its file is deleted gets a new
// file.
type blobDoc struct {
	SHA256 string   `bson:"_id"`
	File   string   `bson:"file"`
	Models []string `bson:"models"`
	Kept   int64    `bson:"kept,omitempty"` // incremented each time a model keeps the archive again
}

// unkept asserts that no model has called Keep for the archive since the document was read.
func (d blobDoc) unkept() bson.D {
	return append(bson.D{{"models", d.Models}}, mongo.Unadvanced("kept", d.Kept)...)
}

// charmBlobs is the prefix of the collections that hold the files.
const charmBlobs = "charms"

// archives are the archives of one model: see state.Archives.
type archives struct {
	*Controller
	model string
}

func (a archives) Adding() (done func()) {
	a.adding.RLock()
	return a.adding.RUnlock
}

func (a archives) Keep(ctx context.Context, archive io.ReadSeeker) (sum string, size int64, err error) {
	return a.keepBlob(ctx, a.model, archive)
}

func (a archives) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	return a.openBlob(ctx, sum)
}

func (a archives) Find(ctx context.Context, sum string) (there, referred bool, err error) {
	b, err := a.blob(ctx, sum)
	if entity.IsNotFound(err) {
		return false, false, nil
	} else if err != nil {
		return false, false, err
	}
	err = a.files(func(fs *mgo.GridFS) error {
		n, err := fs.Find(bson.D{{"filename", b.File}}).Count()
		there = n > 0
		return err
	})
	return there, slices.Contains(b.Models, a.model), err
}

func (a archives) Refer(ctx context.Context, sum string) error {
	b, err := a.blob(ctx, sum)
	if err == nil {
		_, err = a.referToBlob(ctx, a.model, sum, b.File)
	}
	return err
}

func (a archives) Release(ctx context.Context, sum string, used func() (bool, error)) error {
	if err := a.releaseBlob(ctx, a.model, sum, used); err != nil {
		return err
	}
	return a.deleteOldFiles(ctx)
}

// files calls f with the files in the store.
func (c *Controller) files(f func(*mgo.GridFS) error) error {
	session := c.store.Session()
	defer session.Close()
	return c.store.Told(f(session.DB(controllerDB).GridFS(charmBlobs)))
}

// keepBlob stores an archive for a model. It adds the reference before the file, so that
// the file is not deleted while it is written.
func (c *Controller) keepBlob(ctx context.Context, model string,
	src io.ReadSeeker) (sum string, size int64, err error) {
	hash := sha256.New()
	if size, err = copyUntil(ctx, hash, src); err != nil {
		return "", 0, err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	file, err := c.referToBlob(ctx, model, sum, mongo.NewID())
	if err != nil {
		return "", 0, err
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	return sum, size, c.files(func(fs *mgo.GridFS) error {
		// Two processes may both write the file, which is harmless.
		if n, err := fs.Find(bson.D{{"filename", file}}).Count(); err != nil || n > 0 {
			return err
		}
		dst, err := fs.Create(file)
		if err != nil {
			return err
		}
		if _, err := copyUntil(ctx, dst, src); err != nil {
			dst.Abort()
			dst.Close()
			return err
		}
		return dst.Close()
	})
}

// copyUntil copies an archive until ctx is done.
func copyUntil(ctx context.Context, dst io.Writer, src io.Reader) (n int64, err error) {
	for err == nil {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		var some int64
		some, err = io.CopyN(dst, src, 1<<20)
		n += some
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// referToBlob adds a reference from a model, which must be ready, to an archive. It returns the name of the archive's
// file, which is newFile if this is the first reference.
func (c *Controller) referToBlob(ctx context.Context, model, sum, newFile string) (file string, err error) {
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		if row, err := c.ModelRow(ctx, model); err != nil {
			return err
		} else if row.Step != stepReady {
			return notReady(model)
		}
		o.Assert(modelsC, model, bson.D{{"step", stepReady}})
		doc, err := c.blob(ctx, sum)
		switch {
		case entity.IsNotFound(err):
			file = newFile
			o.Insert(blobsC, sum, blobDoc{SHA256: sum, File: file, Models: []string{model}})
		case err != nil:
			return err
		default:
			file = doc.File
			o.Update(blobsC, sum, bson.D{{"file", file}},
				bson.D{{"$addToSet", bson.D{{"models", model}}}, {"$inc", bson.D{{"kept", 1}}}})
		}
		return nil
	})
	return file, err
}

func (c *Controller) blob(ctx context.Context, sum string) (doc blobDoc, err error) {
	err = c.db.Get(ctx, blobsC, sum, &doc, "archive "+sum)
	return doc, err
}

// openBlob opens an archive.
func (c *Controller) openBlob(ctx context.Context, sum string) (io.ReadCloser, error) {
	doc, err := c.blob(ctx, sum)
	if err != nil {
		return nil, err
	}
	session := c.store.Session()
	f, err := session.DB(controllerDB).GridFS(charmBlobs).Open(doc.File)
	if err != nil {
		session.Close()
		if mongo.IsNotFound(err) {
			// The upload has not finished.
			err = entity.Errorf(entity.NotFound, "archive %s not found", sum)
		}
		return nil, c.store.Told(err)
	}
	return &blob{f, session}, nil
}

// A blob is an open file in the store, with the connection used to read it.
type blob struct {
	*mgo.GridFile
	session *mgo.Session
}

func (b *blob) Close() error {
	defer b.session.Close()
	return b.GridFile.Close()
}

// releaseBlobs removes a model's references to archives, and deletes the files to which no model refers any longer.
func (c *Controller) releaseBlobs(ctx context.Context, model string) error {
	var docs []blobDoc
	if err := c.db.All(ctx, blobsC, bson.D{{"models", model}}, &docs); err != nil {
		return err
	}
	for _, doc := range docs {
		if err := c.releaseBlob(ctx, model, doc.SHA256, nil); err != nil {
			return err
		}
	}
	return c.deleteOldFiles(ctx)
}

// deleteOldFiles deletes the files that are marked for deletion, including those left behind by an interrupted process.
func (c *Controller) deleteOldFiles(ctx context.Context) error {
	var old []struct {
		File string `bson:"_id"`
	}
	if err := c.db.All(ctx, oldFilesC, nil, &old); err != nil {
		return err
	}
	for _, f := range old {
		err := c.files(func(fs *mgo.GridFS) error { return deleteFiles(fs, f.File) })
		if err == nil {
			err = c.db.Change(ctx, func(o *mongo.Ops) error { o.Remove(oldFilesC, f.File, nil); return nil })
		}
		if err != nil {
			return fmt.Errorf("cannot delete file %s: %w", f.File, err)
		}
	}
	return nil
}

// deleteFiles deletes all files with a name: two processes may both have written one. It deletes their
// contents first, because after an interruption the contents could not be found without the files.
func deleteFiles(fs *mgo.GridFS, name string) error {
	var files []struct {
		ID any `bson:"_id"`
	}
	if err := cursor.Find(fs.Files, bson.D{{"filename", name}}).Select(bson.D{{"_id", 1}}).All(&files); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fs.Chunks.RemoveAll(bson.D{{"files_id", f.ID}}); err != nil {
			return err
		}
		if _, err := fs.Files.RemoveAll(bson.D{{"_id", f.ID}}); err != nil { // unless another controller did
			return err
		}
	}
	return nil
}

// releaseBlob removes a model's reference to an archive, and marks the archive's file for deletion if it was the last
// reference. It keeps the reference if used, which may be nil, returns true. used is called after the archive was read:
// if a model keeps the archive after that, the transaction is aborted and retried.
func (c *Controller) releaseBlob(ctx context.Context, model, sum string, used func() (bool, error)) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		doc, err := c.blob(ctx, sum)
		if entity.IsNotFound(err) || err == nil && !slices.Contains(doc.Models, model) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		if used != nil {
			if is, err := used(); err != nil || is {
				return cmp.Or[error](err, mongo.ErrNothing)
			}
		}
		if len(doc.Models) > 1 {
			// Assert that another model refers to it: the last reference marks the file for deletion.
			o.Update(blobsC, sum, doc.unkept(), bson.D{{"$pull", bson.D{{"models", model}}}})
			return nil
		}
		o.Remove(blobsC, sum, doc.unkept())
		o.Insert(oldFilesC, doc.File, bson.D{})
		return nil
	})
}
