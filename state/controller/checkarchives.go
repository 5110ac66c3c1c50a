package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/mongo"
)

// archiveRules returns the rules for archives of charms: models' references to them, and their files.
func (c *Controller) archiveRules(ctx context.Context) []check.Rule {
	return []check.Rule{
		{Of: blobsC, Judge: c.judgeReference(ctx)},
		{Of: oldFilesC, Judge: judgeOldFile},
		{Of: charmBlobs, IDs: c.fileNames, Judge: c.judgeFile(ctx)},
		{Of: charmBlobs, IDs: c.strayChunks, Judge: c.judgeChunks},
	}
}

// judgeReference finds references from models that do not exist, or that have no charm using the archive. A
// rejected deployment leaves such references behind.
func (c *Controller) judgeReference(ctx context.Context) func(*check.View, string) *check.Wrong {
	return func(v *check.View, sum string) *check.Wrong {
		b := v.Get(blobsC, sum)
		for _, m := range b.Texts("models") {
			w := &check.Wrong{Where: check.DocID{blobsC, sum},
				Repair: "remove the reference", Act: func(ctx context.Context) error {
					if !c.adding.TryLock() {
						return check.ErrNotWrong // the charm may be in the process of being added
					}
					defer c.adding.Unlock()
					if used, err := c.uses(ctx, m, sum); err != nil || used {
						return err
					}
					if err := c.releaseBlob(ctx, m, sum, nil); err != nil {
						return err
					}
					return c.deleteOldFiles(ctx)
				}}
			r := v.Get(modelsC, m)
			if r == nil {
				w.What = fmt.Sprintf("model %s refers to it but does not exist", m)
				return w
			}
			if r.Text("step") != stepReady || !c.alone || !c.adding.TryLock() {
				continue
			}
			used, err := c.uses(ctx, m, sum)
			c.adding.Unlock()
			if err != nil {
				v.Fail(err)
				return nil
			}
			if !used {
				w.What = fmt.Sprintf("model %q refers to it but does not use it", r.Text("name"))
				return w
			}
		}
		return nil
	}
}

// uses reports whether a model has a charm that uses an archive; false if the model does not exist.
func (c *Controller) uses(ctx context.Context, model, sum string) (bool, error) {
	st, err := c.Model(ctx, model)
	if entity.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return st.Refers(ctx, sum)
}

// judgeOldFile finds files marked for deletion that an archive still uses.
func judgeOldFile(v *check.View, name string) *check.Wrong {
	if v.Get(oldFilesC, name) == nil {
		return nil
	}
	for _, b := range v.Where(blobsC, "file", name) {
		v.Get(blobsC, b.Text("_id"))
		return check.Remove(check.DocID{oldFilesC, name}, fmt.Sprintf("archive %s has this file", b.Text("_id")), "keep the file")
	}
	return nil
}

// fileNames returns the names of all files of archives.
func (c *Controller) fileNames(v *check.View) []string {
	return check.Remembered(v, "files", func() (names []string) {
		v.Fail(c.files(func(fs *mgo.GridFS) error { return fs.Find(nil).Distinct("filename", &names) }))
		return names
	})
}

// judgeFile finds files that belong to no archive. An archive's record is written before its file, and the
// file is marked for deletion when the record is removed. If charms need the file, it is the archive's record
// that is missing.
func (c *Controller) judgeFile(ctx context.Context) func(*check.View, string) *check.Wrong {
	return func(v *check.View, name string) *check.Wrong {
		if v.Get(oldFilesC, name) != nil || len(v.Where(blobsC, "file", name)) > 0 || !slices.Contains(c.fileNames(v), name) {
			return nil
		}
		sum, err := c.sumOf(name)
		if entity.IsNotFound(err) {
			return nil // deleted meanwhile
		}
		v.Fail(err)
		doc := blobDoc{SHA256: sum, File: name}
		for _, r := range v.All(modelsC) {
			if r.Text("step") != stepReady {
				continue
			}
			used, err := c.uses(ctx, r.Text("_id"), sum)
			v.Fail(err)
			if used {
				doc.Models = append(doc.Models, r.Text("_id"))
			}
		}
		if len(doc.Models) > 0 && v.Get(blobsC, sum) == nil {
			slices.Sort(doc.Models)
			return check.Insert(check.DocID{blobsC, sum}, fmt.Sprintf("it is missing, but charms use the archive in file %s", name),
				"write it", doc)
		}
		return &check.Wrong{Where: check.DocID{charmBlobs + ".files", name},
			What: "no archive has this file", Repair: "delete it",
			Act: func(context.Context) error { return c.files(func(fs *mgo.GridFS) error { return fs.Remove(name) }) }}
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
		sum, err = entity.SHA256(f)
		return errors.Join(err, f.Close())
	})
	return sum, err
}

// strayChunks returns the ids, in hex, of files of which only the content exists, because writing or deleting
// them was interrupted.
func (c *Controller) strayChunks(v *check.View) []string {
	return check.Remembered(v, "chunks", func() (ids []string) {
		v.Fail(c.files(func(fs *mgo.GridFS) error {
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

func (c *Controller) judgeChunks(v *check.View, id string) *check.Wrong {
	if !c.alone || !c.adding.TryLock() {
		return nil // the file may be in the process of being written
	}
	defer c.adding.Unlock()
	if !slices.Contains(c.strayChunks(v), id) {
		return nil
	}
	return &check.Wrong{Where: check.DocID{charmBlobs + ".chunks", id},
		What: "no file has this content", Repair: "delete it",
		Act: func(context.Context) error {
			return c.files(func(fs *mgo.GridFS) error {
				_, err := fs.Chunks.RemoveAll(bson.D{{"files_id", bson.ObjectIdHex(id)}})
				return err
			})
		}}
}
