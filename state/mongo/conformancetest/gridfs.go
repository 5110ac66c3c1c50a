package conformancetest

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"io"
	"math/rand"
	"testing"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// testGridFS stores files of several sizes through mgo's GridFS, which is where charms are
// stored, and reads them back.
func testGridFS(t *testing.T, s *store) {
	fs := s.db.GridFS("fs")
	rng := rand.New(rand.NewSource(1))
	files := map[string][]byte{}
	for name, size := range map[string]int{"empty": 0, "small": 100, "chunk": 255 << 10, "chunk and a byte": 255<<10 + 1, "large": 3<<20 + 17} {
		content := make([]byte, size)
		rng.Read(content)
		files[name] = content
		f, err := fs.Create(name)
		must(t, err)
		f.SetMeta(D{{"a.b", D{{"$x", 1}}}})
		// In odd-sized pieces, as from a network.
		for rest := content; len(rest) > 0; {
			n := min(len(rest), 1+rng.Intn(200000))
			if _, err := f.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		must(t, f.Close())
	}
	for name, content := range files {
		f, err := fs.Open(name)
		must(t, err)
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%q: got %d bytes of %d back, %v", name, len(got), len(content), err)
		}
		sum := md5.Sum(content)
		if f.Size() != int64(len(content)) || f.MD5() != hex.EncodeToString(sum[:]) {
			t.Errorf("%q: size %d, md5 %s", name, f.Size(), f.MD5())
		}
		if len(content) > 1000 {
			at := int64(len(content) - 777)
			if _, err := f.Seek(at, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content[at:]) {
				t.Errorf("%q from %d: %d bytes, %v", name, at, len(got), err)
			}
		}
		must(t, f.Close())
	}
	// A name may be reused; opening it opens the newest file.
	f, err := fs.Create("small")
	must(t, err)
	_, err = f.Write([]byte("newer"))
	must(t, err)
	must(t, f.Close())
	f, err = fs.Open("small")
	must(t, err)
	if got, err := io.ReadAll(f); err != nil || string(got) != "newer" {
		t.Errorf("the newer file is %q, %v", got, err)
	}
	must(t, f.Close())

	iter := fs.Find(D{{"length", D{{"$gt", 255 << 10}}}}).Sort("filename").Iter()
	var found []string
	var g *mgo.GridFile
	for fs.OpenNext(iter, &g) {
		found = append(found, g.Name())
	}
	must(t, iter.Close())
	if len(found) != 2 || found[0] != "chunk and a byte" || found[1] != "large" {
		t.Errorf("found %q", found)
	}

	for name := range files {
		must(t, fs.Remove(name))
	}
	for _, c := range []*mgo.Collection{fs.Files, fs.Chunks} {
		if n, err := c.Count(); n != 0 || err != nil {
			t.Errorf("%s holds %d documents of removed files, %v", c.Name, n, err)
		}
	}
	if _, err := fs.Open("small"); err != mgo.ErrNotFound {
		t.Errorf("open of a removed file: %v", err)
	}
	// An aborted write leaves nothing.
	f, err = fs.Create("given up")
	must(t, err)
	_, err = f.Write(make([]byte, 600<<10))
	must(t, err)
	f.Abort()
	if err := f.Close(); err == nil {
		t.Error("an aborted file closed without an error")
	}
	if n, err := fs.Find(bson.M{"filename": "given up"}).Count(); n != 0 || err != nil {
		t.Errorf("%d aborted files exist, %v", n, err)
	}
}
