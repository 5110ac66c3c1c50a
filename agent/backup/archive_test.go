package backup_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"juju/agent/backup"
	"juju/state/entity"
)

var manifest = backup.Manifest{Format: 1, Controller: "uuid", Name: "c", Cloud: "local", Version: "1.2.3",
	Made: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

// made returns an archive of three entries.
func made(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, manifest)
	for i := range 3 {
		if err == nil {
			err = w.Add(fmt.Sprint("entry ", i), bytes.Repeat([]byte{byte(i)}, 700*i))
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contents returns the names of an archive's entries, with their sizes.
func contents(r io.Reader) (m backup.Manifest, entries []string, err error) {
	a, err := backup.NewReader(r)
	for err == nil {
		m = a.Manifest()
		var name string
		var data []byte
		if name, data, err = a.Next(); err == nil {
			entries = append(entries, fmt.Sprint(name, ": ", len(data)))
		}
	}
	if err == io.EOF {
		err = nil
	}
	return m, entries, err
}

func TestAnArchiveIsReadBack(t *testing.T) {
	m, entries, err := contents(bytes.NewReader(made(t)))
	if want := []string{"entry 0: 0", "entry 1: 700", "entry 2: 1400"}; err != nil || m != manifest || !reflect.DeepEqual(entries, want) {
		t.Errorf("got %+v, %v, %v", m, entries, err)
	}
}

// An archive with a flipped bit, and one that is cut off anywhere, are refused, unless the contents are the same.
func TestDamagedArchivesAreRefused(t *testing.T) {
	whole := made(t)
	_, want, _ := contents(bytes.NewReader(whole))
	refused := 0
	for i := 0; i < len(whole); i += 5 {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		if m, entries, err := contents(bytes.NewReader(flipped)); err != nil {
			refused++
		} else if m != manifest || !reflect.DeepEqual(entries, want) {
			t.Fatalf("with byte %d flipped there are %+v, %v", i, m, entries)
		}
	}
	if refused < 2100/5 { // all bytes of the entries, at least
		t.Errorf("%d damaged archives were refused", refused)
	}
	end := bytes.LastIndex(whole, []byte(`"entries"`))
	for n := 0; n < end; n += 11 {
		_, _, err := contents(bytes.NewReader(whole[:n]))
		if entity.KindOf(err) != entity.Invalid {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
	flipped := bytes.Clone(whole)
	flipped[bytes.Index(whole, bytes.Repeat([]byte{2}, 100))] = 3
	if _, _, err := contents(bytes.NewReader(flipped)); err == nil || err.Error() != "the backup is damaged: entry 2 has changed since it was made" {
		t.Errorf("got %v", err)
	}
}

// An entry that is missing is noticed, although all others are as they were.
func TestAMissingEntryIsNoticed(t *testing.T) {
	var b bytes.Buffer
	r, w := tar.NewReader(bytes.NewReader(made(t))), tar.NewWriter(&b)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil && h.Name != "entry 1" {
			if err = w.WriteHeader(h); err == nil {
				_, err = io.Copy(w, r)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, entries, err := contents(&b); err == nil || !strings.Contains(err.Error(), "3 entries instead of 4") {
		t.Errorf("got %v, %v", entries, err)
	}
}

// An entry has at most MaxEntry bytes: a larger one is neither written nor read, whatever its header says that it has.
func TestEntriesAreBounded(t *testing.T) {
	w, err := backup.NewWriter(io.Discard, manifest)
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, backup.MaxEntry+1)
	if err := w.Add("big", large); err == nil || err.Error() != "cannot back up big: it has more than 67108864 bytes" {
		t.Errorf("writing: %v", err)
	}
	if err := w.Add("fits", large[1:]); err != nil {
		t.Errorf("writing: %v", err)
	}
	for size, want := range map[int64]string{backup.MaxEntry + 1: "big is no entry of a backup", backup.MaxEntry: "big: unexpected EOF"} {
		var b bytes.Buffer
		r, w := tar.NewReader(bytes.NewReader(made(t))), tar.NewWriter(&b)
		h, err := r.Next() // the manifest
		if err == nil {
			err = w.WriteHeader(h)
		}
		if err == nil {
			_, err = io.Copy(w, r)
		}
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: "big", Size: size, Typeflag: tar.TypeReg, Mode: 0o600})
		}
		if err != nil {
			t.Fatal(err)
		}
		// Its content is missing: nobody reads so much of it.
		if _, _, err := contents(&b); err == nil || err.Error() != "the backup is damaged: "+want {
			t.Errorf("reading %d bytes: %v, want %s", size, err, want)
		}
	}
}

func TestOtherFilesAndFormats(t *testing.T) {
	for _, text := range []string{"", "hello", strings.Repeat("\x00", 1024)} {
		if _, _, err := contents(strings.NewReader(text)); entity.KindOf(err) != entity.Invalid {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	failed := errors.New("cannot read the disk")
	if _, _, err := contents(io.MultiReader(bytes.NewReader(made(t)[:700]), failing{failed})); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
