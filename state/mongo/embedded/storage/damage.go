package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"juju/state/mongo/embedded/mongoerr"
)

// ErrDamaged is matched by errors about a file that doesn't contain what was written to it.
var ErrDamaged = errors.New("the store is damaged")

// A Damage describes a log that had been synced to the disk and is no longer intact.
type Damage struct {
	File string
	// At is the first wrong byte; all bytes up to Synced had reached the disk.
	At, Synced int64
}

func (d *Damage) Error() string {
	return fmt.Sprintf("file %s is damaged at byte %d, and %d bytes of it had reached the disk", d.File, d.At, d.Synced)
}

func (d *Damage) Is(target error) bool { return target == ErrDamaged }

// damaged converts Pebble's corruption errors to errors for clients, and returns other errors unchanged.
func damaged(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) {
		return err
	}
	what := "the store"
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		what = "the store's file " + path.Base(info.Path)
	}
	why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "pebble: "), "\n")
	return &readDamage{mongoerr.New(mongoerr.DataCorruptionDetected, "%s is damaged: %s", what, why)}
}

type readDamage struct{ coded *mongoerr.Error }

func (e *readDamage) Error() string { return e.coded.Message }

func (e *readDamage) Unwrap() error { return e.coded }

func (e *readDamage) Is(target error) bool { return target == ErrDamaged }

// The logs have Pebble's format: blocks filled with chunks that don't cross block boundaries. A chunk has a checksum, a
// length and a kind; chunks of the write-ahead log also have the log's number and the offset up to which it was synced.
// These are the header sizes by kind.
const logBlock = 32 << 10

var chunkHeaders = [...]int64{0, 7, 7, 7, 7, 11, 11, 11, 11, 19, 19, 19, 19}

// firstBad returns the offset of the first broken chunk below the given end, or -1.
func firstBad(r io.Reader, name string, end int64) (int64, error) {
	number, _ := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
	buf := make([]byte, logBlock)
	for begin := int64(0); begin < end; begin += logBlock {
		block := buf[:min(logBlock, end-begin)]
		n, err := io.ReadFull(r, block)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		if bad := badChunk(block[:n], uint32(number)); bad >= 0 {
			return begin + int64(bad), nil
		}
		if n < len(block) {
			return begin + int64(n), nil
		}
	}
	return -1, nil
}

// badChunk is firstBad for one block.
func badChunk(block []byte, number uint32) int {
	// A closed log ends with a chunk that has the next log's number.
	trailer := string(binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0, 0, 0, 5}, number+1))
	for i := 0; i < len(block); {
		rest := block[i:]
		if strings.HasPrefix(string(rest[:min(len(rest), len(trailer))]), trailer) {
			i += len(trailer)
			continue
		}
		if len(rest) < 7 || rest[6] == 0 {
			// No chunk fits in the rest of the block.
			if logBlock-i >= 19 || strings.Trim(string(rest), "\x00") != "" {
				return i
			}
			return -1
		}
		if int(rest[6]) >= len(chunkHeaders) {
			return i
		}
		header := chunkHeaders[rest[6]]
		size := header + int64(binary.LittleEndian.Uint16(rest[4:]))
		if size > int64(len(rest)) || maskedCRC(rest[6:size]) != binary.LittleEndian.Uint32(rest) {
			return i
		}
		if header > 7 && binary.LittleEndian.Uint32(rest[7:]) != number {
			return i
		}
		i += int(size)
	}
	return -1
}

// maskedCRC is the checksum of LevelDB's logs.
func maskedCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
