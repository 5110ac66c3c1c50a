package charms

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"juju/apiserver/client"
	"juju/charm"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A Source is a valid charm with its archive.
type Source struct {
	Path    string // as the user gave it
	Charm   *charm.Charm
	archive *os.File
	sha256  string              // of the archive, in hex, once it is known
	URL     string              // of a charm from the model, which has no archive
	Origin  *client.CharmOrigin // of one from a store, in the model
}

// Warnings returns what the charm declares in vain. The controller says the same, but for what the archive has fixed, once
// it has the whole charm; it plans with less.
func (s *Source) Warnings() (all []string) {
	if s.archive == nil {
		return nil
	}
	for _, w := range s.Charm.Warnings() {
		all = append(all, fmt.Sprintf("charm %q: %s", s.Charm.Meta.Name, w))
	}
	return all
}

// CheckUnforced rejects before the upload a charm that the controller refuses after it because of its requirements or its LXD
// profile, as it is not forced.
func (s *Source) CheckUnforced(what string, force bool) error {
	err := s.Charm.Meta.Unmet()
	if err == nil {
		err = s.Charm.Profile.Check()
	}
	if err != nil && !force {
		return entity.WithHint(fmt.Errorf("cannot %s charm %q: %w", what, s.Charm.Meta.Name, err), "%s", charm.Help(err))
	}
	return nil
}

// Close closes the archive.
func (s *Source) Close() {
	if s != nil && s.archive != nil {
		s.archive.Close()
	}
}

// Read reads and validates the charm in a directory or an archive.
func Read(ctx context.Context, path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read charm: %w", err)
	}
	if !info.IsDir() {
		return readCharmArchive(ctx, path)
	}
	dir, err := charm.ReadDir(path)
	if err != nil {
		return nil, badCharm(err)
	}
	archive, err := dir.ArchiveFile()
	if err != nil {
		return nil, badCharm(err)
	}
	return &Source{Path: path, Charm: &dir.Charm, archive: archive}, nil
}

// readCharmArchive opens an archive once, for both validation and the upload.
func readCharmArchive(ctx context.Context, path string) (*Source, error) {
	f, err := cli.OpenFile(path)
	if err != nil {
		return nil, entity.WithHint(fmt.Errorf("cannot read charm: %w", err),
			"To deploy a charm from its directory or archive: juju deploy ./DIRECTORY")
	}
	var a *charm.Archive
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		a, err = charm.ReadArchiveFrom(ctx, f, size)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		// The inner error also names the archive: drop the outer one.
		if inner := errors.Unwrap(err); a == nil && inner != nil {
			err = inner
		}
		return nil, badCharm(fmt.Errorf("cannot read charm %q: %w", path, err))
	}
	return &Source{Path: path, Charm: &a.Charm, archive: f}, nil
}

// badCharm adds a hint to the error of an invalid charm.
func badCharm(err error) error {
	if errors.Is(err, charm.ErrInvalid) {
		return entity.WithHint(err, "%s", strings.TrimPrefix(charm.Help(err)+"\nFix the charm and deploy it again.", "\n"))
	}
	return err
}

// IsPath reports whether an argument is certainly a path.
func IsPath(arg string) bool {
	return strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "~") || filepath.IsAbs(arg) || strings.HasSuffix(arg, "/")
}

type UploadAPI interface {
	UploadCharm(ctx context.Context, archive io.Reader, series string) (charmURL string, err error)
}

type ArchiveAPI interface {
	CharmArchive(ctx context.Context, charmURL string) (archive io.ReadCloser, sha256 string, err error)
}

// OfModel is the hint for a command that the controller runs, and that names another charm than one of the model's.
const OfModel = "To use a charm of the model: juju %s local:SERIES/NAME-REVISION. juju status --format yaml shows those of its services.\n" +
	"To use other charms, run the command with juju where their files are."

// maxInMemory is the size up to which a process without files reads a charm of the model.
const maxInMemory = 64 << 20

// FromModel reads a charm from the model.
func FromModel(ctx context.Context, s *cli.Session, api ArchiveAPI, url string) (*Source, error) {
	body, _, err := api.CharmArchive(ctx, url)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	a, err := readReceived(ctx, s, body)
	if err != nil {
		return nil, fmt.Errorf("cannot read charm %q: %w", url, err)
	}
	return &Source{Path: url, Charm: &a.Charm, URL: url}, nil
}

// readReceived reads the charm in an archive.
func readReceived(ctx context.Context, s *cli.Session, body io.ReadCloser) (*charm.Archive, error) {
	if s.Embedded { // there are no temporary files
		text, err := io.ReadAll(io.LimitReader(body, maxInMemory+1))
		if err == nil && len(text) > maxInMemory {
			err = entity.WithHint(entity.TooLarge("charm archive", maxInMemory), "Run the command with juju, where you are.")
		}
		if err != nil {
			return nil, err
		}
		return charm.ReadArchiveFrom(ctx, bytes.NewReader(text), int64(len(text)))
	}
	f, err := received(body, entity.MaxCharm)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	return charm.ReadArchiveFrom(ctx, f, size)
}

// received copies an archive of at most limit bytes to an unlinked temporary file, and closes it.
func received(body io.ReadCloser, limit int64) (*os.File, error) {
	defer body.Close()
	f, err := charm.UnlinkedFile("")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(body, limit+1))
	if err == nil && n > limit {
		err = entity.TooLarge("charm archive", limit)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// IsSame reports whether a charm of the model has the same files as s, even if their archives differ in timestamps or
// compression.
func (s *Source) IsSame(ctx context.Context, api ArchiveAPI, url string) (bool, error) {
	if s.archive == nil {
		return s.URL == url, nil
	}
	own, err := s.sum()
	if err != nil {
		return false, fmt.Errorf("cannot read charm %q: %w", s.Path, err)
	}
	body, sum, err := api.CharmArchive(ctx, url)
	if err != nil {
		return false, err
	}
	if sum == own {
		return true, body.Close()
	}
	f, err := received(body, entity.MaxCharm)
	if err != nil {
		return false, fmt.Errorf("cannot read charm %q: %w", url, err)
	}
	defer f.Close()
	ours, err := contents(s.archive)
	if err != nil {
		return false, fmt.Errorf("cannot read charm %q: %w", s.Path, err)
	}
	theirs, err := contents(f)
	if err != nil {
		return false, fmt.Errorf("cannot read charm %q: %w", url, err)
	}
	return maps.Equal(ours, theirs), nil
}

// sum returns the SHA-256 of the archive, in hex.
func (s *Source) sum() (string, error) {
	if s.sha256 == "" {
		if _, err := s.archive.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		sum, err := entity.SHA256(s.archive)
		if err != nil {
			return "", err
		}
		s.sha256 = sum
	}
	return s.sha256, nil
}

// Upload uploads the charm, unless it is in the model, and returns its URL there.
func (s *Source) Upload(ctx context.Context, on *cli.Session, api UploadAPI, series string) (string, error) {
	if s.archive == nil {
		return s.URL, nil
	}
	if _, err := s.archive.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("cannot read charm %q: %w", s.Path, err)
	}
	p, archive := on.Upload(on.Quickly, fmt.Sprintf("charm %q", s.Charm.Meta.Name), s.archive)
	defer p.Done()
	return api.UploadCharm(ctx, archive, series)
}

// An archived is a file in an archive.
type archived struct {
	mode fs.FileMode
	size uint64
	sum  uint32
}

// contents returns the files in a valid charm archive, except the file revision: controllers assign their own revisions.
func contents(f *os.File) (map[string]archived, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, err
	}
	files := map[string]archived{}
	for _, e := range z.File {
		name := path.Clean(e.Name)
		if e.Mode().IsDir() || name == "revision" {
			continue // archives may omit directories
		}
		files[name] = archived{e.Mode(), e.UncompressedSize64, e.CRC32}
	}
	return files, nil
}
