package pack

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Names are the binaries of controllers and agents. There is one archive of all of them, so that
// its hash names a build, wherever that runs.
var Names = []string{"jujud", "machine-agent", "unit-agent", "hook-tool"}

// WriteArchive writes an archive, as provider.Tools describes it, of binaries of the directory dir,
// and returns its SHA-256, in hex. The same binaries make the same bytes.
func WriteArchive(w io.Writer, dir string, programs ...string) (string, error) {
	sum := sha256.New()
	if err := writeArchive(io.MultiWriter(w, sum), dir, programs); err != nil {
		return "", fmt.Errorf("cannot make the archive of programs: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func writeArchive(w io.Writer, dir string, programs []string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range programs {
		if err := addProgram(t, dir, name); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func addProgram(t *tar.Writer, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
