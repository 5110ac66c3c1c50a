package outage

import (
	"errors"
	"strings"
	"syscall"

	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
)

// damageCode is MongoDB's DataCorruptionDetected.
const damageCode = 270

// Classify gives a kind to errors that cross the wire protocol only as codes and texts: a damaged file becomes
// entity.Damaged, and a full disk becomes an error that entity.IsDiskFull recognises.
func Classify(err error) error {
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
