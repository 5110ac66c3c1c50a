package controller

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The controller's cloud has a first credential, whose name here is "": it is in the configurations of the controller's
// processes, and a document replaces it. All others have names, and are only here.

// firstCredentialID is the id of the document of the first one. Names of credentials have no "#".
const firstCredentialID = "controller"

func credentialID(name string) string {
	if name == "" {
		return firstCredentialID
	}
	return "#" + name
}

type credentialDoc struct {
	ID         string            `bson:"_id"`
	AuthType   string            `bson:"authtype"`
	Attributes map[string]string `bson:"attributes"`
	Secrets    map[string]string `bson:"password,omitempty"` // the attributes that are never shown
	Uses       int               `bson:"uses,omitempty"`     // grows whenever a model begins to use it
}

func newCredentialDoc(id string, one entity.CloudCredential) credentialDoc {
	d := credentialDoc{ID: id, AuthType: one.AuthType, Attributes: map[string]string{}, Secrets: map[string]string{}}
	for key, value := range one.Attributes {
		if entity.IsSecretAttribute(key) {
			d.Secrets[key] = value
		} else {
			d.Attributes[key] = value
		}
	}
	return d
}

func (d credentialDoc) credential() entity.CloudCredential {
	one := entity.CloudCredential{AuthType: d.AuthType, Attributes: map[string]string{}}
	maps.Copy(one.Attributes, d.Attributes)
	maps.Copy(one.Attributes, d.Secrets)
	return one
}

func (c *Controller) credentialDoc(ctx context.Context, name string) (doc credentialDoc, err error) {
	err = c.db.Get(ctx, cloudCredentialsC, credentialID(name), &doc, fmt.Sprintf("credential %q", name))
	return doc, err
}

// CloudCredential returns a credential of the cloud. For the first one it is that which replaces the one in the
// configurations of the controller's processes; nil if none does.
func (c *Controller) CloudCredential(ctx context.Context, name string) (*entity.CloudCredential, error) {
	doc, err := c.credentialDoc(ctx, name)
	if entity.IsNotFound(err) && name == "" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	one := doc.credential()
	return &one, nil
}

// CloudCredentials returns the names of the cloud's credentials other than the first, sorted.
func (c *Controller) CloudCredentials(ctx context.Context) (names []string, err error) {
	var docs []credentialDoc
	if err := c.db.All(ctx, cloudCredentialsC, nil, &docs); err != nil {
		return nil, err
	}
	for _, doc := range docs {
		if name, ok := strings.CutPrefix(doc.ID, "#"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// AddCloudCredential adds a credential with a name. The error is AlreadyExists if there is one.
func (c *Controller) AddCloudCredential(ctx context.Context, name string, one entity.CloudCredential) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		_, err := c.credentialDoc(ctx, name)
		if err == nil {
			return entity.Errorf(entity.AlreadyExists, "credential %q already exists", name)
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.Insert(cloudCredentialsC, credentialID(name), newCredentialDoc(credentialID(name), one))
		return nil
	})
}

// SetCloudCredential replaces a credential of the cloud, in all processes of the controller, or adds it.
func (c *Controller) SetCloudCredential(ctx context.Context, name string, one entity.CloudCredential) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		was, err := c.credentialDoc(ctx, name)
		id := credentialID(name)
		doc := newCredentialDoc(id, one)
		switch {
		case entity.IsNotFound(err):
			o.Insert(cloudCredentialsC, id, doc)
			return nil
		case err != nil:
			return err
		case was.AuthType == one.AuthType && reflect.DeepEqual(was.credential(), doc.credential()):
			return mongo.ErrNothing
		}
		o.Update(cloudCredentialsC, id, txn.DocExists,
			bson.D{{"$set", bson.D{{"authtype", doc.AuthType}, {"attributes", doc.Attributes}, {"password", doc.Secrets}}}})
		return nil
	})
}

// RemoveCloudCredential removes a credential with a name. The error is InUse, and names the models, if some use it or have
// left something in the cloud that only it can remove.
func (c *Controller) RemoveCloudCredential(ctx context.Context, name string) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		doc, err := c.credentialDoc(ctx, name)
		if err != nil {
			return err
		}
		users, err := c.CredentialUsers(ctx, name)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return entity.Errorf(entity.InUse, "models use it: %s", strings.Join(users, ", "))
		}
		o.Remove(cloudCredentialsC, doc.ID, mongo.Unadvanced("uses", doc.Uses))
		return nil
	})
}

// CredentialUsers returns the models that use a credential, as OWNER/NAME, sorted: also those that are not ready, and those
// that are removed but may have left something in the cloud.
func (c *Controller) CredentialUsers(ctx context.Context, name string) (users []string, err error) {
	with := bson.D{{"credential", name}}
	if name == "" {
		with = bson.D{{"credential", bson.D{{"$exists", false}}}}
	}
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, with, &rows); err != nil {
		return nil, err
	}
	for _, row := range rows {
		users = append(users, row.Owner+"/"+row.Name)
	}
	var left []leftDoc
	if err := c.db.All(ctx, modelLeftoversC, with, &left); err != nil {
		return nil, err
	}
	for _, doc := range left {
		users = append(users, doc.Owner+"/"+doc.Name)
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// useCredential adds to a transaction that a model begins to use a credential, which must be there.
func (c *Controller) useCredential(ctx context.Context, o *mongo.Ops, name string) error {
	if name == "" {
		return nil
	}
	doc, err := c.credentialDoc(ctx, name)
	if err == nil {
		o.Update(cloudCredentialsC, doc.ID, txn.DocExists, bson.D{{"$inc", bson.D{{"uses", 1}}}})
	}
	return err
}

// SetModelCredential has a model use another credential of the cloud.
func (c *Controller) SetModelCredential(ctx context.Context, model, name string) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		row, err := c.readyRow(ctx, model)
		if err != nil {
			return err
		}
		if row.Credential == name {
			return mongo.ErrNothing
		}
		change := bson.D{{"$set", bson.D{{"credential", name}}}}
		if name == "" {
			change = bson.D{{"$unset", bson.D{{"credential", 1}}}}
		}
		o.Update(modelsC, model, bson.D{{"step", stepReady}}, change)
		return c.useCredential(ctx, o, name)
	})
}

// WatchCloudCredentials sends an event when a result of CloudCredential may have changed.
func (c *Controller) WatchCloudCredentials(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(cloudCredentialsC)), nil
}

// WatchModelRow sends an event when the result of ModelRow may have changed.
func (c *Controller) WatchModelRow(ctx context.Context, model string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Doc(modelsC, model)), nil
}
