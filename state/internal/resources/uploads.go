package resources

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// Resources stores the files of a model's resources.
type Resources struct {
	db    *modeltxn.DB
	files Files
}

// Files stores the files of resources, one copy of each.
type Files interface {
	// Adding keeps unused files from being removed until done is called.
	Adding() (done func())
	// Keep stores a file, and returns its SHA-256 in hex and its size.
	Keep(ctx context.Context, file io.ReadSeeker) (sum string, size int64, err error)
	Open(ctx context.Context, sum string) (io.ReadCloser, error)
}

// Of returns the resources of a model.
func Of(db *modeltxn.DB, files Files) Resources { return Resources{db, files} }

// Pending announces uploads for a service that a user is about to deploy or upgrade.
type Pending struct {
	Service string
	Charm   string // the URL of the charm that the service will have; "" for the one that it has
	User    string // who uploads the files
	Names   []string
}

// AddPending returns an id for each of the named resources, which the charm must declare. Store uploads a file under the
// id, and the service gets it when it is added, or when its charm or resources are set.
//
// The uploads replace those of the same user for the same resources. A user has at most limits.PendingResources in a
// model, so that no one can use up what others need. Prune removes old ones.
func (r Resources) AddPending(ctx context.Context, p Pending) ([]string, error) {
	ids := make([]string, len(p.Names))
	for i := range ids {
		ids[i] = mongo.NewID()
	}
	err := r.db.Change(ctx, func(o *modeltxn.Ops) error {
		model, err := r.db.AliveModel(ctx)
		if err != nil {
			return err
		}
		if err := r.checkDeclared(ctx, o, p); err != nil {
			return err
		}
		if err := r.replace(ctx, o, p); err != nil {
			return err
		}
		// Of two concurrent additions, the later one sees the earlier one.
		o.AssertModelAlive()
		o.Update(modeldb.ModelC, modeldb.ModelC, mongo.Unadvanced("uploads", model.Uploads), bson.D{{"$inc", bson.D{{"uploads", 1}}}})
		for i, name := range p.Names {
			o.Insert(modeldb.UploadsC, ids[i], modeldb.Upload{ID: ids[i], Service: p.Service, Resource: name, Began: r.db.Now(),
				ResourceFile: entity.ResourceFile{User: p.User}})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add resources to service %q: %w", p.Service, err)
	}
	return ids, nil
}

// checkDeclared returns an error unless the charm that the service has or will have declares all the resources.
func (r Resources) checkDeclared(ctx context.Context, o *modeltxn.Ops, p Pending) error {
	url := p.Charm
	if url == "" {
		var s modeldb.Service
		if err := r.db.Get(ctx, modeldb.ServicesC, p.Service, &s, fmt.Sprintf("service %q", p.Service)); err != nil {
			return err
		}
		url = s.CharmURL
	}
	if err := r.db.UseCharm(ctx, o, url); err != nil {
		return err
	}
	ch, err := r.db.Charm(ctx, url)
	if err != nil {
		return err
	}
	for _, name := range p.Names {
		if err := Check(ch.Meta, name); err != nil {
			return err
		}
	}
	return nil
}

// replace removes the user's earlier uploads for the same resources, and returns an error if the user would have too many.
func (r Resources) replace(ctx context.Context, o *modeltxn.Ops, p Pending) error {
	var mine []modeldb.Upload
	if err := r.db.All(ctx, modeldb.UploadsC, bson.D{{"user", p.User}}, &mine); err != nil {
		return err
	}
	count := len(p.Names)
	for _, doc := range mine {
		if doc.Service == p.Service && slices.Contains(p.Names, doc.Resource) {
			discard(o, doc)
		} else {
			count++
		}
	}
	if err := limits.PendingResources.Check(count); err != nil {
		return entity.WithHint(err, "To list those that no service uses: juju pending-resources. To remove yours: "+
			"juju pending-resources --clear. They are removed %d hours after they were added.", int(keepUploads.Hours()))
	}
	return nil
}

// discard removes an upload in a transaction, and its file.
func discard(o *modeltxn.Ops, doc modeldb.Upload) {
	o.Remove(modeldb.UploadsC, doc.ID, bson.D{{"sha256", doc.SHA256}})
	if doc.SHA256 != "" {
		releaseFile(o, doc.SHA256)
	}
}

// Pending returns the uploads that no service uses, sorted by service, resource, and time.
func (r Resources) Pending(ctx context.Context) ([]entity.PendingResource, error) {
	docs, err := r.pending(ctx, nil)
	return asPending(docs), err
}

// pending reads the uploads that a query selects, sorted by service, resource, and time.
func (r Resources) pending(ctx context.Context, query bson.D) (docs []modeldb.Upload, err error) {
	err = r.db.All(ctx, modeldb.UploadsC, query, &docs)
	slices.SortFunc(docs, func(a, b modeldb.Upload) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Resource, b.Resource), a.Began.Compare(b.Began))
	})
	return docs, err
}

func asPending(docs []modeldb.Upload) []entity.PendingResource {
	all := make([]entity.PendingResource, len(docs))
	for i, doc := range docs {
		all[i] = entity.PendingResource{Service: doc.Service, Resource: doc.Resource, User: doc.User, Size: doc.Size,
			Began: doc.Began, Stored: doc.Stored}
	}
	return all
}

// ClearPending removes the uploads of a user ("" for everyone's) that no service uses, for some services (none for all),
// and returns them. A deployment that is in progress fails if it needs one of them.
func (r Resources) ClearPending(ctx context.Context, user string, services []string) ([]entity.PendingResource, error) {
	var query bson.D
	if user != "" {
		query = append(query, bson.DocElem{Name: "user", Value: user})
	}
	if len(services) > 0 {
		query = append(query, bson.DocElem{Name: "service", Value: bson.D{{"$in", services}}})
	}
	docs, err := r.pending(ctx, query)
	if err == nil {
		err = r.discardAll(ctx, docs)
	}
	return asPending(docs), err
}

// CheckUser returns an Unauthorized error if an upload with one of some ids was announced by another user.
func (r Resources) CheckUser(ctx context.Context, user string, ids ...string) error {
	docs, err := r.pending(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}})
	for _, doc := range docs {
		if !strings.EqualFold(doc.User, user) {
			return entity.WithHint(entity.Errorf(entity.Unauthorized, "the upload of resource %q of service %q is user %q's",
				doc.Resource, doc.Service, doc.User),
				"Upload the file yourself, or ask an administrator of the model.")
		}
	}
	return err
}

// upload reads the record of an upload of a service's resource.
func upload(ctx context.Context, db *modeltxn.DB, service, name, id string) (doc modeldb.Upload, err error) {
	err = db.Get(ctx, modeldb.UploadsC, id, &doc, fmt.Sprintf("upload %q of resource %q", id, name))
	if err == nil && (doc.Service != service || doc.Resource != name) {
		err = entity.Errorf(entity.NotFound, "upload %q of resource %q not found", id, name)
	}
	if entity.IsNotFound(err) {
		err = entity.WithHint(err, "A newer upload for the resource may have replaced it, or someone cleared it; upload the file again.")
	}
	return doc, err
}

// An Upload identifies the resource that a file is for.
type Upload struct {
	Service, Resource string
	ID                string // of AddPending
	SHA384            string // in hex; "" if the user does not know it
	Revision          int    // in a charm store; 0 if a user uploads it
	// Known is the file, if it is not stored: in a copy of a model, which has no files.
	Known entity.ResourceFile
}

// Store stores the file of an upload. If there is none, it only records that it is stored.
func (r Resources) Store(ctx context.Context, to Upload, src io.ReadSeeker) error {
	if err := r.store(ctx, to, src); err != nil {
		return fmt.Errorf("cannot store resource %q: %w", to.Resource, err)
	}
	return nil
}

func (r Resources) store(ctx context.Context, to Upload, src io.ReadSeeker) error {
	file := to.Known
	if src != nil {
		var err error
		if file, err = describe(src); err != nil {
			return err
		}
	}
	if to.SHA384 != "" && to.SHA384 != file.SHA384 {
		return entity.Errorf(entity.Invalid, "the file has SHA-384 %s, not %s", file.SHA384, to.SHA384)
	}
	file.Uploaded, file.Upload, file.Revision = r.db.Now(), to.ID, to.Revision
	defer r.files.Adding()()
	// Write the record first, because recorded files are not removed.
	if err := r.record(ctx, to, file); err != nil {
		return err
	}
	if src != nil {
		if _, err := src.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, _, err := r.files.Keep(ctx, src); err != nil {
			return err
		}
	}
	return r.db.Change(ctx, func(o *modeltxn.Ops) error {
		doc, err := upload(ctx, r.db, to.Service, to.Resource, to.ID)
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

// record records which file is about to be stored for an upload.
func (r Resources) record(ctx context.Context, to Upload, file entity.ResourceFile) error {
	return r.db.Change(ctx, func(o *modeltxn.Ops) error {
		doc, err := upload(ctx, r.db, to.Service, to.Resource, to.ID)
		switch {
		case err != nil:
			return err
		case doc.SHA256 == file.SHA256:
			return mongo.ErrNothing
		case doc.SHA256 != "":
			releaseFile(o, doc.SHA256)
		}
		o.Update(modeldb.UploadsC, to.ID, bson.D{{"sha256", doc.SHA256}},
			bson.D{{"$set", bson.D{{"stored", false}, {"sha256", file.SHA256}, {"sha384", file.SHA384}, {"size", file.Size},
				{"uploaded", file.Uploaded}, {"upload", file.Upload}, {"revision", file.Revision}}}})
		return nil
	})
}

// keepUploads is how long unused uploads are kept.
const keepUploads = 24 * time.Hour

// Prune removes old uploads that no service uses.
func (r Resources) Prune(ctx context.Context) error {
	var old []modeldb.Upload
	if err := r.db.All(ctx, modeldb.UploadsC, bson.D{{"began", bson.D{{"$lt", r.db.Now().Add(-keepUploads)}}}}, &old); err != nil {
		return err
	}
	return r.discardAll(ctx, old)
}

// discardAll removes uploads, one at a time; those that a service got in the meantime are not there any more.
func (r Resources) discardAll(ctx context.Context, docs []modeldb.Upload) error {
	for _, doc := range docs {
		err := r.db.Change(ctx, func(o *modeltxn.Ops) error {
			now, err := upload(ctx, r.db, doc.Service, doc.Resource, doc.ID)
			if entity.IsNotFound(err) {
				return mongo.ErrNothing
			} else if err != nil {
				return err
			}
			discard(o, now)
			return nil
		})
		if err != nil {
			return fmt.Errorf("cannot remove an upload of resource %q: %w", doc.Resource, err)
		}
	}
	return nil
}

// Open opens the file of a resource.
func (r Resources) Open(ctx context.Context, file entity.ResourceFile) (io.ReadCloser, error) {
	content, err := r.files.Open(ctx, file.SHA256)
	if err != nil {
		return nil, fmt.Errorf("cannot open the file of a resource: %w", err)
	}
	return content, nil
}
