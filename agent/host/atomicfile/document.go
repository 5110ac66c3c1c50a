package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The size of a slot is a multiple of slotUnit.
const slotUnit = 4 << 10

// spare is the maximum ratio of a slot's size to its content's.
const spare = 32

// A Document is a file whose content is replaced often. A replacement costs one disk flush, whereas WriteFile
// costs at least two commits of the file system's journal.
//
// The file has two slots of the same size. Each begins with a line that has a sequence number, and the length
// and SHA-256 of the content that follows. A write overwrites the slot with the lower number in place, so a
// crash leaves the other intact. If the content does not fit, or would leave most of the slot empty, the file
// is rewritten by WriteFile with larger or smaller slots.
//
// A Document has a single writer.
type Document struct {
	path string
	slot int64 // the size of each slot; 0 if the file must be rewritten
	at   int64 // the offset of the current slot
	head head  // of the current slot
}

// head is the first line of a slot.
type head struct {
	Number int64  `json:"number"`
	Length int    `json:"length"`
	SHA256 string `json:"sha256"`
}

// OpenDocument returns the document at path, which need not exist; its directory must.
func OpenDocument(path string) *Document { return &Document{path: path} }

// Read returns the content; the error is fs.ErrNotExist if there is no file. A file without a valid slot is
// returned whole: it was written by WriteFile, or is damaged.
func (d *Document) Read() ([]byte, error) {
	text, err := os.ReadFile(d.path)
	if err != nil {
		return nil, err
	}
	d.slot, d.head = 0, head{}
	content, size := text, int64(len(text))/2
	for _, at := range []int64{0, size} {
		if h, c, ok := parseSlot(text[at:min(at+size, int64(len(text)))]); ok && h.Number > d.head.Number {
			content, d.head, d.at, d.slot = c, h, at, size
		}
	}
	return content, nil
}

func parseSlot(text []byte) (h head, content []byte, ok bool) {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	if json.Unmarshal(line, &h) != nil || h.Length < 0 || h.Length > len(rest) {
		return h, nil, false
	}
	content = rest[:h.Length]
	return h, content, sum(content) == h.SHA256
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// Write replaces the content. When it returns, the new content survives a power failure. After a crash the
// file has either the old or the new content. Only the owner may read it.
func (d *Document) Write(content []byte) error {
	next := head{Number: d.head.Number + 1, Length: len(content), SHA256: sum(content)}
	line, err := json.Marshal(next)
	if err != nil {
		return err
	}
	text := append(append(line, '\n'), content...)
	if need := int64(len(text)); need > d.slot || d.slot > slotUnit && need*spare < d.slot {
		return d.writeAnew(text, next)
	}
	at := d.slot - d.at
	if err := overwrite(d.path, pad(text, d.slot), at); errors.Is(err, fs.ErrNotExist) {
		return d.writeAnew(text, next)
	} else if err != nil {
		return err
	}
	d.at, d.head = at, next
	return nil
}

// Rewrite is a Write after which nothing in the file is left of what was there before. It costs as much as WriteFile.
func (d *Document) Rewrite(content []byte) error {
	d.slot = 0
	return d.Write(content)
}

// writeAnew rewrites the file, with slots that leave room for the content to grow.
func (d *Document) writeAnew(text []byte, h head) error {
	slot := (int64(len(text))*3/2/slotUnit + 1) * slotUnit
	if err := errors.Join(RemoveDrafts(d.path), WriteFile(d.path, pad(text, 2*slot), 0o600)); err != nil {
		return err
	}
	d.slot, d.at, d.head = slot, 0, h
	return nil
}

// pad appends empty lines up to a size.
func pad(text []byte, size int64) []byte {
	return append(text, bytes.Repeat([]byte("\n"), int(size)-len(text))...)
}

// overwrite durably overwrites a part of a file.
func overwrite(path string, text []byte, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, at)
	if err == nil {
		// The size stays the same, so only the data must be flushed.
		if err = unix.Fdatasync(int(f.Fd())); err != nil {
			err = fmt.Errorf("cannot sync %s: %w", path, err)
		}
	}
	return errors.Join(err, f.Close())
}
