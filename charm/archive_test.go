package charm

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// item is an archive entry, possibly one that no ordinary tool would write.
type item struct {
	name    string
	mode    fs.FileMode
	content string
}

func zipOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, it := range items {
		h := &zip.FileHeader{Name: it.name, Method: zip.Deflate}
		if strings.HasSuffix(it.name, "/") {
			h.Method = zip.Store
		}
		h.SetMode(it.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if it.content != "" {
			if _, err := w.Write([]byte(it.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

var metaItem = item{"metadata.yaml", 0o644, blogMeta}

func TestReadArchiveRejects(t *testing.T) {
	link := func(name, target string) item { return item{name, fs.ModeSymlink | 0o777, target} }
	file := func(name string) item { return item{name, 0o644, "x"} }
	for _, test := range []struct {
		about string
		data  []byte
		want  string // after "cannot read charm archive: "
	}{
		{"not an archive", []byte("hello"), "zip: not a valid zip file"},
		{"empty file", nil, "zip: not a valid zip file"},
		{"empty archive", zipOf(t), "metadata.yaml: missing"},
		{"with the charm directory", zipOf(t, item{"blog/metadata.yaml", 0o644, blogMeta}),
			"metadata.yaml: missing; there is blog/metadata.yaml: archive what is in blog/, not blog/ itself"},
		{"leads out", zipOf(t, metaItem, file("../evil")), `invalid file name: "../evil"`},
		{"leads out from a directory", zipOf(t, metaItem, file("a/../../evil")), `invalid file name: "a/../../evil"`},
		{"is absolute", zipOf(t, metaItem, file("/etc/evil")), `invalid file name: "/etc/evil"`},
		{"is from Windows", zipOf(t, metaItem, file(`..\evil`)), `invalid file name: "..\\evil"`},
		{"has a NUL", zipOf(t, metaItem, file("a\x00b")), `invalid file name: "a\x00b"`},
		{"is not UTF-8", zipOf(t, metaItem, file("a\xffb")), `invalid file name: "a\xffb"`},
		{"is too deep", zipOf(t, metaItem, file(strings.Repeat("d/", maxDepth)+"f")), `invalid file name: "` +
			strings.Repeat("d/", maxDepth) + `f"`},
		{"has a long name", zipOf(t, metaItem, file("d/"+strings.Repeat("n", 300))), `file name is longer than 255 bytes: ` +
			shown("d/"+strings.Repeat("n", 300))},
		{"link to a long name", zipOf(t, metaItem, link("l", strings.Repeat("n", 300))),
			`symlink "l" has a target whose name is longer than 255 bytes: ` + shown(strings.Repeat("n", 300))},
		{"link is absolute", zipOf(t, metaItem, link("l", "/etc")), `symlink "l" is absolute: "/etc"`},
		{"link leads out", zipOf(t, metaItem, link("l", "..")), `symlink "l" links out of charm: ".."`},
		{"link is empty", zipOf(t, metaItem, link("l", "")), `symlink "l" has an invalid target: ""`},
		{"link is too long", zipOf(t, metaItem, link("l", strings.Repeat("a", 2000))), `symlink "l" has an invalid target: ` +
			shown(strings.Repeat("a", 2000))},
		{"file inside a link", zipOf(t, metaItem, link("l", "a"), file("l/f")),
			`file "l/f" is inside "l", which is not a directory`},
		{"file inside a link, listed first", zipOf(t, metaItem, file("l/f"), link("l", "a")),
			`file "l/f" is inside "l", which is not a directory`},
		{"file inside a file", zipOf(t, metaItem, file("l"), file("l/f")), `file "l/f" is inside "l", which is not a directory`},
		{"duplicate", zipOf(t, metaItem, file("f"), file("f")), `duplicate file: "f"`},
		{"duplicate with another spelling", zipOf(t, metaItem, file("f"), file("./f")), `duplicate file: "f"`},
		{"pipe", zipOf(t, metaItem, item{"p", fs.ModeNamedPipe | 0o644, ""}), `file is a named pipe: "p"`},
		{"socket", zipOf(t, metaItem, item{"s", fs.ModeSocket | 0o644, ""}), `file is a socket: "s"`},
		{"device", zipOf(t, metaItem, item{"d", fs.ModeDevice | fs.ModeCharDevice | 0o644, ""}), `file is a device: "d"`},
		{"bad metadata", zipOf(t, item{"metadata.yaml", 0o644, "name: x"}),
			"metadata.yaml:1: summary: expected string, got nothing"},
		{"metadata is a dangling link", zipOf(t, link("metadata.yaml", "x")), "metadata.yaml: it is a link to \"x\", which does not exist"},
		{"config is a directory", zipOf(t, metaItem, item{"config.yaml/", fs.ModeDir | 0o755, ""}),
			"config.yaml: not a regular file"},
		{"config is a directory without an entry", zipOf(t, metaItem, item{"config.yaml/x", 0o644, ""}),
			"config.yaml: not a regular file"},
		{"bad revision", zipOf(t, metaItem, item{"revision", 0o644, "x"}), "revision: invalid revision file"},
	} {
		t.Run(test.about, func(t *testing.T) {
			_, err := ReadArchiveFrom(t.Context(), bytes.NewReader(test.data), int64(len(test.data)))
			if want := "cannot read charm archive: " + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if !errors.Is(err, ErrInvalid) {
				t.Error("not an ErrInvalid")
			}
		})
	}
}

func TestReadArchiveOfOtherTools(t *testing.T) {
	data := zipOf(t, item{"./", 0o755 | fs.ModeDir, ""}, item{"./metadata.yaml", 0, blogMeta},
		item{"hooks/", fs.ModeDir | 0o700, ""}, item{"hooks//install", 0, "#!/bin/sh"})
	a, err := ReadArchiveFrom(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := a.ExpandTo(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	_, perms := readTree(t, to)
	if perms["hooks"] != "755" || perms["hooks/install"] != "755" || perms["metadata.yaml"] != "644" {
		t.Errorf("permissions %v", perms)
	}
}

func TestReadArchiveByPath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "blog.charm")
	if _, err := ReadArchive(t.Context(), path); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrInvalid) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, archiveOf(t, makeTree(t, blog)), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := ReadArchive(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// If the file is replaced by another archive, ExpandTo checks that one.
	if err := os.WriteFile(path, zipOf(t, metaItem, item{"../evil", 0o644, "x"}), 0o644); err != nil {
		t.Fatal(err)
	}
	err = a.ExpandTo(t.Context(), filepath.Join(dir, "to"))
	if err == nil || err.Error() != `cannot expand charm "blog": invalid file name: "../evil"` {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "evil")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("evil: %v", err)
	}
}

// ReadArchive detects damage anywhere in the archive, so that units don't run into it.
func TestReadArchiveDetectsDamage(t *testing.T) {
	content := strings.Repeat("all work and no play ", 1000)
	data := zipOf(t, metaItem, item{"data", 0o644, content})
	at := bytes.Index(data, []byte("data")) + len("data") + 40
	for _, change := range []func([]byte) []byte{
		func(b []byte) []byte { b[at] ^= 0xff; return b },
		func(b []byte) []byte { return b[:len(b)-10] },
		func(b []byte) []byte { return append(b[:at:at], b[at+5:]...) },
	} {
		bad := change(bytes.Clone(data))
		if _, err := ReadArchiveFrom(t.Context(), bytes.NewReader(bad), int64(len(bad))); err == nil ||
			!errors.Is(err, ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}

// A file that is larger than its directory entry states is rejected.
func TestArchiveWithAFalseSize(t *testing.T) {
	data := zipOf(t, metaItem, item{"bomb", 0o644, strings.Repeat("\x00", 1<<20)})
	// The size in the central directory is 24 bytes into the entry that names it.
	entry := bytes.LastIndex(data, []byte("bomb")) - 46
	copy(data[entry+24:], []byte{16, 0, 0, 0})
	if _, err := ReadArchiveFrom(t.Context(), bytes.NewReader(data), int64(len(data))); err == nil ||
		!errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestArchiveLimits(t *testing.T) {
	read := func(l limits, data []byte) error {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = newTree(l).survey(z)
		return err
	}
	bomb := zipOf(t, metaItem, item{"a", 0o644, strings.Repeat("\x00", 600)},
		item{"b", 0o644, strings.Repeat("\x00", 600)})
	if err := read(limits{entries: 10, total: 1000}, bomb); err == nil ||
		err.Error() != "charm is larger than 1000 bytes" {
		t.Errorf("got %v", err)
	}
	if err := read(limits{entries: 10, total: 500}, bomb); err == nil || err.Error() != "charm is larger than 500 bytes" {
		t.Errorf("got %v", err)
	}
	if err := read(limits{entries: 2, total: 10_000}, bomb); err == nil || err.Error() != "charm contains more than 2 files" {
		t.Errorf("got %v", err)
	}
	if err := read(limits{entries: 3, total: 10_000}, bomb); err != nil {
		t.Error(err)
	}
}

// Chains of links are bounded: a small archive must not take minutes to check.
func TestLinkChainsAreBounded(t *testing.T) {
	items := []item{metaItem}
	for i := range 3000 {
		items = append(items,
			item{fmt.Sprintf("l%d", i), fs.ModeSymlink | 0o777,
				fmt.Sprintf("%sl%d", strings.Repeat("./", 400), i/40*40+(i+1)%40)})
	}
	data := zipOf(t, items...)
	if _, err := ReadArchiveFrom(t.Context(), bytes.NewReader(data), int64(len(data))); err == nil ||
		!errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
