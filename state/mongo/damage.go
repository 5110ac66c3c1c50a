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

// known gives their kinds to reports that cross the store's protocol as codes and texts: of a
// damaged file the kind entity.Damaged, and of a full disk what entity.IsDiskFull recognises.
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
		"What was in it can't be read any more: restore the controller from a backup, and look after its disk.")
}

// A diskFull is the store's report that its disk is full.
type diskFull struct{ error }

// Unwrap makes it syscall.ENOSPC too.
func (e diskFull) Unwrap() []error { return []error{e.error, syscall.ENOSPC} }

// cannotOpen adds a hint to the error of a store that is damaged.
func cannotOpen(err error, dir string) error {
	if !errors.Is(err, embedded.ErrDamaged) {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.Damaged, "%w", err), "Restore it from a backup, and look after its disk. "+
		"If a .log is damaged, the store can be opened without what was written from there on: jujud mongod --repair --dbpath %s", dir)
}
