package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// syncedName is the file that records how far the logs are synced.
const syncedName = "SYNCED"

// synced records how many bytes of each log are known to be on disk. Missing or wrong bytes below that are damage;
// above it, they are the end of a log cut off by a power loss.
//
// The file is written after each sync and is not synced itself, which would double the cost of a barrier. So after a
// power loss it may be older than the logs: then it covers fewer bytes, but never bytes that weren't on disk. It has
// two slots that are written alternately, so that one of them is always intact.
type synced struct {
	fs   vfs.FS
	path string

	mu    sync.Mutex
	file  vfs.File // opened by the first note
	turn  uint64
	bytes map[string]int64 // by the name of the log
}

// A slot is a checksum of the rest, a sequence number, the number of logs, and for each the length of its name, its
// name and its bytes.
const (
	slotSize   = 2048
	slotHeader = 4 + 8 + 1
	maxLogs    = 64 // a handful is typical
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openSynced reads the file in dir; a missing file is not an error.
func openSynced(fsys vfs.FS, dir string) (*synced, error) {
	s := &synced{fs: fsys, path: fsys.PathJoin(dir, syncedName), bytes: map[string]int64{}}
	f, err := fsys.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for slot := range int64(2) {
		buf := make([]byte, slotSize)
		if n, err := f.ReadAt(buf, slot*slotSize); err != nil && (err != io.EOF || n < slotHeader) {
			if err == io.EOF {
				continue
			}
			return nil, err
		}
		if turn, bytes, ok := decodeSlot(buf); ok && turn >= s.turn {
			s.turn, s.bytes = turn, bytes
		}
	}
	return s, nil
}

func decodeSlot(buf []byte) (turn uint64, bytes map[string]int64, ok bool) {
	if crc32.Checksum(buf[4:], castagnoli) != binary.LittleEndian.Uint32(buf) {
		return 0, nil, false
	}
	turn, bytes = binary.LittleEndian.Uint64(buf[4:]), map[string]int64{}
	rest := buf[slotHeader:]
	for range buf[slotHeader-1] {
		n := int(rest[0])
		bytes[string(rest[1:1+n])] = int64(binary.LittleEndian.Uint64(rest[1+n:]))
		rest = rest[1+n+8:]
	}
	return turn, bytes, turn > 0
}

func (s *synced) encodeSlot() []byte {
	buf := make([]byte, slotHeader, slotSize)
	binary.LittleEndian.PutUint64(buf[4:], s.turn)
	// If there is no room for all, the oldest logs are left out: their names sort before newer ones and the manifest's.
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.bytes))) {
		if len(buf)+1+len(name)+8 > slotSize || buf[slotHeader-1] == maxLogs {
			break
		}
		buf = append(append(buf, byte(len(name))), name...)
		buf = binary.LittleEndian.AppendUint64(buf, uint64(s.bytes[name]))
		buf[slotHeader-1]++
	}
	buf = buf[:slotSize]
	binary.LittleEndian.PutUint32(buf, crc32.Checksum(buf[4:], castagnoli))
	return buf
}

// note records how many bytes of a log are on disk.
func (s *synced) note(name string, bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes[name] == bytes {
		return nil
	}
	if s.file == nil {
		f, err := s.fs.OpenReadWrite(s.path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		s.file = f
	}
	s.bytes[name] = bytes
	s.turn++
	_, err := s.file.WriteAt(s.encodeSlot(), int64(s.turn%2)*slotSize)
	return err
}

// forget removes a log that is no longer needed, or is restarted.
func (s *synced) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bytes, name)
}

// verify checks the part of a log that is known to be on disk.
func (s *synced) verify(name string, f vfs.File) error {
	s.mu.Lock()
	bytes := s.bytes[name]
	s.mu.Unlock()
	if bytes == 0 {
		return nil
	}
	bad, err := firstBad(f, name, bytes)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", name, err)
	}
	if bad < 0 {
		return nil
	}
	return &Damage{File: name, At: bad, Synced: bytes}
}

func (s *synced) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.SyncData(), s.file.Close())
}
