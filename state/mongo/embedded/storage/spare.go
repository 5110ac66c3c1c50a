package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// A spare is a file that reserves space on the disk. It is removed when the store fails, so that
// the reason can still be written to a log on the same disk.
type spare struct {
	fs   vfs.FS
	path string
}

const (
	spareName = "SPARE"
	spareSize = 256 << 10
)

// make creates the file if there is space for it.
func (s *spare) make() {
	if _, err := s.fs.Stat(s.path); err == nil {
		return
	}
	f, err := s.fs.Create(s.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	err = f.Preallocate(0, spareSize)
	_ = f.Close()
	if err != nil {
		s.free()
	}
}

func (s *spare) free() { _ = s.fs.Remove(s.path) }
