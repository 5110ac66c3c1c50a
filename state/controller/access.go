package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The levels of access to the controller, to a model and to an offer. Each includes the lower ones; "" is no access.
const (
	AccessLogin     = "login"
	AccessAddModel  = "add-model" // may add models
	AccessSuperuser = "superuser" // may do everything, in every model

	AccessRead  = "read"
	AccessWrite = "write"
	AccessAdmin = "admin"

	AccessConsume = "consume" // may relate services of their own models to an offer; read and admin are above and below
)

// A ladder lists the levels of access to something, the lowest first.
type ladder []string

var (
	controllerLadder = ladder{"", AccessLogin, AccessAddModel, AccessSuperuser}
	modelLadder      = ladder{"", AccessRead, AccessWrite, AccessAdmin}
	offerLadder      = append(ladder{""}, entity.OfferLevels...)
)

// check rejects a level that is not on the ladder.
func (l ladder) check(what, level string) error {
	if !slices.Contains(l[1:], level) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "%q %s access not valid", level, what),
			"The levels are: %s", l.String())
	}
	return nil
}

// String lists the levels.
func (l ladder) String() string {
	text := ""
	for _, level := range l[1:] {
		if text != "" {
			text += ", "
		}
		text += level
	}
	return text
}

func (l ladder) rank(level string) int { return slices.Index(l, level) }

// granted returns the level of a user who had level has, after a grant.
func (l ladder) granted(has, level string) (string, error) {
	if l.rank(has) >= l.rank(level) {
		return "", entity.Errorf(entity.AlreadyExists, "user already has %q access or greater", level)
	}
	return level, nil
}

// revoked returns the level of a user who had level has, after level was revoked: the one below it.
func (l ladder) revoked(user, has, level string) (string, error) {
	if l.rank(has) < l.rank(level) {
		return "", entity.Errorf(entity.NotFound, "user %q does not have %q access", user, level)
	}
	return l[l.rank(level)-1], nil
}

// GrantController raises a user's access to the controller.
func (c *Controller) GrantController(ctx context.Context, user, level string) error {
	err := c.changeControllerAccess(ctx, user, level,
		func(d userDoc) (string, error) { return controllerLadder.granted(d.Access, level) })
	if err != nil {
		return fmt.Errorf("could not grant controller access: %w", err)
	}
	return nil
}

// RevokeController revokes a level of access to the controller; the user keeps login, unless that is revoked. A user without
// login can't use any model either.
func (c *Controller) RevokeController(ctx context.Context, user, level string) error {
	err := c.changeControllerAccess(ctx, user, level, func(d userDoc) (string, error) {
		left, err := controllerLadder.revoked(d.Name, d.Access, level)
		if left != "" {
			left = AccessLogin
		}
		return left, err
	})
	if err != nil {
		return fmt.Errorf("could not revoke controller access: %w", err)
	}
	return nil
}

func (c *Controller) changeControllerAccess(ctx context.Context, user, level string,
	to func(userDoc) (string, error)) error {
	if err := controllerLadder.check("controller", level); err != nil {
		return err
	}
	return c.changeUser(ctx, user, func(d userDoc) (bson.D, error) {
		access, err := to(d)
		return bson.D{{"access", access}}, err
	})
}

// A modelUserDoc records the access of a user to a model that someone else owns, or to one of its offers.
type modelUserDoc struct {
	ID        string    `bson:"_id"` // see modelUserID
	Model     string    `bson:"model"`
	Offer     string    `bson:"offer,omitempty"` // a UUID
	User      string    `bson:"user"`            // a userID
	Access    string    `bson:"access"`
	CreatedBy string    `bson:"createdby"`
	Created   time.Time `bson:"created"`
}

// modelUserID returns the id of a user's access to a model, or to an offer.
func modelUserID(model, user string) string { return model + "#" + userID(user) }

// modelAccess returns the access to a model or an offer that was granted to a user; "" for none.
func (c *Controller) modelAccess(ctx context.Context, model, user string) (string, error) {
	return c.accessBy(ctx, modelUserID(model, user))
}

func (c *Controller) accessBy(ctx context.Context, id string) (string, error) {
	var doc modelUserDoc
	err := c.db.Get(ctx, modelUsersC, id, &doc, "access")
	if entity.IsNotFound(err) {
		return "", nil
	}
	return doc.Access, err
}

// GrantModel raises a user's access to a model. by is the user who grants it.
func (c *Controller) GrantModel(ctx context.Context, model, user, level, by string) error {
	return c.grant(ctx, shared{"model", modelLadder}, modelUserDoc{ID: modelUserID(model, user), Model: model, Access: level, CreatedBy: by}, user)
}

// GrantOffer raises a user's access to an offer, given by its UUID. by is the user who grants it.
func (c *Controller) GrantOffer(ctx context.Context, model, offer, user, level, by string) error {
	return c.grant(ctx, shared{"offer", offerLadder}, modelUserDoc{ID: modelUserID(offer, user), Model: model, Offer: offer, Access: level, CreatedBy: by}, user)
}

// A shared is what users can have access to: a model or an offer.
type shared struct {
	what string
	ladder
}

func (c *Controller) grant(ctx context.Context, s shared, doc modelUserDoc, user string) error {
	level := doc.Access
	if err := s.check(s.what, level); err != nil {
		return err
	}
	doc.User, doc.Created = userID(user), c.now()
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		target, err := c.userDocOf(ctx, user)
		if err != nil {
			return err
		}
		row, err := c.readyRow(ctx, doc.Model)
		if err != nil {
			return err
		}
		has, err := c.accessBy(ctx, doc.ID)
		if err != nil {
			return err
		}
		if row.ownedBy(target.ID) {
			has = AccessAdmin
		}
		if _, err := s.granted(has, level); err != nil {
			return err
		}
		o.Assert(usersC, target.ID, bson.D{{"removed", false}})
		o.Assert(modelsC, row.UUID, bson.D{{"step", stepReady}})
		if has == "" {
			o.Insert(modelUsersC, doc.ID, doc)
		} else {
			o.Update(modelUsersC, doc.ID, bson.D{{"access", has}}, bson.D{{"$set", bson.D{{"access", level}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not grant %s access: %w", s.what, err)
	}
	return nil
}

// RevokeModel revokes a level of access to a model; the user keeps the one below. The owner's access
// can't be revoked.
func (c *Controller) RevokeModel(ctx context.Context, model, user, level string) error {
	return c.revoke(ctx, shared{"model", modelLadder}, modelUserDoc{ID: modelUserID(model, user), Model: model, Access: level}, user)
}

// RevokeOffer revokes a level of access to an offer, given by its UUID; the user keeps the one below.
func (c *Controller) RevokeOffer(ctx context.Context, model, offer, user, level string) error {
	return c.revoke(ctx, shared{"offer", offerLadder}, modelUserDoc{ID: modelUserID(offer, user), Model: model, Access: level}, user)
}

// revoke changes the access with the document's id, to a model or to an offer of it.
func (c *Controller) revoke(ctx context.Context, s shared, doc modelUserDoc, user string) error {
	level := doc.Access
	if err := s.check(s.what, level); err != nil {
		return err
	}
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		target, err := c.userDocOf(ctx, user)
		if err != nil {
			return err
		}
		row, err := c.readyRow(ctx, doc.Model)
		if err != nil {
			return err
		}
		if row.ownedBy(target.ID) {
			return entity.WithHint(entity.Errorf(entity.InUse, "user %q owns model %q", target.Name, row.Name),
				"To keep the owner out: juju disable-user %s", target.Name)
		}
		has, err := c.accessBy(ctx, doc.ID)
		if err != nil {
			return err
		}
		left, err := s.revoked(target.Name, has, level)
		if err != nil && target.Access == AccessSuperuser {
			err = entity.WithHint(err, "Superusers have access to all models; to change that: juju revoke %s superuser",
				target.Name)
		}
		if err != nil {
			return err
		}
		seen := bson.D{{"access", has}}
		if left == "" {
			o.Remove(modelUsersC, doc.ID, seen)
		} else {
			o.Update(modelUsersC, doc.ID, seen, bson.D{{"$set", bson.D{{"access", left}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not revoke %s access: %w", s.what, err)
	}
	return nil
}

// Rights is a user's current access.
type Rights struct {
	Controller string
	Model      string // to the given model
	// Password changes whenever the user's password does, but does not reveal it.
	Password string
}

// Rights returns a user's access to the controller and to a model ("" for none). A user who is removed or disabled, or
// who has no password or no access to the controller, has none. It reads one to three documents by id.
func (c *Controller) Rights(ctx context.Context, user, model string) (Rights, error) {
	doc, err := c.userDocOf(ctx, user)
	if entity.IsNotFound(err) {
		return Rights{}, nil
	}
	if err != nil || !doc.stands() || doc.Access == "" {
		return Rights{}, err
	}
	rights := Rights{Controller: doc.Access, Password: secret.Stamp(doc.Password)}
	if model == "" {
		return rights, nil
	}
	if doc.Access == AccessSuperuser {
		rights.Model = AccessAdmin
		return rights, nil
	}
	if rights.Model, err = c.modelAccess(ctx, model, user); err != nil || rights.Model != "" {
		return rights, err
	}
	row, err := c.readyRow(ctx, model)
	if entity.IsNotFound(err) {
		return rights, nil
	}
	if row.ownedBy(doc.ID) {
		rights.Model = AccessAdmin
	}
	return rights, err
}

// OfferAccess returns a user's current access to an offer, given by its UUID; "" for none.
func (c *Controller) OfferAccess(ctx context.Context, user, model, offer string) (string, error) {
	rights, err := c.Rights(ctx, user, model)
	if err != nil || rights.Controller == "" || rights.Model == AccessAdmin {
		return rights.Model, err
	}
	return c.modelAccess(ctx, offer, user)
}

// MayConsume reports whether a level of access to an offer includes its consumption.
func MayConsume(access string) bool {
	return offerLadder.rank(access) >= offerLadder.rank(AccessConsume)
}

// MayConsume reports whether a user, given by a Principal, may currently consume an offer of a model, given by its UUID.
func (c *Controller) MayConsume(ctx context.Context, principal, model, offer string) (bool, error) {
	is, err := c.Principal(ctx, entity.UserOf(principal))
	if entity.IsNotFound(err) || err == nil && !strings.EqualFold(is, principal) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	access, err := c.OfferAccess(ctx, entity.UserOf(principal), model, offer)
	return MayConsume(access), err
}

// DropOffer revokes all access to an offer, which is being removed. Its UUID is never reused.
func (c *Controller) DropOffer(ctx context.Context, offer string) error {
	return c.drop(ctx, modelUsersC, bson.D{{"offer", offer}})
}

// WatchRights sends an event when a user's Rights for a model ("" for none) may have changed.
func (c *Controller) WatchRights(ctx context.Context, user, model string) <-chan struct{} {
	return watcher.Notify(ctx, c.hub, watcher.Doc(usersC, userID(user)),
		watcher.Doc(modelUsersC, modelUserID(model, user)))
}

// WatchUsers sends an event when the access of any user may have changed.
func (c *Controller) WatchUsers(ctx context.Context) <-chan struct{} {
	return watcher.Notify(ctx, c.hub, watcher.Collection(usersC), watcher.Collection(modelUsersC))
}

// GrantedOffers returns the UUIDs of the offers of a model that anyone was granted access to, of removed ones too.
func (c *Controller) GrantedOffers(ctx context.Context, model string) ([]string, error) {
	var docs []modelUserDoc
	if err := c.db.All(ctx, modelUsersC, bson.D{{"model", model}, {"offer", bson.D{{"$exists", true}}}}, &docs); err != nil {
		return nil, err
	}
	var all []string
	for _, d := range docs {
		all = append(all, d.Offer)
	}
	return slices.Compact(slices.Sorted(slices.Values(all))), nil
}

// A ModelUser is a user with access to a model.
type ModelUser struct {
	Name        string
	DisplayName string
	Access      string
	LastLogin   time.Time // to the model; zero if never
}

// ModelUsers returns a model's owner and the users who were granted access to it, by name. It does not
// include other superusers.
func (c *Controller) ModelUsers(ctx context.Context, model string) ([]ModelUser, error) {
	return c.usersOf(ctx, model, model, bson.D{{"model", model}, notOffer})
}

// OfferUsers returns the owner of an offer's model and the users who were granted access to the offer, by name.
func (c *Controller) OfferUsers(ctx context.Context, model, offer string) ([]ModelUser, error) {
	return c.usersOf(ctx, model, offer, bson.D{{"offer", offer}})
}

// notOffer matches access to models.
var notOffer = bson.DocElem{Name: "offer", Value: bson.D{{"$exists", false}}}

func (c *Controller) usersOf(ctx context.Context, model, of string, query bson.D) ([]ModelUser, error) {
	row, err := c.readyRow(ctx, model)
	if err != nil {
		return nil, err
	}
	var docs []modelUserDoc
	if err := c.db.All(ctx, modelUsersC, query, &docs); err != nil {
		return nil, err
	}
	if !row.Disowned {
		docs = append(docs, modelUserDoc{ID: modelUserID(of, row.Owner), User: userID(row.Owner), Access: AccessAdmin})
	}
	var ids, logins []string
	for _, d := range docs {
		ids, logins = append(ids, d.User), append(logins, d.ID)
	}
	var known []userDoc
	if err := c.db.All(ctx, usersC, bson.D{{"_id", bson.D{{"$in", ids}}}, {"removed", false}}, &known); err != nil {
		return nil, err
	}
	at, err := c.logins(ctx, logins)
	if err != nil {
		return nil, err
	}
	var users []ModelUser
	for _, d := range docs {
		if i := slices.IndexFunc(known, func(u userDoc) bool { return u.ID == d.User }); i >= 0 {
			users = append(users, ModelUser{known[i].Name, known[i].DisplayName, d.Access, at[d.ID]})
		}
	}
	slices.SortFunc(users, func(a, b ModelUser) int { return entity.CompareNatural(a.Name, b.Name) })
	return users, nil
}

// WatchModelsOf sends an event when the result of ModelsOf, that of Models, or who has access to one of them may have changed.
func (c *Controller) WatchModelsOf(ctx context.Context, user string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(modelsC), watcher.Collection(modelUsersC),
		watcher.Doc(usersC, userID(user))), nil
}

// ModelsOf returns the models that a user has access to, by name, and the level of each.
func (c *Controller) ModelsOf(ctx context.Context, user string) (rows []ModelRow, access []string, err error) {
	rights, err := c.Rights(ctx, user, "")
	if err != nil || rights.Controller == "" {
		return nil, nil, err
	}
	all, err := c.Models(ctx)
	if err != nil {
		return nil, nil, err
	}
	var docs []modelUserDoc
	if err := c.db.All(ctx, modelUsersC, bson.D{{"user", userID(user)}, notOffer}, &docs); err != nil {
		return nil, nil, err
	}
	granted := map[string]string{}
	for _, d := range docs {
		granted[d.Model] = d.Access
	}
	for _, row := range all {
		level := granted[row.UUID]
		if rights.Controller == AccessSuperuser || row.ownedBy(userID(user)) {
			level = AccessAdmin
		}
		if level != "" {
			rows, access = append(rows, row), append(access, level)
		}
	}
	return rows, access, nil
}

// dropModel removes the grants, access tokens and login times of a removed model. The model must be in a step in which no
// access to it can be granted. It is idempotent.
func (c *Controller) dropModel(ctx context.Context, model string) error {
	for _, collection := range []string{modelUsersC, tokensC} {
		if err := c.drop(ctx, collection, bson.D{{"model", model}}); err != nil {
			return err
		}
	}
	return c.db.Reading(ctx, loginsC, func(logins *mgo.Collection) error {
		// "$" comes right after "#".
		_, err := logins.RemoveAll(bson.D{{"_id", bson.D{{"$gte", modelUserID(model, "")}, {"$lt", model + "$"}}}})
		return err
	})
}

// dropBytes is how many bytes it takes to remove a document, or to set a field of it, without its id.
const dropBytes = 200

// drop removes all documents of a collection that match a query, in idempotent steps. The caller ensures that no new ones
// are added.
func (c *Controller) drop(ctx context.Context, collection string, query bson.D) error {
	return c.inSteps(ctx, collection, query, func(o *mongo.Ops, id string) { o.Remove(collection, id, txn.DocExists) })
}

// inSteps changes all documents of a collection that match a query, by their ids, in transactions of a limited size.
func (c *Controller) inSteps(ctx context.Context, collection string, query bson.D,
	change func(o *mongo.Ops, id string)) error {
	for done := false; !done; {
		err := c.db.Change(ctx, func(o *mongo.Ops) error {
			var docs []struct {
				ID string `bson:"_id"`
			}
			if err := c.db.All(ctx, collection, query, &docs); err != nil {
				return err
			}
			done = false
			bytes := 0
			for _, d := range docs {
				if bytes += dropBytes + len(d.ID); bytes > mongo.MaxBatch {
					return nil
				}
				change(o, d.ID)
			}
			done = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
