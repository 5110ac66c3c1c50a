package storage

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestSyncedOfManyLogs checks that the newest logs and the manifest are noted when there are too many for a slot.
func TestSyncedOfManyLogs(t *testing.T) {
	s := &synced{turn: 1, bytes: map[string]int64{"MANIFEST-000007": 7}}
	for i := range 2 * maxLogs {
		s.bytes[fmt.Sprintf("%06d.log", i)] = int64(i)
	}
	_, bytes, ok := decodeSlot(s.encodeSlot())
	newest := fmt.Sprintf("%06d.log", 2*maxLogs-1)
	if !ok || len(bytes) != maxLogs || bytes["MANIFEST-000007"] != 7 || bytes[newest] != 2*maxLogs-1 {
		t.Errorf("decoded %v, %v", bytes, ok)
	}
}

// TestFirstBad checks that firstBad notices a change to any byte up to the synced length; later bytes don't
// matter.
func TestFirstBad(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open("", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if err := db.Set([]byte{byte(i)}, bytes.Repeat([]byte{byte(i)}, i*20), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range names {
		if !logged(name) {
			continue
		}
		f, err := fs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, info.Size())
		if _, err := f.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		bad := func(end int) int64 {
			at, err := firstBad(bytes.NewReader(data), name, int64(end))
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		if at := bad(len(data)); at != -1 {
			t.Fatalf("%s: found damage at byte %d of an intact log", name, at)
		}
		if at := bad(len(data) + 1); at != int64(len(data)) {
			t.Errorf("%s: found damage at byte %d of a log that lost its last byte", name, at)
		}
		for i := range data {
			data[i] ^= 0x41
			if at := bad(len(data)); at < 0 || at > int64(i) {
				t.Errorf("%s: changed byte %d of %d, found damage at %d", name, i, len(data), at)
			}
			data[i] ^= 0x41
			seen++
		}
	}
	if seen < 32<<10 {
		t.Errorf("the logs have only %d bytes", seen)
	}
}
