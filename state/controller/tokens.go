package controller

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A tokenDoc is an access token. It is read by its hash, and named by its user and name.
type tokenDoc struct {
	ID      string    `bson:"_id"`  // see accessTokenID
	Hash    string    `bson:"hash"` // of the text
	User    string    `bson:"user"` // a userID
	Name    string    `bson:"name"`
	Model   string    `bson:"model"`
	Created time.Time `bson:"created"`
	Expires time.Time `bson:"expires"`
}

func accessTokenID(user, name string) string { return userID(user) + "#" + name }

const (
	// MaxTokens is the maximum number of tokens of a user that have not expired.
	MaxTokens = 100
	// MaxTokenAge is the maximum time from the creation of a token until it expires.
	MaxTokenAge = 5 * 365 * 24 * time.Hour
	// tokenPrefix begins the text of each token, so that programs that look for secrets recognise it.
	tokenPrefix = "jujutoken_"
)

// CreateToken creates a token for a model, which expires after age, and returns its text. Only a hash of that is stored.
// The error is Invalid for a bad name or age, AlreadyExists for a name in use, NotFound for a model that does not exist,
// and InUse if the user has MaxTokens tokens.
func (c *Controller) CreateToken(ctx context.Context, user, name, model string,
	age time.Duration) (text string, token entity.AccessToken, err error) {
	key, _ := newKey()
	text = tokenPrefix + base64.RawURLEncoding.EncodeToString(key)
	now := c.now()
	doc := tokenDoc{accessTokenID(user, name), secret.HashRandom(text), userID(user), name, model, now, now.Add(age)}
	switch {
	case !entity.IsValidToken(name):
		err = entity.InvalidToken(name)
	case age <= 0 || age > MaxTokenAge:
		err = entity.Errorf(entity.Invalid, "it must expire after more than 0s and at most %v, not after %v", MaxTokenAge,
			age)
	default:
		err = c.db.Change(ctx, func(o *mongo.Ops) error { return c.addToken(ctx, o, doc) })
	}
	if err != nil {
		return "", entity.AccessToken{}, fmt.Errorf("cannot create token %q: %w", name, err)
	}
	return text, doc.token(), nil
}

// addToken also removes the user's tokens that have expired.
func (c *Controller) addToken(ctx context.Context, o *mongo.Ops, doc tokenDoc) error {
	if _, err := c.readyRow(ctx, doc.Model); err != nil {
		return err
	}
	user, err := c.userDocOf(ctx, doc.User)
	if err != nil {
		return err
	}
	var all []tokenDoc
	if err := c.db.All(ctx, tokensC, bson.D{{"user", doc.User}}, &all); err != nil {
		return err
	}
	valid := 0
	for _, old := range all {
		switch {
		case !doc.Created.Before(old.Expires):
			if old.ID != doc.ID {
				o.Remove(tokensC, old.ID, txn.DocExists)
			}
		case old.ID == doc.ID:
			return entity.WithHint(entity.Errorf(entity.AlreadyExists, "you have a token with this name"),
				"To revoke it: juju revoke-token %s", doc.Name)
		default:
			valid++
		}
	}
	if valid >= MaxTokens {
		return entity.WithHint(entity.Errorf(entity.InUse, "a user can have %d tokens", MaxTokens),
			"To list yours: juju tokens; to revoke one: juju revoke-token NAME")
	}
	o.Assert(modelsC, doc.Model, bson.D{{"step", stepReady}})
	o.Update(usersC, user.ID, append(user.facts(), mongo.Unadvanced("tokens", user.Tokens)...), bson.D{{"$inc", bson.D{{"tokens", 1}}}})
	if slices.ContainsFunc(all, func(old tokenDoc) bool { return old.ID == doc.ID }) {
		o.Update(tokensC, doc.ID, txn.DocExists, bson.D{{"$set", bson.D{{"hash", doc.Hash}, {"model", doc.Model}, {"created", doc.Created},
			{"expires", doc.Expires}}}})
	} else {
		o.Insert(tokensC, doc.ID, doc)
	}
	return nil
}

func (d tokenDoc) token() entity.AccessToken {
	return entity.AccessToken{User: d.User, Name: d.Name, ModelUUID: d.Model, Created: d.Created, Expires: d.Expires}
}

// Tokens returns the tokens of a user, by name, also expired ones.
func (c *Controller) Tokens(ctx context.Context, user string) ([]entity.AccessToken, error) {
	var docs []tokenDoc
	if err := c.db.All(ctx, tokensC, bson.D{{"user", userID(user)}}, &docs); err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b tokenDoc) int { return entity.CompareNatural(a.Name, b.Name) })
	rows, err := c.Models(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, row := range rows {
		names[row.UUID] = row.Owner + "/" + row.Name
	}
	all := make([]entity.AccessToken, len(docs))
	for i, d := range docs {
		all[i] = d.token()
		all[i].Model = names[d.Model]
	}
	return all, nil
}

// RevokeToken removes a token of a user. The error is NotFound if there is none with this name.
func (c *Controller) RevokeToken(ctx context.Context, user, name string) error {
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		var doc tokenDoc
		if err := c.db.Get(ctx, tokensC, accessTokenID(user, name), &doc, fmt.Sprintf("token %q", name)); err != nil {
			return err
		}
		o.Remove(tokensC, doc.ID, txn.DocExists)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot revoke token %q: %w", name, err)
	}
	return nil
}

// CheckToken returns the token with a text. The error is Unauthorized if there is none, or it has expired. It does not say
// whether the token's user still may read the model.
func (c *Controller) CheckToken(ctx context.Context, text string) (entity.AccessToken, error) {
	var docs []tokenDoc
	if err := c.db.All(ctx, tokensC, bson.D{{"hash", secret.HashRandom(text)}}, &docs); err != nil {
		return entity.AccessToken{}, err
	}
	if len(docs) == 0 {
		return entity.AccessToken{}, entity.Errorf(entity.Unauthorized, "the token is not valid")
	}
	token := docs[0].token()
	if !c.now().Before(token.Expires) {
		return token, entity.Errorf(entity.Unauthorized, "the token has expired")
	}
	return token, nil
}

// WatchToken sends an event when a token may have been revoked, or its user's Rights for its model may have changed.
func (c *Controller) WatchToken(ctx context.Context, t entity.AccessToken) <-chan struct{} {
	return watcher.Notify(ctx, c.hub, watcher.Doc(tokensC, accessTokenID(t.User, t.Name)), watcher.Doc(usersC, userID(t.User)),
		watcher.Doc(modelUsersC, modelUserID(t.ModelUUID, t.User)))
}
