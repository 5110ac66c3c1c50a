package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := New(filepath.Join(t.TempDir(), "share", "juju"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func update(t *testing.T, s *Store, change func(*Contents)) {
	t.Helper()
	err := s.Update(t.Context(), func(c *Contents) error { change(c); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *Store) *Contents {
	t.Helper()
	c, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUpdateAndRead(t *testing.T) {
	s := open(t)
	if c := read(t, s); c.Current != "" || len(c.Controllers) != 0 {
		t.Errorf("a store that isn't there holds %+v", c)
	}
	want := &Contents{Current: "one", Controllers: map[string]*Controller{
		"one": {UUID: "u1", Addresses: []string{"127.0.0.1:1", "[::1]:2", " \n"}, CACert: "-----BEGIN\nx\n", Cloud: "local",
			User:     "admin",
			Password: "\n secret: #1 \u2028", Models: map[string]string{"admin/default": "m1", "eve/x": "m2"}, Model: "admin/default",
			Version: "3.6.9", Release: "1.2.3", Access: "superuser", Nodes: 3, Up: 2},
		"two": {UUID: "u2", Addresses: []string{}, Cloud: "local", User: "bob", Models: map[string]string{}},
	}}
	update(t, s, func(c *Contents) { *c = *want })
	if diff := cmp.Diff(want, read(t, s)); diff != "" {
		t.Errorf("read (+) what was not written (-):\n%s", diff)
	}
	// Only the owner can read the files, and only one holds passwords.
	for _, name := range []string{controllersName, accountsName, modelsName} {
		path := filepath.Join(s.Dir(), name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), "secret") != (name == accountsName) {
			t.Errorf("%s (%v):\n%s", name, err, text)
		}
	}
}

// Forgetting the last controller removes the directory, unless it has other files.
func TestEmptyStoreIsRemoved(t *testing.T) {
	s := open(t)
	add := func(c *Contents) { c.Controllers["one"], c.Current = &Controller{UUID: "u"}, "one" }
	remove := func(c *Contents) { delete(c.Controllers, "one") }
	update(t, s, add)
	update(t, s, remove)
	if _, err := os.Stat(s.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	update(t, s, add)
	other := filepath.Join(s.Dir(), "notes")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	update(t, s, remove)
	entries, err := os.ReadDir(s.Dir())
	if err != nil || len(entries) != 1 || entries[0].Name() != "notes" {
		t.Errorf("left are %v, %v", entries, err)
	}
	update(t, s, add)
	if c := read(t, s); c.Current != "one" {
		t.Errorf("selected is %q", c.Current)
	}
	update(t, s, remove)
	if c := read(t, s); c.Current != "" {
		t.Errorf("selected is %q, which is gone", c.Current)
	}
}

func TestFailedChangeChangesNothing(t *testing.T) {
	s := open(t)
	failure := errors.New("no")
	err := s.Update(t.Context(), func(*Contents) error { return failure })
	if _, staterr := os.Stat(s.Dir()); !errors.Is(err, failure) || !errors.Is(staterr, fs.ErrNotExist) {
		t.Errorf("%v; the directory: %v", err, staterr)
	}
	update(t, s, func(c *Contents) { c.Controllers["one"] = &Controller{UUID: "u"} })
	err = s.Update(t.Context(), func(c *Contents) error {
		delete(c.Controllers, "one")
		return failure
	})
	if !errors.Is(err, failure) || len(read(t, s).Controllers) != 1 {
		t.Errorf("%v; %v is left", err, read(t, s).Controllers)
	}
}

// Concurrent commands lose none of each other's changes, even while the directory is removed
// and created.
func TestConcurrentChanges(t *testing.T) {
	s := open(t)
	const n = 8
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			name := fmt.Sprintf("c%d", i)
			for range 5 {
				if err := s.Update(t.Context(),
					func(c *Contents) error { c.Controllers[name] = &Controller{}; return nil }); err != nil {
					t.Error(err)
				}
				err := s.Update(t.Context(), func(c *Contents) error {
					if _, ok := c.Controllers[name]; !ok {
						return fmt.Errorf("%s was lost", name)
					}
					delete(c.Controllers, name)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(s.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

func TestLockDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if _, err := LockDir(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked what isn't there: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := LockDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := LockDir(given, dir); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	// Waiting for the lock of a directory that is removed fails.
	waited := make(chan error)
	go func() {
		_, err := LockDir(t.Context(), dir)
		waited <- err
	}()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-waited; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked what was removed: %v", err)
	}
}

func TestController(t *testing.T) {
	none := &Contents{}
	if _, _, err := none.Controller(""); err == nil || err.Error() != "no controllers registered" ||
		!strings.Contains(entity.Hint(err), "juju bootstrap") {
		t.Errorf("%v (%s)", err, entity.Hint(err))
	}
	c := &Contents{Controllers: map[string]*Controller{"a": {}, "b": {}}}
	if _, _, err := c.Controller(""); !errors.Is(err, entity.NotFound) || !strings.Contains(entity.Hint(err), "a, b") {
		t.Errorf("%v (%s)", err, entity.Hint(err))
	}
	if _, _, err := c.Controller("x"); err == nil || err.Error() != `controller "x" not found` {
		t.Errorf("%v", err)
	}
	c.Current = "b"
	if name, ctrl, err := c.Controller(""); err != nil || name != "b" || ctrl != c.Controllers["b"] {
		t.Errorf("%q, %v", name, err)
	}
}

func TestDefaultDir(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"JUJU_DATA": "/d", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/d"},
		{map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/juju"},
		{map[string]string{"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/juju"},
		{map[string]string{"HOME": "/h"}, "/h/.local/share/juju"},
		{nil, ""},
	} {
		got, err := DefaultDir(func(key string) string { return test.env[key] })
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%v: %q, %v", test.env, got, err)
		}
	}
}

func TestBadFile(t *testing.T) {
	s := open(t)
	update(t, s, func(c *Contents) { c.Controllers["one"] = &Controller{} })
	if err := os.WriteFile(filepath.Join(s.Dir(), modelsName), []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); err == nil || !strings.Contains(err.Error(), modelsName) || !strings.HasPrefix(entity.Hint(err), "Correct the file") {
		t.Errorf("%v", err)
	}
	denied := Unreadable("f", &fs.PathError{Op: "open", Path: "f", Err: fs.ErrPermission})
	if hint := entity.Hint(denied); !strings.HasPrefix(hint, "The file is another user's") {
		t.Errorf("of a file that may not be read it says %q", hint)
	}
}
