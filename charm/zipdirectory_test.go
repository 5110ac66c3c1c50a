package charm

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// zip64 adds a zip64 end record to an archive and makes the old end record refer to it.
func zip64(data []byte) []byte {
	at := len(data) - endLen
	old := bytes.Clone(data[at:])
	le := binary.LittleEndian
	end := make([]byte, end64Len+locator64Len)
	copy(end, end64Signature)
	le.PutUint64(end[4:], end64Len-12)
	le.PutUint64(end[24:], uint64(le.Uint16(old[8:])))
	le.PutUint64(end[32:], uint64(le.Uint16(old[10:])))
	le.PutUint64(end[40:], uint64(le.Uint32(old[12:])))
	le.PutUint64(end[48:], uint64(le.Uint32(old[16:])))
	copy(end[end64Len:], locator64Signature)
	le.PutUint64(end[end64Len+8:], uint64(at))
	le.PutUint32(end[end64Len+16:], 1)
	le.PutUint16(old[10:], 0xffff)
	le.PutUint32(old[16:], 0xffffffff)
	return append(append(data[:at:at], end...), old...)
}

// emptyFiles returns an archive with n empty files.
func emptyFiles(t testing.TB, n int) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range n {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A directory that is too large is rejected before package zip reads it, whatever size it states.
func TestDirectoryIsBounded(t *testing.T) {
	le := binary.LittleEndian
	state := func(data []byte, entries uint16) []byte {
		data = bytes.Clone(data)
		le.PutUint16(data[len(data)-endLen+10:], entries)
		return data
	}
	many := emptyFiles(t, 60_000)
	// The stated offset refers to data that only looks like an entry.
	decoy := append([]byte(entrySignature+strings.Repeat("\xff", entryLen-4)), many...)
	copy(decoy[28:], make([]byte, 6)) // it has no name
	le.PutUint32(decoy[len(decoy)-endLen+16:], 0)
	long := func() []byte {
		var buf bytes.Buffer
		z := zip.NewWriter(&buf)
		for i := range 400 {
			if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Comment: strings.Repeat("c", 60_000)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}()
	const tooMany = "cannot read charm archive: charm contains more than 50000 files"
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"many":                      {many, tooMany},
		"many, stated as few":       {state(many, 100), tooMany},
		"few, stated as many":       {state(zipOf(t, metaItem), 60_000), tooMany},
		"many, after other content": {append([]byte(strings.Repeat("#", 1000)), many...), tooMany},
		"many, of zip64":            {zip64(many), tooMany},
		"many, and a decoy":         {decoy, tooMany},
		"long comments": {long,
			"cannot read charm archive: directory of the archive is larger than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ReadArchiveFrom(t.Context(), bytes.NewReader(test.data), int64(len(test.data)))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrInvalid) || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
				t.Errorf("%d bytes allocated for %d bytes of input", n, len(test.data))
			}
		})
	}
}

// Reading stops when the context is done.
func TestReadArchiveStopsWithItsContext(t *testing.T) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, it := range []item{metaItem, {"large", 0o644, ""}} {
		w, err := z.Create(it.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, strings.NewReader(it.content)); err != nil {
			t.Fatal(err)
		}
		if it.name == "large" {
			for range 64 {
				w.Write(make([]byte, 1<<20))
			}
		}
	}
	z.Close()
	cause := errors.New("the client has disconnected")
	ctx, cancel := context.WithCancelCause(t.Context())
	reads := 0
	r := readerAt(func(p []byte, at int64) (int, error) {
		// The archive is small: one read yields all of its 64 MiB.
		if reads++; at > 0 && at < int64(buf.Len())/2 {
			cancel(cause)
		}
		return bytes.NewReader(buf.Bytes()).ReadAt(p, at)
	})
	a, err := ReadArchiveFrom(ctx, r, int64(buf.Len()))
	if !errors.Is(err, cause) || errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, %v", a, err)
	}
	a, err = ReadArchiveFrom(t.Context(), r, int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.ExpandTo(ctx, t.TempDir()); !errors.Is(err, cause) {
		t.Errorf("ExpandTo: %v", err)
	}
}

type readerAt func(p []byte, at int64) (int, error)

func (r readerAt) ReadAt(p []byte, at int64) (int, error) { return r(p, at) }
