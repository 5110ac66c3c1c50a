package storage_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded/plan"
	"juju/state/mongo/embedded/storage"
)

// files reads all of a store's files.
func files(t *testing.T, fs vfs.FS) map[string][]byte {
	t.Helper()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		f, err := fs.Open("store/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return all
}

// disk returns a file system with the given files.
func disk(t *testing.T, all map[string][]byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("store", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range all {
		f, err := fs.Create("store/"+name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(slices.Clone(data)); err != nil { // Write may change its argument
			t.Fatal(err)
		}
		f.Close()
	}
	return fs
}

// content returns a digest of all documents, or the error from reading them.
func content(fs vfs.FS, repair bool) (sum string, err error) {
	s, err := storage.Open("store", storage.Options{FS: fs, Repair: repair, MemTableSize: 64 << 10, Logf: quiet,
		Fatal: func(err error) { panic(err) }})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	digest := sha256.New()
	for _, name := range []string{"c", "log"} {
		c := s.Collection("db", name)
		if c == nil {
			return "", fmt.Errorf("collection %s is missing", name)
		}
		scan := c.Scan(nil, plan.Plan{Scans: everything.Scans}, nil)
		for {
			var doc []byte
			if _, doc, err = scan.Next(); doc == nil {
				break
			}
			digest.Write(doc)
		}
		if err != nil {
			return "", err // a failed scan has released its resources
		}
		if _, _, err := scan.Pause(); err != nil {
			return "", err
		}
	}
	return string(digest.Sum(nil)), s.Check(context.Background(), nil)
}

// rottable returns the files of a store with documents in a log, and perhaps in tables, all of them on disk.
// The store was closed, or lost power right after the last barrier.
func rottable(t *testing.T, docs int, closed bool) map[string][]byte {
	t.Helper()
	mem := vfs.NewCrashableMem()
	s := tiny(t, mem)
	c := create(t, s, "c", storage.CollectionOptions{})
	log := create(t, s, "log", storage.CollectionOptions{Capped: true, Size: 1 << 20})
	r := rand.New(rand.NewPCG(7, 7))
	for i := range docs {
		doc := bson.D{id(i), {Key: "pad", Value: strings.Repeat(string(rune('a'+i%26)), r.IntN(200))}}
		insert(t, c, doc)
		insert(t, log, doc)
		if i%7 == 0 || i == docs-1 {
			if err := s.Barrier(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !closed {
		defer shut(t, s)
		return files(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}))
	}
	shut(t, s)
	return files(t, mem)
}

// TestBitRot changes one byte at a time. Whichever byte it is, the store must have the same content, or
// report damage: acknowledged writes must never silently disappear.
func TestBitRot(t *testing.T) {
	flips := 60 // for each kind of file
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		flips = 10_000 // all bytes of the small stores
	case testing.Short():
		flips = 8
	}
	inLogs := 0 // damage detected; a closed store's log may hold little that isn't also in its tables
	for _, test := range []struct {
		docs   int
		closed bool
	}{{40, true}, {40, false}, {1500, true}, {1500, false}} {
		all := rottable(t, test.docs, test.closed)
		want, err := content(disk(t, all), false)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, uint64(test.docs)))
		harmless, refused := map[string]int{}, map[string]int{}
		kinds := map[string]int{}
		kindOf := func(name string) string { return strings.Trim(name, "0123456789") }
		for name := range all {
			kinds[kindOf(name)]++
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			data := all[name]
			kind := kindOf(name)
			at := r.Perm(len(data))
			for _, i := range at[:min(len(at), flips/kinds[kind]+1)] {
				flipped := slices.Clone(data)
				flipped[i] ^= byte(1 + r.IntN(255))
				all[name] = flipped
				got, err := content(disk(t, all), false)
				switch {
				case err == nil && got != want:
					t.Errorf("%d documents, closed %v: byte %d of %d of %s: the content changed silently", test.docs, test.closed, i, len(data), name)
				case err == nil:
					harmless[kind]++
				case !errors.Is(err, storage.ErrDamaged) && !strings.HasPrefix(name, "OPTIONS"):
					t.Errorf("%d documents, closed %v: byte %d of %d of %s: %v", test.docs, test.closed, i, len(data), name, err)
				default:
					refused[kind]++
				}
			}
			all[name] = data
		}
		t.Logf("%d documents, closed %v: harmless %v, refused %v", test.docs, test.closed, harmless, refused)
		inLogs += refused[".log"]
	}
	if inLogs == 0 {
		t.Error("no damage to a log was detected")
	}
}

// TestRepair opens a store with a damaged log. The writes from the damage onwards are discarded, but the
// original log stays in a file next to it.
func TestRepair(t *testing.T) {
	all := rottable(t, 300, true)
	name := slices.Max(slices.Collect(func(yield func(string) bool) {
		for name := range all {
			if strings.HasSuffix(name, ".log") && !yield(name) {
				return
			}
		}
	}))
	all[name] = slices.Clone(all[name])
	all[name][len(all[name])*3/4] ^= 1
	fs := disk(t, all)
	if _, err := content(fs, false); !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), name) {
		t.Fatalf("opening a damaged store: %v", err)
	}
	if _, err := content(fs, true); err != nil {
		t.Fatal(err)
	}
	s := tiny(t, fs)
	defer shut(t, s)
	check(t, s)
	if n := count(t, s.Collection("db", "c")); n < 150 || n >= 300 {
		t.Errorf("%d of 300 documents are left", n)
	}
	insert(t, s.Collection("db", "c"), bson.D{id("new")})
	f, err := fs.Open("store/" + name + ".damaged")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if aside, err := io.ReadAll(f); err != nil || !slices.Equal(aside, all[name]) {
		t.Errorf("the damaged log was not kept: %v", err)
	}
}
