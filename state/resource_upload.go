package state

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// Resources is the part of a model's state that takes the files of resources.
type Resources struct{ st *State }

// Resources returns the model's uploads of resources.
func (st *State) Resources() Resources { return Resources{st} }

// AddPending returns an id for each of the named resources of a service, which may not exist yet.
// Store uploads a file under it, and the service gets it when it is added, or its charm or
// resources are set.
//
// Of what is never used a model has no more than entity.LimitPending, and Prune removes it.
func (r Resources) AddPending(ctx context.Context, service string, names []string) ([]string, error) {
	ids := make([]string, len(names))
	for i := range ids {
		ids[i] = mongo.NewID()
	}
	err := r.st.change(ctx, func(o *ops) error {
		model, err := r.st.db.AliveModel()
		if err != nil {
			return err
		}
		if err := r.checkPending(len(names)); err != nil {
			return err
		}
		// Of two at once the later counts what the earlier has added.
		o.AssertModelAlive()
		o.Update(modeldb.ModelC, modeldb.ModelC, modeltxn.Unadvanced("uploads", model.Uploads), bson.D{{"$inc", bson.D{{"uploads", 1}}}})
		for i, name := range names {
			o.Insert(modeldb.UploadsC, ids[i], modeldb.Upload{ID: ids[i], Service: service, Resource: name, Began: r.st.db.Now()})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add resources to service %q: %w", service, err)
	}
	return ids, nil
}

// checkPending refuses n more uploads if the model then has too many.
func (r Resources) checkPending(n int) error {
	has, err := r.st.db.Count(modeldb.UploadsC, nil)
	if err != nil {
		return err
	}
	if err := entity.LimitPending.Check(has + n); err != nil {
		return entity.WithHint(err, "Those that no service uses are removed %d hours after they were added.",
			int(keepUploads.Hours()))
	}
	return nil
}

// upload reads the record of an upload of a service's resource.
func (r Resources) upload(service, name, id string) (doc modeldb.Upload, err error) {
	err = r.st.db.Get(modeldb.UploadsC, id, &doc, fmt.Sprintf("upload %q of resource %q", id, name))
	if err == nil && (doc.Service != service || doc.Resource != name) {
		err = entity.Errorf(entity.NotFound, "upload %q of resource %q not found", id, name)
	}
	return doc, err
}

// An Upload says which resource a file is for.
type Upload struct {
	Service, Resource string
	ID                string // of AddPending
	User              string // who uploads it
	SHA384            string // in hex; "" if the user does not know it
}

// Store stores the file of an upload.
func (r Resources) Store(ctx context.Context, to Upload, src io.ReadSeeker) error {
	if err := r.store(ctx, to, src); err != nil {
		return fmt.Errorf("cannot store resource %q: %w", to.Resource, err)
	}
	return nil
}

func (r Resources) store(ctx context.Context, to Upload, src io.ReadSeeker) error {
	file, err := describe(src)
	if err != nil {
		return err
	}
	if to.SHA384 != "" && to.SHA384 != file.SHA384 {
		return entity.Errorf(entity.Invalid, "the file has SHA-384 %s, not %s", file.SHA384, to.SHA384)
	}
	file.User, file.Uploaded, file.Upload = to.User, r.st.db.Now(), to.ID
	defer r.st.host.Archives.Adding()()
	// The record first: a file that is recorded is not removed.
	if err := r.record(ctx, to, file); err != nil {
		return err
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, _, err := r.st.host.Archives.Keep(ctx, src); err != nil {
		return err
	}
	return r.st.change(ctx, func(o *ops) error {
		doc, err := r.upload(to.Service, to.Resource, to.ID)
		if err != nil {
			return err
		}
		if doc.SHA256 != file.SHA256 {
			return entity.Errorf(entity.Contention, "another file was uploaded for it meanwhile")
		}
		if doc.Stored {
			return mongo.ErrNothing
		}
		o.Update(modeldb.UploadsC, to.ID, bson.D{{"sha256", file.SHA256}}, bson.D{{"$set", bson.D{{"stored", true}}}})
		return nil
	})
}

// describe returns the size and sums of a file.
func describe(src io.Reader) (entity.ResourceFile, error) {
	short, long := sha256.New(), sha512.New384()
	size, err := io.Copy(io.MultiWriter(short, long), src)
	return entity.ResourceFile{Size: size, SHA256: hex.EncodeToString(short.Sum(nil)),
		SHA384: hex.EncodeToString(long.Sum(nil))}, err
}

// record says which file is about to be stored for an upload.
func (r Resources) record(ctx context.Context, to Upload, file entity.ResourceFile) error {
	return r.st.change(ctx, func(o *ops) error {
		doc, err := r.upload(to.Service, to.Resource, to.ID)
		switch {
		case err != nil:
			return err
		case doc.SHA256 == file.SHA256:
			return mongo.ErrNothing
		case doc.SHA256 != "":
			o.releaseArchive(doc.SHA256)
		}
		o.Update(modeldb.UploadsC, to.ID, bson.D{{"sha256", doc.SHA256}},
			bson.D{{"$set", bson.D{{"stored", false}, {"sha256", file.SHA256}, {"sha384", file.SHA384}, {"size", file.Size},
				{"user", file.User}, {"uploaded", file.Uploaded}, {"upload", file.Upload}}}})
		return nil
	})
}

// SetResources gives the service uploaded files, by ids of AddPending: its units run
// upgrade-charm. A file that the resource has already changes nothing.
func (s *Service) SetResources(ctx context.Context, ids map[string]string) error {
	err := s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if s.doc.Life != entity.Alive {
			return entity.Errorf(entity.NotAlive, "service %q is not alive", s.doc.Name)
		}
		ch, err := s.st.db.Charm(s.doc.CharmURL)
		if err != nil {
			return err
		}
		version, err := s.st.resourceOps(o, s.doc, ch.Meta, ids)
		if err != nil {
			return err
		}
		if version != s.doc.Resources {
			o.Update(modeldb.ServicesC, s.doc.Name, bson.D{{"life", entity.Alive}, {"charm", s.doc.CharmURL}},
				bson.D{{"$set", bson.D{{"resources", version}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set resources of service %q: %w", s.doc.Name, err)
	}
	return nil
}

// resourceOps gives a service the files of uploads, for the resources that a charm declares. It
// returns what is to become modeldb.Service.Resources.
func (st *State) resourceOps(o *ops, s modeldb.Service, meta *charm.Meta, ids map[string]string) (int64, error) {
	if len(ids) == 0 {
		return s.Resources, nil
	}
	has, err := st.resources(modeldb.ServiceKey(s.Name))
	if err != nil {
		return 0, err
	}
	files, taken := map[string]entity.ResourceFile{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if err := checkResource(meta, name); err != nil {
			return 0, err
		}
		old := has.File(name)
		if old != nil && old.Upload == ids[name] {
			continue // done by an attempt whose answer was lost
		}
		doc, err := st.Resources().upload(s.Name, name, ids[name])
		if err == nil && !doc.Stored {
			err = entity.Errorf(entity.Invalid, "resource %q was not uploaded", name)
		}
		if err != nil {
			return 0, err
		}
		taken = append(taken, doc.ID)
		if old != nil && old.SHA256 == doc.SHA256 {
			continue
		}
		if old != nil {
			o.releaseArchive(old.SHA256)
		}
		files[modeldb.EscapeKey(name)] = doc.ResourceFile
	}
	version := s.Resources
	if len(files) > 0 {
		version = o.putFiles(has, modeldb.ServiceKey(s.Name), files)
	}
	// After that: at each moment the file has a record.
	for _, id := range taken {
		o.Remove(modeldb.UploadsC, id, bson.D{{"stored", true}})
	}
	return version, nil
}

// checkResource refuses a resource that a charm does not declare, or that can't be a file.
func checkResource(meta *charm.Meta, name string) error {
	declared, ok := meta.Resources[name]
	switch {
	case !ok:
		return entity.Errorf(entity.Invalid, "unrecognized resource %q", name)
	case declared.Type != "file":
		return entity.Errorf(entity.NotSupported, "resource %q is of type %s, which is only for Kubernetes", name,
			declared.Type)
	}
	return nil
}

// keepUploads is how long an upload is kept that no service uses.
const keepUploads = 24 * time.Hour

// Prune removes old uploads that no service uses.
func (r Resources) Prune(ctx context.Context) error {
	var old []modeldb.Upload
	if err := r.st.db.All(modeldb.UploadsC, bson.D{{"began", bson.D{{"$lt", r.st.db.Now().Add(-keepUploads)}}}}, &old); err != nil {
		return err
	}
	for _, doc := range old {
		err := r.st.change(ctx, func(o *ops) error {
			if _, err := r.upload(doc.Service, doc.Resource, doc.ID); entity.IsNotFound(err) {
				return mongo.ErrNothing
			} else if err != nil {
				return err
			}
			o.Remove(modeldb.UploadsC, doc.ID, bson.D{{"sha256", doc.SHA256}})
			if doc.SHA256 != "" {
				o.releaseArchive(doc.SHA256)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("cannot remove an upload of resource %q: %w", doc.Resource, err)
		}
	}
	return nil
}

// releaseArchive adds a cleanup that gives up a file that something has used.
func (o *ops) releaseArchive(sum string) {
	id := modeldb.CleanupArchive + "-" + mongo.NewID()
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupArchive, Arg: sum})
}

// releaseResources adds the cleanups that give up the files of a service that is removed.
func (s *Service) releaseResources(o *ops) error {
	doc, err := s.st.resources(modeldb.ServiceKey(s.doc.Name))
	if err != nil || doc == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Files)) {
		o.releaseArchive(doc.Files[name].SHA256)
	}
	return nil
}

// Refers reports whether something of the model uses the file with this SHA-256, or has used it,
// and a cleanup will give it up.
func (st *State) Refers(ctx context.Context, sum string) (bool, error) {
	n, err := st.db.Count(modeldb.CleanupsC, bson.D{{"kind", modeldb.CleanupArchive}, {"arg", sum}})
	if err != nil || n > 0 {
		return n > 0, err
	}
	return st.uses(sum)
}

// uses reports whether a charm or a resource of the model uses the file with this SHA-256.
func (st *State) uses(sum string) (bool, error) {
	// Resources come after uploads, which become resources.
	for _, by := range [][2]string{{modeldb.CharmsC, "sha256"}, {modeldb.UploadsC, "sha256"}} {
		if n, err := st.db.Count(by[0], bson.D{{by[1], sum}}); err != nil || n > 0 {
			return n > 0, err
		}
	}
	var docs []modeldb.Resources
	if err := st.db.All(modeldb.ResourcesC, bson.D{{"_id", bson.D{{"$gt", "s#"}, {"$lt", "s$"}}}}, &docs); err != nil {
		return false, err
	}
	for _, doc := range docs {
		for _, f := range doc.Files {
			if f.SHA256 == sum {
				return true, nil
			}
		}
	}
	return false, nil
}
