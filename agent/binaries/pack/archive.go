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

// Names are the binaries of controllers and agents. They are packed into one archive,
// whose hash identifies the build.
var Names = []string{"jujud", "machine-agent", "unit-agent", "hook-tool"}

// WriteArchive writes an archive of binaries in dir, in the format of provider.Tools, and returns its
// SHA-256 in hex. The same binaries always result in the same archive.
func WriteArchive(w io.Writer, dir string, names ...string) (string, error) {
	sum := sha256.New()
	if err := writeArchive(io.MultiWriter(w, sum), dir, names); err != nil {
		return "", fmt.Errorf("cannot make the archive of agent binaries: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func writeArchive(w io.Writer, dir string, names []string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range names {
		if err := addBinary(t, dir, name); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func addBinary(t *tar.Writer, dir, name string) error {
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
