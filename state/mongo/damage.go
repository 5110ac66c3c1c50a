package mongo

import (
	"errors"
	"strings"
	"syscall"

	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
	"juju/state/mongo/embedded"
)

// damageCode is MongoDB's DataCorruptionDetected.
const damageCode = 270

// Damage returns the store's report of a damaged file, as an error of kind entity.Damaged, if err
// wraps one, and nil otherwise.
func Damage(err error) error {
	var query *mgo.QueryError
	var last *mgo.LastError
	what := ""
	switch {
	case errors.As(err, &query) && query.Code == damageCode:
		what = query.Message
	case errors.As(err, &last) && last.Code == damageCode:
		what = last.Err
	default:
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Damaged, "%s", what),
		"What was in it can't be read any more: restore the controller from a backup, and look after its disk.")
}

// IsDiskFull reports whether err says that a disk is full: this process's, or the store's, whose
// errors cross its protocol as text.
func IsDiskFull(err error) bool {
	return entity.IsDiskFull(err) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

// cannotOpen adds a hint to the error of a store that is damaged.
func cannotOpen(err error, dir string) error {
	if !errors.Is(err, embedded.ErrDamaged) {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.Damaged, "%w", err), "Restore it from a backup, and look after its disk. "+
		"If a .log is damaged, the store can be opened without what was written from there on: jujud mongod --repair --dbpath %s", dir)
}
