package controller

import (
	"context"
	"errors"
	"path/filepath"

	"juju/state/entity"
	"juju/state/sealing"
)

// replaceSecretKey, in the configuration, asks for a new key, as the old one is lost.
const replaceSecretKey = "new"

// useSecretKey gives the store the key that seals the content of secrets. A controller of a version that had no secrets gets one, the
// same as the others that share its store, as it is derived from what they share: the key of their CA. If the secrets there are
// were sealed with another key, the controller goes on without, and its log says why: their content can't be read, and nothing
// else depends on it.
func (c *running) useSecretKey(ctx context.Context) error {
	replace := c.conf.SecretKey == replaceSecretKey
	var key *sealing.Key
	switch {
	case replace:
		key = sealing.New()
	case c.conf.SecretKey != "":
		var err error
		if key, err = sealing.Parse(c.conf.SecretKey); err != nil {
			c.lacksSecretKey(err.Error())
			return nil
		}
	default:
		key = sealing.Derive(c.conf.CA.Key, c.ctrl.UUID())
		if known := c.ctrl.SecretKeyID(); known != "" && known != key.ID() {
			c.lacksSecretKey("it has none, and another one is in use")
			return nil
		}
	}
	if text := key.Text(); text != c.conf.SecretKey {
		c.conf.SecretKey = text
		// It is written first: nothing is sealed with a key that could be lost.
		if err := c.conf.write(c.own); err != nil {
			return err
		}
	}
	err := c.ctrl.UseSecretKey(ctx, key, replace)
	if errors.Is(err, entity.Invalid) {
		c.lacksSecretKey(err.Error())
		return nil
	}
	return err
}

func (c *running) lacksSecretKey(why string) {
	logger.Errorf("cannot read or write secrets: the controller lacks the key %s: %s. "+
		"Put the value of secret-key from an encrypted backup's, or another controller's, controller.conf into %s, and restart the controller; "+
		"or, if it is lost for good, the value %q: then all secrets must be set again", c.ctrl.SecretKeyID(), why,
		filepath.Join(c.own, configName), replaceSecretKey)
}
