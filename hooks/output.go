package hooks

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/juju/loggo"
	"golang.org/x/sys/unix"

	"juju/state/entity"
)

const (
	// maxLine is how many bytes of a line are logged; the controller truncates longer lines.
	maxLine = 16 << 10
	// readAtOnce is the size of reads.
	readAtOnce = 64 << 10
	// maxBehind is how far the log may lag behind the output. Beyond that, only the last keptBehind bytes
	// are logged: a hook can print faster than the agent logs, and must not fill the disk.
	maxBehind  = 8 << 20
	keptBehind = 1 << 20
	// maxLength is the length from which the file is truncated even if a process has it open. What that
	// appends at the same moment is lost.
	maxLength = 64 << 20
	// freeAfter is how much of the file may be read before its space is freed.
	freeAfter = 1 << 20
	// busyLook and idleLook are the polling intervals while a hook runs, and between hooks while a
	// background process has the file open; otherwise it is not polled. inotify is not used, because a
	// user has only 128 instances, and a host may have more agents. A hook's last lines are read when it
	// exits, without delay.
	busyLook = 20 * time.Millisecond
	idleLook = 2 * time.Second
)

// An output is the file that receives hooks' output, and is copied to the log. It is not a pipe, because
// restarting the agent would then break hooks' background processes with SIGPIPE. The space of what has
// been read is freed, so that verbose processes don't fill the disk.
type output struct {
	path string
	emit func(module string, level loggo.Level, line string)
	// level is the log level of its lines. Lines known to come from stderr are warnings.
	level loggo.Level
	stop  chan struct{}
	done  chan struct{}
	wake  chan bool // whether a hook runs

	mu      sync.Mutex
	file    *os.File
	module  string // whose the lines are: those of the hook that runs, or of between
	between string // whose the lines are between hooks, of what they have left running
	offset  int64  // up to here it has been read
	freed   int64  // up to here it takes no space
	skip    bool   // zeros, left where an earlier agent's reading was freed
	partial []byte // a line whose end has not been written
	cut     int64  // bytes of it beyond maxLine
	lineAt  int64  // where in the file that line begins
	broken  error  // why it can't be read any more; logged once

	// The running hook's two streams, and its last telling lines: of all its output, and of
	// its stderr.
	stdout, stderr *os.File
	outEnd, errEnd int64 // the ends of what it has written to them
	last, lastErr  string

	keep    int    // how many bytes of the output are kept, besides the log
	kept    []byte // those
	dropped int64  // how many bytes there were beyond them
}

// reserved is how much disk space is allocated for the output before a hook or task starts.
const reserved = 64 << 10

// room allocates disk space for the output of a hook or task. The error is that of a full disk if there is none.
func (o *output) room() error {
	info, err := o.file.Stat()
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(o.file.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), reserved)
	if entity.IsDiskFull(err) {
		return fmt.Errorf("no room for output in %s: %w", filepath.Dir(o.path), err)
	}
	return nil // or a file system that can reserve none
}

// openOutput opens the file, which it creates if necessary, and starts following it, beginning with what
// an earlier agent has not read. It calls emit for each line.
func openOutput(
	path, module string, level loggo.Level, emit func(module string, level loggo.Level, line string),
) (*output, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot follow the hooks' output: %w", err)
	}
	o := &output{path: path, module: module, between: module, level: level, emit: emit, file: file, skip: true,
		stop: make(chan struct{}), done: make(chan struct{}), wake: make(chan bool)}
	o.offset, err = unix.Seek(int(file.Fd()), 0, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // no data at all
		var info os.FileInfo
		if info, err = file.Stat(); err == nil {
			o.offset = info.Size()
		}
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot follow the hooks' output: %w", err)
	}
	o.freed = o.offset
	go o.follow()
	return o, nil
}

// close stops following, after a final read.
func (o *output) close() error {
	close(o.stop)
	<-o.done
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read()
	o.flush()
	o.reset()
	return o.file.Close()
}

// begin assigns the following lines to the module of a hook, and those after its end to between. It
// returns the hook's stdout and stderr, which end closes. Both are the same file, so that lines stay in
// order. They are opened separately, so that the offset of the second is the end of the last write to
// stderr, which distinguishes lines of stderr from those of stdout.
func (o *output) begin(module, between string) (stdout, stderr *os.File, err error) {
	o.mu.Lock()
	o.read()
	o.flush()
	o.module, o.between = module, between
	o.outEnd, o.errEnd, o.last, o.lastErr = 0, 0, "", ""
	o.kept, o.dropped = nil, 0
	o.mu.Unlock()
	if err := o.room(); err != nil {
		return nil, nil, err
	}
	// These are not duplicates of the follower's descriptor: reset asks the kernel whether the
	// file is open elsewhere.
	if stdout, err = os.OpenFile(o.path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
		stderr, err = os.OpenFile(o.path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		stdout.Close() // of nil it is harmless
		return nil, nil, fmt.Errorf("cannot open the hook's output: %w", err)
	}
	o.mu.Lock()
	o.stdout, o.stderr = stdout, stderr
	o.mu.Unlock()
	o.wake <- true
	return stdout, stderr, nil
}

// end logs all output so far, closes the files that begin opened, and returns the hook's last telling
// line of stderr or, if there is none, of stdout.
func (o *output) end() string {
	o.wake <- false
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read()
	o.flush()
	o.stdout.Close()
	o.stderr.Close()
	o.stdout, o.stderr = nil, nil
	o.module = o.between
	o.reset()
	return cmp.Or(o.lastErr, o.last)
}

func (o *output) follow() {
	defer close(o.done)
	timer := time.NewTimer(idleLook)
	defer timer.Stop()
	every := idleLook
	for {
		select {
		case <-o.stop:
			return
		case busy := <-o.wake:
			every = idleLook
			if busy {
				every = busyLook
			}
		case <-timer.C:
			o.mu.Lock()
			o.read()
			over := every == idleLook && o.reset()
			o.mu.Unlock()
			if over {
				continue
			}
		}
		timer.Reset(every)
	}
}

// read logs the lines that are in the file when it is called, so that a process that prints endlessly
// does not block it. The caller must hold mu.
func (o *output) read() {
	info, err := o.file.Stat()
	if err == nil && info.Size() < o.offset { // it was emptied from outside
		o.offset, o.freed = 0, 0
	}
	// This must come after the size: the next read handles later writes to stderr.
	if o.stderr != nil {
		if end, err := o.stderr.Seek(0, io.SeekCurrent); err == nil {
			o.errEnd = end
		}
		if end, err := o.stdout.Seek(0, io.SeekCurrent); err == nil {
			o.outEnd = end
		}
	}
	for err == nil && o.offset < info.Size() {
		if behind := info.Size() - o.offset; behind > maxBehind {
			o.pass(behind - keptBehind)
		}
		buf := make([]byte, min(info.Size()-o.offset, readAtOnce))
		var n int
		n, err = o.file.ReadAt(buf, o.offset)
		o.take(buf[:n], o.offset)
		o.offset += int64(n)
		o.free(freeAfter)
	}
	if err == nil && o.freed > maxLength {
		if info, err := o.file.Stat(); err == nil && info.Size() > o.offset {
			o.pass(info.Size() - o.offset) // the file keeps growing
		}
		o.empty()
	}
	if err != nil && o.broken == nil {
		o.broken = err
		o.emit(o.module, loggo.WARNING, fmt.Sprintf("cannot read the hook's output: %v", err))
	}
}

// pass skips the given number of bytes, and logs that it did.
func (o *output) pass(bytes int64) {
	o.flush()
	o.emit(o.module, o.level, fmt.Sprintf("%d bytes of output are skipped here: it came faster than it can be logged",
		bytes))
	o.offset += bytes
	o.dropped += bytes
	o.free(freeAfter)
}

// take splits a chunk read from the file into lines.
func (o *output) take(data []byte, at int64) {
	end := at + int64(len(data))
	if o.skip {
		data = bytes.TrimLeft(data, "\x00")
		o.skip = len(data) == 0
	}
	if o.keep > 0 {
		fits := min(len(data), o.keep-len(o.kept))
		o.kept = append(o.kept, data[:fits]...)
		o.dropped += int64(len(data) - fits)
	}
	for len(data) > 0 {
		if len(o.partial) == 0 {
			o.lineAt = end - int64(len(data))
		}
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if room := maxLine - len(o.partial); len(line) > room {
			o.cut += int64(len(line) - room)
			line = line[:room]
		}
		o.partial = append(o.partial, line...)
		if whole {
			o.line()
		}
	}
}

// line logs the accumulated line.
func (o *output) line() {
	text := printable(strings.TrimSuffix(strings.ToValidUTF8(string(unwritten(o.partial)), "\uFFFD"), "\r"))
	if o.cut > 0 {
		text += fmt.Sprintf(" [%d bytes cut]", o.cut)
	}
	o.partial, o.cut = o.partial[:0], 0
	level := o.level
	if o.lineAt >= o.outEnd && o.lineAt < o.errEnd {
		level = loggo.WARNING // the hook has written nothing to stdout since
	}
	o.emit(o.module, level, text)
	o.last = telling(o.last, text)
	if o.lineAt < o.errEnd {
		o.lastErr = telling(o.lastErr, text)
	}
}

// lostBytes are left in a file in place of output that a full disk lost. Charms don't print such bytes.
var lostBytes = regexp.MustCompile("\x00{16,}")

// unwritten replaces output lost to a full disk by its size.
func unwritten(line []byte) []byte {
	return lostBytes.ReplaceAllFunc(line, func(lost []byte) []byte {
		return fmt.Appendf(nil, "[%d bytes were lost, as on a full disk]", len(lost))
	})
}

// printable escapes control characters in a charm's output as in Go: \x00, \x1b. This protects the
// terminals of users who read the log. Tabs and newlines are kept.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// flush logs an unterminated line.
func (o *output) flush() {
	if len(o.partial) > 0 {
		o.line()
	}
}

// free frees the space of what has been read, if it is at least minimum bytes. It punches a hole, because
// truncating could lose concurrent appends.
func (o *output) free(minimum int64) {
	if o.offset-o.freed < minimum {
		return
	}
	err := unix.Fallocate(int(o.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, o.freed, o.offset-o.freed)
	if err == nil {
		o.freed = o.offset
		return
	}
	o.empty() // a file system without holes: a line may be lost here, but not the disk
}

// empty truncates the file if all of it has been read.
func (o *output) empty() {
	if info, err := o.file.Stat(); err != nil || info.Size() != o.offset || o.file.Truncate(0) != nil {
		return
	}
	o.offset, o.freed, o.outEnd, o.errEnd = 0, 0, 0, 0
	if o.stderr != nil { // or they would say where the streams ended before
		_, _ = o.stdout.Seek(0, io.SeekStart)
		_, _ = o.stderr.Seek(0, io.SeekStart)
	}
}

// reset truncates the file if no other process has it open, which it checks with a write lease, and
// returns true: no more output is possible before the next begin. Otherwise it frees what has been read.
func (o *output) reset() (over bool) {
	fd := o.file.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		o.free(1)
		return false
	}
	defer unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	o.read() // what the last process printed before it closed the file
	if o.offset > 0 {
		o.empty()
	}
	return true
}
