package mongoerr_test

import (
	"errors"
	"fmt"
	"testing"

	"juju/state/mongo/embedded/mongoerr"
)

// Clients are told MongoDB's names of codes, and decide by them and by the numbers.
func TestCodes(t *testing.T) {
	for code, want := range map[mongoerr.Code]string{mongoerr.DuplicateKey: "DuplicateKey", mongoerr.InvalidIDField: "InvalidIdField", mongoerr.MaxTimeMSExpired: "ExceededTimeLimit",
		mongoerr.MemoryLimit: "QueryExceededMemoryLimitNoDiskUseAllowed", mongoerr.KeyTooLong: "Location17280", mongoerr.UnknownField: "Location40415", 12345: "Location12345"} {
		if got := code.String(); got != want {
			t.Errorf("%d is %s, want %s", code, got, want)
		}
	}
	for code, want := range map[mongoerr.Code]int{mongoerr.WriteConflict: 112, mongoerr.NoSuchTransaction: 251, mongoerr.DuplicateKey: 11000, mongoerr.CursorNotFound: 43,
		mongoerr.NamespaceNotFound: 26, mongoerr.CommandNotFound: 59, mongoerr.LockTimeout: 24, mongoerr.SnapshotUnavailable: 246, mongoerr.InternalError: 1} {
		if int(code) != want {
			t.Errorf("%s is %d, want %d", code, code, want)
		}
	}
}

// An error keeps its code when it is wrapped; others are internal.
func TestErrors(t *testing.T) {
	err := mongoerr.New(mongoerr.BadValue, "%q is bad", "x")
	wrapped := fmt.Errorf("cannot insert: %w", err)
	if err.Error() != `"x" is bad` || mongoerr.From(wrapped) != err || !mongoerr.Is(wrapped, mongoerr.BadValue) || mongoerr.Is(wrapped, mongoerr.TypeMismatch) {
		t.Errorf("%v, %v", err, mongoerr.From(wrapped))
	}
	plain := errors.New("disk full")
	if got := mongoerr.From(plain); got.Code != mongoerr.InternalError || got.Message != "disk full" {
		t.Errorf("%+v", got)
	}
	if mongoerr.Is(plain, mongoerr.InternalError) || mongoerr.Is(nil, mongoerr.BadValue) {
		t.Error("an error without a code has one")
	}
	transient := map[mongoerr.Code]bool{mongoerr.WriteConflict: true, mongoerr.SnapshotUnavailable: true, mongoerr.LockTimeout: true, mongoerr.NoSuchTransaction: true}
	for code := range mongoerr.Code(300) {
		if got := mongoerr.IsTransient(fmt.Errorf("x: %w", mongoerr.New(code, "y"))); got != transient[code] {
			t.Errorf("%s is transient: %v", code, got)
		}
	}
	if mongoerr.IsTransient(plain) || mongoerr.IsTransient(nil) {
		t.Error("a transaction may run again, although nobody knows what has happened")
	}
}
