package mongo

import (
	"context"
	"testing"
	"testing/synctest"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

func write(ids ...string) (ops []txn.Op) {
	for _, id := range ids {
		ops = append(ops, txn.Op{C: "c", Id: id, Update: bson.D{}})
	}
	return ops
}

func read(ids ...string) (ops []txn.Op) {
	for _, id := range ids {
		ops = append(ops, txn.Op{C: "c", Id: id, Assert: txn.DocExists})
	}
	return ops
}

// In each case the first transaction has locked its documents, and the second wants to lock its
// own.
func TestConflictingTransactionsAreSerialised(t *testing.T) {
	for _, c := range []struct {
		says          string
		first, second []txn.Op
		waits         bool
		exclusive     bool // the server's transactions are used
	}{
		{"two that change one document", write("a"), write("a"), true, false},
		{"one that asserts what another changes", write("a"), read("a"), true, false},
		{"one that changes what another asserts", read("a"), write("a"), true, false},
		{"two that only assert", read("a"), read("a"), false, false},
		{"two that only assert, in transactions of the server", read("a"), read("a"), true, true},
		{"different documents", write("a", "b"), write("c", "d"), false, false},
		{"one document of many", write("a", "b", "c"), write("x", "c"), true, false},
		{"an assert and a change of one document are a change", append(read("a"), write("a")...), read("a"), true, false},
		{"one id in two collections", write("a"), []txn.Op{{C: "other", Id: "a", Update: bson.D{}}}, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &docLocks{exclusive: c.exclusive}
			held, err := l.acquire(t.Context(), c.first)
			if err != nil {
				t.Fatal(err)
			}
			got := false
			done := make(chan struct{})
			go func() {
				defer close(done)
				held, err := l.acquire(t.Context(), c.second)
				if err != nil {
					t.Error(err)
					return
				}
				got = true
				held.release()
			}()
			synctest.Wait()
			if got == c.waits {
				t.Errorf("%s: waited is %v, want %v", c.says, !got, c.waits)
			}
			held.release()
			<-done
			if len(l.docs) != 0 {
				t.Errorf("%s: %d locks are left", c.says, len(l.docs))
			}
		})
	}
}

// Two callers that name the same documents in different orders don't deadlock, and a caller that
// gives up leaves nothing locked.
func TestOppositeOrdersDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &docLocks{}
		done := make(chan struct{})
		for _, ops := range [][]txn.Op{write("a", "b", "c"), write("c", "b", "a"), write("b", "a"), read("c", "a")} {
			go func() {
				for range 50 {
					held, err := l.acquire(t.Context(), ops)
					if err != nil {
						t.Error(err)
						break
					}
					held.release()
				}
				done <- struct{}{}
			}()
		}
		for range 4 {
			<-done
		}
		held, err := l.acquire(t.Context(), write("b"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := l.acquire(ctx, write("a", "b")); err != context.Canceled {
			t.Errorf("the caller that gave up got %v", err)
		}
		held.release()
		held, err = l.acquire(t.Context(), write("a", "b"))
		if err != nil {
			t.Fatal(err)
		}
		held.release()
		if len(l.docs) != 0 {
			t.Errorf("%d locks are left", len(l.docs))
		}
	})
}
