package controller

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A sessionDoc is a user's session in a browser, or the log-in with which one begins. Of its text only a hash is stored.
type sessionDoc struct {
	ID      string    `bson:"_id"` // random
	Hash    string    `bson:"hash"`
	User    string    `bson:"user"`            // a userID
	Login   bool      `bson:"login,omitempty"` // it is a log-in
	Stamp   string    `bson:"stamp"`           // of the user's password when the log-in was made
	Created time.Time `bson:"created"`
	Expires time.Time `bson:"expires"`
}

const (
	// MaxSessions is the maximum number of sessions and log-ins of a user. Another one takes the place of the oldest.
	MaxSessions = 20
	// LoginAge is the time in which a session must begin with a log-in.
	LoginAge = 10 * time.Minute
	// SessionAge is the time after which a session ends, whatever its user does.
	SessionAge = 12 * time.Hour

	loginPrefix   = "jujulogin_"
	sessionPrefix = "jujusession_"
)

// A Session lets who has its text act as a user.
type Session struct {
	ID      string
	User    string
	Expires time.Time
}

// IsSession reports whether text may be that of a session; a password that looks like one is taken for it.
func IsSession(text string) bool { return strings.HasPrefix(text, sessionPrefix) }

func newSession(prefix, user, stamp string, now time.Time, age time.Duration) (text string, doc sessionDoc) {
	now = now.Truncate(time.Millisecond) // as it is read
	key, _ := newKey()
	text = prefix + base64.RawURLEncoding.EncodeToString(key)
	return text, sessionDoc{ID: uuid.NewString(), Hash: secret.HashRandom(text), User: user, Login: prefix == loginPrefix, Stamp: stamp, Created: now,
		Expires: now.Add(age)}
}

// CreateLogin makes a log-in for a user, with which one session can begin.
func (c *Controller) CreateLogin(ctx context.Context, user string) (text string, expires time.Time, err error) {
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		u, err := c.userDocOf(ctx, user)
		if err != nil {
			return err
		}
		if !u.stands() {
			return entity.Errorf(entity.Unauthorized, "the user is disabled")
		}
		var doc sessionDoc
		text, doc = newSession(loginPrefix, u.ID, secret.Stamp(u.Password), c.now(), LoginAge)
		expires = doc.Expires
		return c.addSession(ctx, o, u, doc)
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("cannot create a log-in: %w", err)
	}
	return text, expires, nil
}

// addSession also removes the user's sessions that have expired, and the oldest if there are too many.
func (c *Controller) addSession(ctx context.Context, o *mongo.Ops, u userDoc, doc sessionDoc) error {
	var all []sessionDoc
	if err := c.db.All(ctx, sessionsC, bson.D{{"user", u.ID}}, &all); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b sessionDoc) int { return b.Created.Compare(a.Created) })
	kept := 1
	for _, old := range all {
		if !doc.Created.Before(old.Expires) || kept >= MaxSessions {
			o.Remove(sessionsC, old.ID, txn.DocExists)
			continue
		}
		kept++
	}
	o.Update(usersC, u.ID, append(u.facts(), mongo.Unadvanced("sessions", u.Sessions)...), bson.D{{"$inc", bson.D{{"sessions", 1}}}})
	o.Insert(sessionsC, doc.ID, doc)
	return nil
}

// BeginSession begins a session with a log-in, which no other can begin with then, and returns its text. The error is
// Unauthorized if the log-in is not valid.
func (c *Controller) BeginSession(ctx context.Context, login string) (text string, s Session, err error) {
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		was, u, err := c.sessionWith(ctx, login, true)
		if err != nil {
			return err
		}
		var doc sessionDoc
		text, doc = newSession(sessionPrefix, was.User, was.Stamp, c.now(), SessionAge)
		s = Session{doc.ID, u.Name, doc.Expires}
		o.Remove(sessionsC, was.ID, txn.DocExists)
		o.Update(usersC, u.ID, u.facts(), bson.D{{"$inc", bson.D{{"sessions", 1}}}})
		o.Insert(sessionsC, doc.ID, doc)
		return nil
	})
	return text, s, err
}

// sessionWith reads a session or log-in by its text.
func (c *Controller) sessionWith(ctx context.Context, text string, login bool) (doc sessionDoc, u userDoc, err error) {
	invalid := entity.Errorf(entity.Unauthorized, "the session has ended")
	if login {
		invalid = entity.Errorf(entity.Unauthorized, "this log-in has been used, or has expired")
	}
	var docs []sessionDoc
	if err := c.db.All(ctx, sessionsC, bson.D{{"hash", secret.HashRandom(text)}}, &docs); err != nil {
		return doc, u, err
	}
	if len(docs) == 0 || docs[0].Login != login || !c.now().Before(docs[0].Expires) {
		return doc, u, invalid
	}
	u, err = c.userDocOf(ctx, docs[0].User)
	if errors.Is(err, entity.NotFound) || err == nil && (!u.stands() || secret.Stamp(u.Password) != docs[0].Stamp) {
		err = invalid
	}
	return docs[0], u, err
}

// CheckSession returns the session with a text. The error is Unauthorized if there is none, or it has ended: as it does
// when its user is disabled, or gets another password.
func (c *Controller) CheckSession(ctx context.Context, text string) (Session, error) {
	doc, u, err := c.sessionWith(ctx, text, false)
	if err != nil {
		return Session{}, err
	}
	return Session{doc.ID, u.Name, doc.Expires}, nil
}

// EndSession ends a session. It does nothing if that has ended.
func (c *Controller) EndSession(ctx context.Context, id string) error {
	return c.drop(ctx, sessionsC, bson.D{{"_id", id}})
}

// WatchSession sends an event when a session may have ended, or its user's Rights for a model ("" for none) may have
// changed.
func (c *Controller) WatchSession(ctx context.Context, s Session, model string) <-chan struct{} {
	docs := []watcher.Topic{watcher.Doc(sessionsC, s.ID), watcher.Doc(usersC, userID(s.User))}
	if model != "" {
		docs = append(docs, watcher.Doc(modelUsersC, modelUserID(model, s.User)))
	}
	return watcher.Notify(ctx, c.hub, docs...)
}
