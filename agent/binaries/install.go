package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"juju/agent/binaries/pack"
	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/state/entity"
)

// tryBound is how long a binary may take to print its version.
const tryBound = 20 * time.Second

// maxOutput is the maximum size of that output in bytes.
const maxOutput = 64 << 10

// draftPattern matches the names of incomplete directories.
const draftPattern = ".draft-*"

// Options configure a Dir.
type Options struct {
	// Step is called before each change on disk, with a name for it.
	Step func(name string)
	// Bound is how long binaries on trial may take to confirm that they work after a counted start; zero
	// means no limit.
	Bound time.Duration
}

// A Dir is a directory with the binaries of a controller or a machine.
type Dir struct {
	path    string
	options Options
}

// New returns the Dir at path, which need not exist yet.
func New(path string, o Options) Dir { return Dir{path, o} }

func (d Dir) step(name string) {
	if d.options.Step != nil {
		d.options.Step(name)
	}
}

// Of returns the directory of the binaries with this hash.
func (d Dir) Of(sha256 string) string { return filepath.Join(d.path, sha256) }

// Archive returns the path of the archive with this hash, if Keep has stored it.
func (d Dir) Archive(sha256 string) string { return filepath.Join(d.path, sha256+".tar.gz") }

// Has reports whether the binaries with this hash are installed.
func (d Dir) Has(sha256 string) bool {
	if !entity.IsSHA256(sha256) {
		return false
	}
	_, err := os.Stat(d.Of(sha256))
	return err == nil
}

// Install unpacks and checks the binaries of an archive. If the hash or version differs, or a binary is
// missing or fails to run, it returns an error and leaves nothing behind. It does nothing if the
// binaries are already installed.
func (d Dir) Install(ctx context.Context, r io.Reader, want entity.Binaries) error {
	if !entity.IsSHA256(want.SHA256) {
		return entity.Errorf(entity.Invalid, "invalid SHA-256 %q", want.SHA256)
	}
	if d.Has(want.SHA256) {
		return nil
	}
	d.step("make the directory")
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(d.path, draftPattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	if err := d.fill(ctx, draft, r, want); err != nil {
		return err
	}
	d.step("rename the directory")
	if err := os.Rename(draft, d.Of(want.SHA256)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncDir(d.path)
}

func (d Dir) fill(ctx context.Context, draft string, r io.Reader, want entity.Binaries) error {
	// Agents of other users may run these binaries.
	if err := os.Chmod(draft, 0o755); err != nil {
		return err
	}
	sum := sha256.New()
	limited := &io.LimitedReader{R: r, N: entity.MaxBinaries + 1}
	all := io.TeeReader(limited, sum)
	d.step("unpack")
	unpackErr := unpack(draft, all)
	// Check the hash of the whole file first: it is a better error for truncated or modified archives.
	if _, err := io.Copy(io.Discard, all); err != nil {
		return fmt.Errorf("cannot read the archive of agent binaries: %w", err)
	}
	if limited.N == 0 {
		return entity.TooLarge("the archive of agent binaries", entity.MaxBinaries)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return entity.Errorf(entity.Invalid, "the archive of agent binaries does not have the SHA-256 %s", want.SHA256)
	}
	if unpackErr != nil {
		return entity.Errorf(entity.Invalid, "cannot unpack the archive of agent binaries: %w", unpackErr)
	}
	d.step("try the binaries")
	if err := try(ctx, draft, want.Version); err != nil {
		return err
	}
	return atomicfile.SyncDir(draft)
}

// unpack writes the binaries of an archive into dir, and syncs them.
func unpack(dir string, r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	var found []string
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !slices.Contains(pack.Names, h.Name) || h.Typeflag != tar.TypeReg || h.Size > entity.MaxBinaries ||
			slices.Contains(found, h.Name) {
			return fmt.Errorf("unexpected file %q", h.Name)
		}
		if err := writeBinary(filepath.Join(dir, h.Name), t); err != nil {
			return err
		}
		found = append(found, h.Name)
	}
	for _, name := range pack.Names {
		if !slices.Contains(found, name) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

func writeBinary(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
}

// try checks that the binaries of dir run and have the version.
func try(ctx context.Context, dir, version string) error {
	if err := checkVersion(ctx, dir, version); err != nil {
		return err
	}
	for _, name := range []string{"machine-agent", "unit-agent"} {
		if _, err := run(ctx, filepath.Join(dir, name), "--help"); err != nil {
			return err
		}
	}
	return nil
}

// checkVersion checks the version that jujud in dir reports.
func checkVersion(ctx context.Context, dir, version string) error {
	said, err := run(ctx, filepath.Join(dir, "jujud"), "version")
	if err == nil && said != version {
		err = entity.Errorf(entity.Invalid, "the agent binaries have version %s, not %s", entity.Named(said), version)
	}
	return err
}

// run returns a program's output.
func run(ctx context.Context, path, arg string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	for {
		out, said, err := process.Program{Path: path, Args: []string{arg}, Max: maxOutput, Alone: true}.Output(ctx)
		if errors.Is(err, syscall.ETXTBSY) && ctx.Err() == nil {
			// A child that another goroutine has just forked holds the file open until it execs.
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err != nil {
			if said = bytes.TrimSpace(said); len(said) > 0 {
				err = fmt.Errorf("%w: %s", err, entity.Cut(string(said), 200))
			}
			return "", entity.Errorf(entity.Invalid, "%s does not run: %w", filepath.Base(path), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
}

// Keep stores the archive of installed binaries under its hash, for others to download. The file must
// be on the same file system.
func (d Dir) Keep(file *os.File, sha256 string) error {
	d.step("keep the archive")
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Link(file.Name(), d.Archive(sha256)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncDir(d.path)
}

// KeepFrom is Keep for an archive that is not a file. The error is Invalid if it does not have the hash.
func (d Dir) KeepFrom(r io.Reader, want string) error {
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(d.path, draftPattern)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, sum), r); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return entity.Errorf(entity.Invalid, "the archive of agent binaries does not have the SHA-256 %s", want)
	}
	return d.Keep(file, want)
}
