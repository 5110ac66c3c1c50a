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

// tryBound is how long a program may take to say its version.
const tryBound = 20 * time.Second

// maxSaid is how much a program may print then, in bytes.
const maxSaid = 64 << 10

// draftPattern is the name of what is not complete yet.
const draftPattern = ".draft-*"

// Options change what a Dir does.
type Options struct {
	// Step is called before each change of the disk, with a name for it.
	Step func(name string)
	// Bound is how long binaries on trial may take, from a start that counts, to confirm that they work;
	// for ever when zero.
	Bound time.Duration
}

// A Dir is a directory with the binaries of a controller or a machine.
type Dir struct {
	path    string
	options Options
}

// New returns the Dir at path. It need not exist yet.
func New(path string, o Options) Dir { return Dir{path, o} }

func (d Dir) step(name string) {
	if d.options.Step != nil {
		d.options.Step(name)
	}
}

// Of returns the directory of the binaries with this hash.
func (d Dir) Of(sha256 string) string { return filepath.Join(d.path, sha256) }

// Archive returns the file with the archive that has this hash, if Keep has kept it.
func (d Dir) Archive(sha256 string) string { return filepath.Join(d.path, sha256+".tar.gz") }

// Has reports whether the binaries with this hash are installed.
func (d Dir) Has(sha256 string) bool {
	if !entity.IsSHA256(sha256) {
		return false
	}
	_, err := os.Stat(d.Of(sha256))
	return err == nil
}

// Install unpacks the binaries of the archive that r reads. It refuses, and leaves nothing of, an
// archive with another hash, an archive that lacks a program, and binaries that don't run or have
// another version. It does nothing if the binaries are there.
func (d Dir) Install(ctx context.Context, r io.Reader, want entity.Binaries) error {
	if !entity.IsSHA256(want.SHA256) {
		return entity.Errorf(entity.Invalid, "%q is no SHA-256", want.SHA256)
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
	d.step("name the programs")
	if err := os.Rename(draft, d.Of(want.SHA256)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncDir(d.path)
}

func (d Dir) fill(ctx context.Context, draft string, r io.Reader, want entity.Binaries) error {
	// Agents of other users may run what is here.
	if err := os.Chmod(draft, 0o755); err != nil {
		return err
	}
	sum := sha256.New()
	limited := &io.LimitedReader{R: r, N: entity.MaxBinaries + 1}
	all := io.TeeReader(limited, sum)
	d.step("unpack")
	unpackErr := unpack(draft, all)
	// The hash is of every byte, and says more than the error of an archive that is cut or changed.
	if _, err := io.Copy(io.Discard, all); err != nil {
		return fmt.Errorf("cannot read the archive of programs: %w", err)
	}
	if limited.N == 0 {
		return entity.TooLarge("the archive of programs", entity.MaxBinaries)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return entity.Errorf(entity.Invalid, "the archive of programs has another SHA-256 than %s", want.SHA256)
	}
	if unpackErr != nil {
		return entity.Errorf(entity.Invalid, "cannot unpack the archive of programs: %w", unpackErr)
	}
	d.step("try the programs")
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
			return fmt.Errorf("it holds %q, which is not expected", h.Name)
		}
		if err := writeProgram(filepath.Join(dir, h.Name), t); err != nil {
			return err
		}
		found = append(found, h.Name)
	}
	for _, name := range pack.Names {
		if !slices.Contains(found, name) {
			return fmt.Errorf("it holds no %s", name)
		}
	}
	return nil
}

func writeProgram(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
}

// try runs binaries of dir that do nothing, and compares the version.
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

// checkVersion asks the binaries of dir for their version.
func checkVersion(ctx context.Context, dir, version string) error {
	said, err := run(ctx, filepath.Join(dir, "jujud"), "version")
	if err == nil && said != version {
		err = entity.Errorf(entity.Invalid, "the programs have version %s, not %s", entity.Named(said), version)
	}
	return err
}

// run returns what a program prints.
func run(ctx context.Context, path, arg string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	for {
		out, said, err := process.Program{Path: path, Args: []string{arg}, Max: maxSaid, Alone: true}.Output(ctx)
		if errors.Is(err, syscall.ETXTBSY) && ctx.Err() == nil {
			// A process that another goroutine has just forked has the file open until it execs.
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

// Keep keeps an archive whose binaries are installed, under its hash, so that others can have it. The
// file is on the same disk.
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
