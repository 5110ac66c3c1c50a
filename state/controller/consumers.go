package controller

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"gopkg.in/macaroon.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A Consumer is a model of another controller that uses an offer of one of this controller's models.
type Consumer struct {
	ID    string // of the token, a UUID
	User  string // of this controller, who got the token: a Principal
	Model string // the UUID of the model that has the offer
	Offer string // its UUID
}

// The caveats of a token. There are no others.
const (
	caveatUser  = "user "
	caveatModel = "model "
	caveatOffer = "offer "
)

// tokenKeyLength is the number of random bytes in the key that signs tokens.
const tokenKeyLength = 32

// tokenSize limits the length of a token in bytes.
const tokenSize = 2 << 10

// NewConsumer returns a token with which another controller consumes an offer in the name of a user: a macaroon in JSON. It
// is no grant: the user's access to the offer counts whenever it is used.
func (c *Controller) NewConsumer(ctx context.Context, user, model, offer string) (token string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("cannot make a token for offer %s: %w", offer, err)
	}
	key, principal, err := c.makeTokenKey(ctx, user)
	if err != nil {
		return fail(err)
	}
	m, err := macaroon.New(key, []byte(uuid.NewString()), c.UUID(), macaroon.V1)
	if err != nil {
		return fail(err)
	}
	for _, caveat := range []string{caveatUser + principal, caveatModel + model, caveatOffer + offer} {
		if err := m.AddFirstPartyCaveat([]byte(caveat)); err != nil {
			return fail(err)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fail(err)
	}
	return string(text), nil
}

// TokenID returns the id of a token, which it does not verify. The error is Invalid.
func TokenID(token string) (string, error) {
	m, err := readToken(token)
	if err != nil {
		return "", err
	}
	return string(m.Id()), nil
}

func readToken(token string) (*macaroon.Macaroon, error) {
	var m macaroon.Macaroon
	if len(token) > tokenSize || json.Unmarshal([]byte(token), &m) != nil || !entity.IsValidUUID(string(m.Id())) {
		return nil, entity.Errorf(entity.Invalid, "the token of the offer is not valid")
	}
	return &m, nil
}

// CheckConsumer verifies a token. The error is Unauthorized if this controller has not made it.
func (c *Controller) CheckConsumer(ctx context.Context, token string) (Consumer, error) {
	refused := entity.Errorf(entity.Unauthorized, "the token of the offer is not of this controller")
	m, err := readToken(token)
	if err != nil {
		return Consumer{}, refused
	}
	key, err := c.tokenKey(ctx)
	if err != nil {
		return Consumer{}, err
	}
	if len(key) == 0 {
		return Consumer{}, refused
	}
	who := Consumer{ID: string(m.Id())}
	err = m.Verify(key, func(caveat string) error {
		// Whoever holds a token can add caveats, but a second one of a kind does not replace the first.
		for prefix, field := range map[string]*string{caveatUser: &who.User, caveatModel: &who.Model, caveatOffer: &who.Offer} {
			if value, ok := strings.CutPrefix(caveat, prefix); ok && *field == "" && value != "" {
				*field = value
				return nil
			}
		}
		return refused
	}, nil)
	if err != nil || who.User == "" || who.Model == "" || who.Offer == "" {
		return Consumer{}, refused
	}
	return who, nil
}

// WatchConsumer sends an event when whether a consumer's user may consume the offer may have changed.
func (c *Controller) WatchConsumer(ctx context.Context, who Consumer) <-chan struct{} {
	user := entity.UserOf(who.User)
	return watcher.Notify(ctx, c.hub, watcher.Doc(usersC, userID(user)),
		watcher.Doc(modelUsersC, modelUserID(who.Model, user)),
		watcher.Doc(modelUsersC, modelUserID(who.Offer, user)))
}

// tokenKey returns the key that signs tokens; nil if there is none yet.
func (c *Controller) tokenKey(ctx context.Context) ([]byte, error) {
	var doc controllerDoc
	if err := c.db.Get(ctx, controllerC, controllerC, &doc, "controller"); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(doc.TokenKey)
}

// makeTokenKey makes the key that signs tokens, for a user who has not been removed, unless there is one. It returns the user's
// principal too.
func (c *Controller) makeTokenKey(ctx context.Context, user string) (key []byte, principal string, err error) {
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		doc, err := c.userDocOf(ctx, user)
		if err != nil {
			return err
		}
		principal = entity.PrincipalOf(doc.Name, doc.Generation)
		if key, err = c.tokenKey(ctx); err != nil {
			return err
		}
		if len(key) > 0 {
			return mongo.ErrNothing
		}
		key = make([]byte, tokenKeyLength)
		rand.Read(key) // never fails
		text := base64.StdEncoding.EncodeToString(key)
		o.Assert(usersC, doc.ID, bson.D{{"removed", false}})
		o.Update(controllerC, controllerC, bson.D{{"password", bson.D{{"$exists", false}}}}, bson.D{{"$set", bson.D{{"password", text}}}})
		return nil
	})
	return key, principal, err
}
