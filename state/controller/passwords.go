package controller

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/secret"
)

// keyLength is the number of random bytes in a registration key.
const keyLength = 32

// newKey returns a key, and its hash to store.
func newKey() (key []byte, hash string) {
	key = make([]byte, keyLength)
	rand.Read(key) // never fails
	return key, secret.HashRandom(string(key))
}

// SetUserPassword sets a user's password, and invalidates the registration key if it is unused. It returns the new value
// of Rights.Password.
func (c *Controller) SetUserPassword(ctx context.Context, name, password string) (stamp string, err error) {
	hash, err := c.hashUserPassword(password)
	if err != nil {
		return "", err
	}
	err = c.changeUser(ctx, name, func(userDoc) (bson.D, error) { return bson.D{{"password", hash}, {"hash", ""}}, nil })
	if err != nil {
		return "", fmt.Errorf("failed to set password: %w", err)
	}
	return secret.Stamp(hash), nil
}

// ResetUserPassword invalidates a user's password, which closes the user's connections, and returns a registration key
// as AddUser does.
func (c *Controller) ResetUserPassword(ctx context.Context, name string) (key []byte, err error) {
	key, hash := newKey()
	err = c.changeUser(ctx, name, func(d userDoc) (bson.D, error) {
		if d.Disabled {
			return nil, entity.WithHint(entity.Errorf(entity.NotAlive, "user deactivated"),
				"Enable the user first: juju enable-user %s", name)
		}
		return bson.D{{"password", ""}, {"hash", hash}}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("failed to reset password of user %q: %w", name, err)
	}
	return key, nil
}

// RegisterUser sets the password of a user who has the registration key, and invalidates the key. The error is the same
// for every failure.
func (c *Controller) RegisterUser(ctx context.Context, name string, key []byte, password string) error {
	shown := secret.HashRandom(string(key))
	check := func(d userDoc, err error) error {
		if entity.IsNotFound(err) || err == nil && (d.Disabled ||
			subtle.ConstantTimeCompare([]byte(d.Key), []byte(shown)) != 1) {
			return secret.Refused()
		}
		return err
	}
	// Check before the slow hash, so that unauthenticated clients can't load the controller.
	if err := check(c.userDocOf(ctx, name)); err != nil {
		return err
	}
	hash, err := c.hashUserPassword(password)
	if err != nil {
		return err
	}
	err = c.changeUser(ctx, name, func(d userDoc) (bson.D, error) {
		return bson.D{{"password", hash}, {"hash", ""}}, check(d, nil)
	})
	return check(userDoc{Key: shown}, err)
}

// CheckUser returns the user if they can log in and the password is correct.
func (c *Controller) CheckUser(ctx context.Context, name, password string) (User, error) {
	doc, err := c.userDocOf(ctx, name)
	if err != nil && !entity.IsNotFound(err) {
		return User{}, err
	}
	if err != nil || !doc.stands() {
		// Take as long as for an existing user, so that timing doesn't reveal whether the user exists.
		c.hasher.Pretend(password)
		return User{}, secret.Refused()
	}
	if !secret.Matches(doc.Password, password) {
		return User{}, secret.Refused()
	}
	c.known.Remember(doc.ID, doc.Password, password)
	return doc.user(), nil
}

// CheckKnownUser is CheckUser without the slow hash, for a password that was verified
// recently. If ok is false, the caller must use CheckUser.
func (c *Controller) CheckKnownUser(ctx context.Context, name, password string) (user User, ok bool, err error) {
	doc, err := c.userDocOf(ctx, name)
	if entity.IsNotFound(err) || err == nil && !doc.stands() {
		return User{}, false, nil
	}
	if err != nil || !c.known.Matches(doc.ID, doc.Password, password) {
		return User{}, false, err
	}
	return doc.user(), true, nil
}

func (c *Controller) hashUserPassword(password string) (string, error) {
	if password == "" {
		return "", entity.Errorf(entity.Invalid, "cannot use an empty password")
	}
	hash, err := c.hasher.Hash(password)
	if err != nil {
		return "", entity.Errorf(entity.Invalid, "cannot use this password: %w", err)
	}
	return hash, nil
}
