package state

import (
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
)

// archiveRules check the archives of charms: which models refer to each, and their files.
func (c *Controller) archiveRules(ctx context.Context) []rule {
	return []rule{
		{of: blobsC, judge: c.judgeReference(ctx)},
		{of: oldFilesC, judge: judgeOldFile},
		{of: charmBlobs, ids: c.fileNames, judge: c.judgeFile(ctx)},
		{of: charmBlobs, ids: c.strayChunks, judge: c.judgeChunks},
	}
}

// judgeReference finds references of models that do not exist, or that have no charm that
// uses the archive, which a refused deployment leaves.
func (c *Controller) judgeReference(ctx context.Context) func(*view, string) *wrong {
	return func(v *view, sum string) *wrong {
		b := v.get(blobsC, sum)
		for _, m := range b.texts("models") {
			w := &wrong{where: docID{blobsC, sum}, repair: "drop the reference", act: func(ctx context.Context) error {
				if !c.archives.TryLock() {
					return errNotWrong // the charm may just be being added
				}
				defer c.archives.Unlock()
				if used, err := c.uses(ctx, m, sum); err != nil || used {
					return err
				}
				if err := c.releaseBlob(ctx, m, sum); err != nil {
					return err
				}
				return c.deleteOldFiles(ctx)
			}}
			r := v.get(modelsC, m)
			if r == nil {
				w.what = fmt.Sprintf("model %s refers to it and does not exist", m)
				return w
			}
			if r.text("step") != stepReady || !c.alone || !c.archives.TryLock() {
				continue
			}
			used, err := c.uses(ctx, m, sum)
			c.archives.Unlock()
			if err != nil {
				v.fail(err)
				return nil
			}
			if !used {
				w.what = fmt.Sprintf("model %q refers to it and has no charm that uses it", r.text("name"))
				return w
			}
		}
		return nil
	}
}

// uses reports whether a model has a charm that uses an archive; false if the model is
// gone.
func (c *Controller) uses(ctx context.Context, model, sum string) (bool, error) {
	st, err := c.Model(ctx, model)
	if isNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	n, err := st.db.Count(charmsC, bson.D{{"sha256", sum}})
	return n > 0, err
}

// judgeOldFile finds files marked for deletion that an archive still has.
func judgeOldFile(v *view, name string) *wrong {
	if v.get(oldFilesC, name) == nil {
		return nil
	}
	for _, b := range v.where(blobsC, "file", name) {
		v.get(blobsC, b.text("_id"))
		return toRemove(docID{oldFilesC, name}, fmt.Sprintf("archive %s has this file", b.text("_id")), "keep the file")
	}
	return nil
}

// fileNames returns the names of all files of archives.
func (c *Controller) fileNames(v *view) []string {
	return remembered(v, "files", func() (names []string) {
		v.fail(c.files(func(fs *mgo.GridFS) error { return fs.Find(nil).Distinct("filename", &names) }))
		return names
	})
}

// judgeFile finds files that no archive has. An archive has a record before its file
// exists, and the file is marked for deletion once the record goes. If charms need the
// file, it is the archive's record that is missing.
func (c *Controller) judgeFile(ctx context.Context) func(*view, string) *wrong {
	return func(v *view, name string) *wrong {
		if v.get(oldFilesC, name) != nil || len(v.where(blobsC, "file", name)) > 0 || !slices.Contains(c.fileNames(v), name) {
			return nil
		}
		sum, err := c.sumOf(name)
		if isNotFound(err) {
			return nil // deleted meanwhile
		}
		v.fail(err)
		doc := blobDoc{SHA256: sum, File: name}
		for _, r := range v.all(modelsC) {
			if r.text("step") != stepReady {
				continue
			}
			used, err := c.uses(ctx, r.text("_id"), sum)
			v.fail(err)
			if used {
				doc.Models = append(doc.Models, r.text("_id"))
			}
		}
		if len(doc.Models) > 0 && v.get(blobsC, sum) == nil {
			slices.Sort(doc.Models)
			return toInsert(docID{blobsC, sum}, fmt.Sprintf("it is missing, but charms use the archive in file %s", name),
				"write it", doc)
		}
		return &wrong{where: docID{charmBlobs + ".files", name}, what: "no archive has this file", repair: "delete it",
			act: func(context.Context) error { return c.files(func(fs *mgo.GridFS) error { return fs.Remove(name) }) }}
	}
}

// sumOf returns the SHA-256 of a file's content.
func (c *Controller) sumOf(name string) (sum string, err error) {
	err = c.files(func(fs *mgo.GridFS) error {
		f, err := fs.Open(name)
		if mongo.IsNotFound(err) {
			return entity.Errorf(entity.NotFound, "file %s not found", name)
		} else if err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, f)
		sum = hex.EncodeToString(hash.Sum(nil))
		return errors.Join(err, f.Close())
	})
	return sum, err
}

// strayChunks returns the ids, in hex, of files of which only the content exists: their
// writing or deletion was cut short.
func (c *Controller) strayChunks(v *view) []string {
	return remembered(v, "chunks", func() (ids []string) {
		v.fail(c.files(func(fs *mgo.GridFS) error {
			var written, there []bson.ObjectId
			if err := fs.Chunks.Find(nil).Distinct("files_id", &written); err != nil {
				return err
			}
			if err := fs.Files.Find(nil).Distinct("_id", &there); err != nil {
				return err
			}
			for _, id := range written {
				if !slices.Contains(there, id) {
					ids = append(ids, id.Hex())
				}
			}
			return nil
		}))
		return ids
	})
}

func (c *Controller) judgeChunks(v *view, id string) *wrong {
	if !c.alone || !c.archives.TryLock() {
		return nil // it may be being written
	}
	defer c.archives.Unlock()
	if !slices.Contains(c.strayChunks(v), id) {
		return nil
	}
	return &wrong{where: docID{charmBlobs + ".chunks", id}, what: "no file has this content", repair: "delete it",
		act: func(context.Context) error {
			return c.files(func(fs *mgo.GridFS) error {
				_, err := fs.Chunks.RemoveAll(bson.D{{"files_id", bson.ObjectIdHex(id)}})
				return err
			})
		}}
}

// judgeArchive finds charms whose archive does not exist, or has no reference from the
// model.
func (st *State) judgeArchive(v *view, url string) *wrong {
	ch := v.get(charmsC, url)
	if ch == nil {
		return nil
	}
	where, sum := docID{charmsC, url}, ch.text("sha256")
	b, err := st.controller.blob(sum)
	if err != nil && !isNotFound(err) {
		v.fail(err)
		return nil
	}
	n := 0
	if err == nil {
		v.fail(st.controller.files(func(fs *mgo.GridFS) (err error) {
			n, err = fs.Find(bson.D{{"filename", b.File}}).Count()
			return err
		}))
	}
	switch {
	case v.err != nil:
		return nil
	case n == 0:
		return &wrong{where: where,
			what: fmt.Sprintf("its archive does not exist (SHA-256 %s): deploy the charm again from its source", sum)}
	case !slices.Contains(b.Models, st.uuid):
		return &wrong{where: where, what: "its archive has no reference from the model", repair: "add the reference",
			act: func(ctx context.Context) error {
				_, err := st.controller.referToBlob(ctx, st.uuid, sum, b.File)
				return err
			}}
	}
	return nil
}

// schemaRule checks that a database records its form. The upgrade has brought it to this
// program's form, so that is what the repair writes.
func schemaRule(f form) rule {
	return rule{of: schemaC, ids: func(*view) []string { return []string{schemaC} },
		judge: func(v *view, id string) *wrong {
			if v.get(schemaC, id) != nil {
				return nil
			}
			return toInsert(docID{schemaC, id}, "it is missing, so all upgrades would run again", "write it", f.doc())
		}}
}
