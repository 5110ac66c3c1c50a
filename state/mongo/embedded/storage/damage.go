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

// ErrDamaged is a file of the store that does not hold what was written to it.
var ErrDamaged = errors.New("the store is damaged")

// A Damage is a log that was on disk and is not whole any more.
type Damage struct {
	File string
	// At is the first byte that is not what it was; all up to Synced was on disk.
	At, Synced int64
}

func (d *Damage) Error() string {
	return fmt.Sprintf("file %s is damaged at byte %d, and %d bytes of it had reached the disk", d.File, d.At, d.Synced)
}

func (d *Damage) Is(target error) bool { return target == ErrDamaged }

// damaged says of an error of Pebble's that it is a damaged file, if it is, in
// a form that clients can be told.
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

// The logs are Pebble's: blocks, filled with chunks that do not span them. A
// chunk has a checksum, a length and a kind; logs of writes have the log's number
// too, and how far it was synced. These are the sizes of that, by the kind of
// chunk.
const logBlock = 32 << 10

var chunkHeaders = [...]int64{0, 7, 7, 7, 7, 11, 11, 11, 11, 19, 19, 19, 19}

// firstBad returns where the first chunk begins that is not whole, among those
// below the given end; -1 if all are.
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

// badChunk is firstBad within one block.
func badChunk(block []byte, number uint32) int {
	// A log that was closed ends with a chunk of the next number.
	trailer := string(binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0, 0, 0, 5}, number+1))
	for i := 0; i < len(block); {
		rest := block[i:]
		if strings.HasPrefix(string(rest[:min(len(rest), len(trailer))]), trailer) {
			i += len(trailer)
			continue
		}
		if len(rest) < 7 || rest[6] == 0 {
			// No more chunk fits in here.
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
