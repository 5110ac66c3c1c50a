package backup

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"juju/state/entity"
)

// A Manifest describes a backup.
type Manifest struct {
	Format     int       `json:"format"`
	Controller string    `json:"controller-uuid"`
	Name       string    `json:"controller"` // as it was bootstrapped
	Cloud      string    `json:"cloud"`
	Version    string    `json:"version"` // of the controller's binaries
	Made       time.Time `json:"made"`
}

// format is the version of the archive's format.
const format = 1

const (
	manifestName = "backup.json"
	endName      = "end.json"
	hashRecord   = "SCHILY.xattr.user.sha256" // of the entry, in hex; tar programs know such records
	// MaxEntry is the maximum size of an entry, in bytes.
	MaxEntry = 64 << 20
)

// An end is the last entry.
type end struct {
	Entries int `json:"entries"`
}

// A Writer writes an archive.
type Writer struct {
	tar     *tar.Writer
	made    time.Time
	entries int
}

// NewWriter begins an archive.
func NewWriter(w io.Writer, m Manifest) (*Writer, error) {
	m.Format = format
	a := &Writer{tar: tar.NewWriter(w), made: m.Made}
	return a, a.addJSON(manifestName, m)
}

func (a *Writer) addJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.Add(name, append(text, '\n'))
}

// Add adds an entry of at most MaxEntry bytes.
func (a *Writer) Add(name string, data []byte) error {
	if len(data) > MaxEntry {
		return fmt.Errorf("cannot back up %s: it has more than %d bytes", name, MaxEntry)
	}
	sum := sha256.Sum256(data)
	err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data)),
		ModTime: a.made, Format: tar.FormatPAX, PAXRecords: map[string]string{hashRecord: hex.EncodeToString(sum[:])}})
	if err == nil {
		_, err = a.tar.Write(data)
	}
	if err != nil {
		return fmt.Errorf("cannot write the backup: %w", err)
	}
	a.entries++
	return nil
}

// Close ends the archive. It doesn't close the underlying writer.
func (a *Writer) Close() error {
	if err := a.addJSON(endName, end{a.entries}); err != nil {
		return err
	}
	if err := a.tar.Close(); err != nil {
		return fmt.Errorf("cannot write the backup: %w", err)
	}
	return nil
}

// A Reader reads an archive. All its errors but io.EOF are entity.Invalid, or come from the underlying reader.
type Reader struct {
	from     io.Reader
	tar      *tar.Reader
	manifest Manifest
	entries  int
}

// NewReader reads the beginning of an archive.
func NewReader(r io.Reader) (*Reader, error) {
	a := &Reader{from: r, tar: tar.NewReader(r)}
	name, data, err := a.entry()
	if err == io.EOF || err == nil && name != manifestName {
		return nil, entity.Errorf(entity.Invalid, "this is not a backup of a controller")
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &a.manifest); err != nil {
		return nil, damaged("%s: %w", name, err)
	}
	if a.manifest.Format != format {
		return nil, entity.WithHint(entity.Errorf(entity.NotSupported, "the backup has format %d, not %d",
			a.manifest.Format, format),
			"It was made by version %s of juju: use that version.", a.manifest.Version)
	}
	return a, nil
}

// Manifest returns the backup's description.
func (a *Reader) Manifest() Manifest { return a.manifest }

// Next returns the next entry, or io.EOF if the archive is complete.
func (a *Reader) Next() (name string, data []byte, err error) {
	name, data, err = a.entry()
	if err == io.EOF {
		return "", nil, damaged("its end is missing")
	}
	if err != nil || name != endName {
		return name, data, err
	}
	var e end
	if err := json.Unmarshal(data, &e); err != nil {
		return "", nil, damaged("%s: %w", name, err)
	}
	if e.Entries != a.entries-1 {
		return "", nil, damaged("it has %d entries instead of %d", a.entries-1, e.Entries)
	}
	return "", nil, a.ended()
}

// ended returns io.EOF, or an error if something follows the last entry. Some tar programs write more zeros than others.
func (a *Reader) ended() error {
	if _, err := a.tar.Next(); err != io.EOF {
		return cmp.Or(broken(err), damaged("something follows its end"))
	}
	rest := make([]byte, 4096)
	for {
		n, err := a.from.Read(rest)
		if bytes.ContainsFunc(rest[:n], func(r rune) bool { return r != 0 }) {
			return damaged("something follows its end")
		}
		if err != nil {
			return err
		}
	}
}

func (a *Reader) entry() (string, []byte, error) {
	h, err := a.tar.Next()
	if err != nil {
		return "", nil, broken(err)
	}
	if h.Typeflag != tar.TypeReg || h.Size > MaxEntry {
		return "", nil, damaged("%s is no entry of a backup", h.Name)
	}
	data := make([]byte, h.Size)
	if _, err := io.ReadFull(a.tar, data); err != nil {
		return "", nil, broken(fmt.Errorf("%s: %w", h.Name, err))
	}
	if sum := sha256.Sum256(data); h.PAXRecords[hashRecord] != hex.EncodeToString(sum[:]) {
		return "", nil, damaged("%s has changed since it was made", h.Name)
	}
	a.entries++
	return h.Name, data, nil
}

// broken returns the error for an archive that can't be parsed or has no end.
func broken(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("%w", err)
	}
	return err
}

func damaged(format string, args ...any) error {
	return entity.Errorf(entity.Invalid, "the backup is damaged: "+format, args...)
}
