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

// known classifies errors that cross the wire protocol only as codes and texts: a damaged file becomes
// entity.Damaged, and a full disk becomes an error that entity.IsDiskFull recognises.
func known(err error) error {
	var query *mgo.QueryError
	var last *mgo.LastError
	what := ""
	switch {
	case errors.As(err, &query) && query.Code == damageCode:
		what = query.Message
	case errors.As(err, &last) && last.Code == damageCode:
		what = last.Err
	case err != nil && !entity.IsDiskFull(err) && strings.Contains(err.Error(), syscall.ENOSPC.Error()):
		return diskFull{err}
	default:
		return err
	}
	return entity.WithHint(entity.Errorf(entity.Damaged, "%s", what),
		"Its content is lost: restore the controller from a backup, and check its disk.")
}

// A diskFull wraps the store's error for a full disk, so that entity.IsDiskFull recognises it.
type diskFull struct{ error }

// Unwrap adds syscall.ENOSPC to the error's chain.
func (e diskFull) Unwrap() []error { return []error{e.error, syscall.ENOSPC} }

// cannotOpen adds a hint to the error of a damaged store.
func cannotOpen(err error, dir string) error {
	if !errors.Is(err, embedded.ErrDamaged) {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.Damaged, "%w", err), "Restore it from a backup, and check its disk. "+
		"If a .log is damaged, the store can be opened without the writes after the damage: "+
		"jujud mongod --repair --dbpath %s", dir)
}
