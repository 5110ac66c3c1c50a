package hooks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/juju/loggo"
	"golang.org/x/sys/unix"
)

// An outputRig is an output and the lines it has logged.
type outputRig struct {
	*output
	lines []string
}

func newOutput(t *testing.T, path string) *outputRig {
	t.Helper()
	r := &outputRig{}
	var err error
	r.output, err = openOutput(path, "agent", loggo.INFO, func(module string, _ loggo.Level, line string) { r.lines = append(r.lines, module+": "+line) })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *outputRig) want(t *testing.T, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, r.lines); diff != "" {
		t.Errorf("logged:\n%s", diff)
	}
	r.lines = nil
}

// begun begins a hook, and returns what that prints to. It is the hook's own, which
// outlives the end.
func (o *output) begun(t *testing.T, name string) *os.File {
	t.Helper()
	stdout, _, err := o.begin(name, "unit")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(stdout.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "stdout")
}

func write(t *testing.T, f *os.File, text string) {
	t.Helper()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// space returns a file's length and the disk space it takes, in bytes. A file is emptied only when
// no process has it open, and a process that is being started has all files of the tests open until
// it execs. So a test that wants an empty file does not run beside others.
func space(t *testing.T, path string) (size, used int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size(), info.Sys().(*syscall.Stat_t).Blocks * 512
}

// Lines are logged in the order of printing, each under its hook, even if they are unfinished,
// too long, or not text. Then the file is empty again.
func TestOutputLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := newOutput(t, path)
	f := o.begun(t, "start")
	write(t, f, "one\ntwo\r\n\nbad \xff byte\n\ttab, \x00, \x1b[31m, 1%\r2%, \u0085\nno end")
	f.Close()
	o.end()
	o.want(t, "start: one", "start: two", "start: ", "start: bad \uFFFD byte",
		`start: `+"\t"+`tab, \x00, \x1b[31m, 1%\r2%, \u0085`, "start: no end")
	if size, used := space(t, path); size != 0 || used != 0 {
		t.Errorf("the file is %d long and takes %d bytes", size, used)
	}

	f = o.begun(t, "stop")
	long := strings.Repeat("x", maxLine)
	write(t, f, long+long+"yz\nand on\n")
	o.end()
	o.want(t, fmt.Sprintf("stop: %s [%d bytes cut]", long, maxLine+2), "stop: and on")
	// A process that still has the file open can go on printing; its lines are those of no hook.
	write(t, f, "later\nno end")
	f.Close()
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o.want(t, "unit: later", "unit: no end")
}

// What one agent has logged the next doesn't, and what it hasn't, the next does,
// though a process that outlives both has the file open all the time.
func TestOutputOutlivesAgents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := newOutput(t, path)
	f := o.begun(t, "start")
	defer f.Close()
	for round := range 3 {
		line := fmt.Sprintf("round %d\n", round)
		write(t, f, strings.Repeat(line, 1000))
		o.end()
		if len(o.lines) != 1000 {
			t.Fatalf("logged %d lines of 1000", len(o.lines))
		}
		o.lines = nil
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
		o.want(t)
		write(t, f, "while no agent ran\n")
		o = newOutput(t, path)
		o.end()
		o.want(t, "agent: while no agent ran")
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

// A hook that prints without measure takes no measure of disk, and loses nothing.
func TestOutputTakesNoSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	total, n := 0, 0
	o, err := openOutput(path, "agent", loggo.INFO, func(module string, _ loggo.Level, line string) {
		var got int
		if _, err := fmt.Sscanf(line, "line %d ", &got); err != nil || got != n {
			t.Errorf("line %d is %.20q", n, line)
		}
		n++
	})
	if err != nil {
		t.Fatal(err)
	}
	f := o.begun(t, "start")
	for total < 16<<20 {
		var batch strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&batch, "line %d %s\n", total+i, strings.Repeat("x", 80))
		}
		total += 1000
		write(t, f, batch.String())
		if total >= 20000 {
			break
		}
		o.mu.Lock()
		o.read()
		o.mu.Unlock()
		if _, used := space(t, path); used > 2*freeAfter {
			t.Fatalf("the file takes %d bytes", used)
		}
	}
	o.end()
	if n != total {
		t.Errorf("logged %d lines of %d", n, total)
	}
	if size, used := space(t, path); used > 64<<10 {
		t.Errorf("of %d bytes %d still take space", size, used)
	}
	f.Close()
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	if size, _ := space(t, path); size != 0 {
		t.Errorf("the file is still %d long", size)
	}
}

// A hook that prints faster than its output is read, and what it leaves in the background, fill
// neither the disk nor the log. The last lines are logged, and the missing ones are counted.
func TestOutputRunsAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := newOutput(t, path)
	f := o.begun(t, "start")
	const lines, width = 1_000_000, 100 // 100 MB
	var text strings.Builder
	o.mu.Lock() // nothing reads meanwhile
	for i := range lines {
		fmt.Fprintf(&text, "%0*d\n", width-1, i)
		if text.Len() >= 1<<20 {
			write(t, f, text.String())
			text.Reset()
		}
	}
	write(t, f, text.String())
	o.mu.Unlock()
	o.end() // f stays open, as in a child that lives on
	logged, skipped := 0, 0
	for _, line := range o.lines {
		logged += len(line)
		if strings.Contains(line, "skipped") {
			fmt.Sscanf(line, "start: %d bytes of output are skipped here", &skipped)
		}
	}
	if logged > 2*keptBehind || skipped < lines*width-2*keptBehind || skipped > lines*width-keptBehind {
		t.Errorf("%d bytes are logged, %d are said to be skipped", logged, skipped)
	}
	if want := fmt.Sprintf("start: %0*d", width-1, lines-1); o.lines[len(o.lines)-1] != want {
		t.Errorf("the last line is %q", o.lines[len(o.lines)-1])
	}
	if size, used := space(t, path); size > 0 || used > 0 {
		t.Errorf("the file is %d long and takes %d bytes", size, used)
	}
	o.lines = nil
	write(t, f, "later\n")
	f.Close()
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o.want(t, "unit: later")
}

// Between hooks the file is looked at as long as a process that one has left has it open, so that
// its lines are logged soon, and no longer, so that an idle agent does nothing.
func TestOutputIsReadOnlyWhileItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleep := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		path := filepath.Join(t.TempDir(), "output")
		o := newOutput(t, path)
		f := o.begun(t, "start")
		o.end()
		for range 3 {
			sleep(10 * idleLook)
			write(t, f, "later\n")
			sleep(idleLook + 1)
			o.want(t, "unit: later")
		}
		write(t, f, "at last\n")
		f.Close()
		sleep(idleLook + 1)
		o.want(t, "unit: at last")
		if size, _ := space(t, path); size != 0 {
			t.Errorf("the file is still %d long", size)
		}
		if err := os.WriteFile(path, []byte("from elsewhere\n"), 0); err != nil {
			t.Fatal(err)
		}
		sleep(10 * idleLook)
		o.want(t)
		f = o.begun(t, "stop")
		o.want(t, "unit: from elsewhere")
		write(t, f, "running\n")
		sleep(busyLook + 1)
		o.want(t, "stop: running")
		o.end()
		f.Close()
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A process prints its last line, and ends, after the file has been read and before its space is freed. The line is not
// left for the next hook.
func TestLastLineOfABackgroundProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := newOutput(t, path)
	f := o.begun(t, "start")
	o.end()
	o.mu.Lock()
	o.read()
	write(t, f, "at last\n")
	f.Close()
	over := o.reset()
	o.mu.Unlock()
	o.want(t, "unit: at last")
	if size, _ := space(t, path); size != 0 || !over {
		t.Errorf("the file is still %d long, all is over: %v", size, over)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

// Space for a hook's output is reserved before the hook begins.
func TestOutputHasSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Fallocate(int(other.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, reserved); err != nil {
		t.Skipf("the file system can reserve no space: %v", err)
	}
	path := filepath.Join(dir, "output")
	o := newOutput(t, path)
	f := o.begun(t, "start")
	if size, used := space(t, path); size != 0 || used < reserved {
		t.Errorf("the file is %d long and takes %d bytes, want 0 and %d", size, used, reserved)
	}
	f.Close()
	o.end()
	o.want(t)
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

// That output can't be read any more is logged once.
func TestOutputThatCannotBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output")
	o := newOutput(t, path)
	o.mu.Lock()
	o.file.Close()
	o.read()
	o.read()
	o.mu.Unlock()
	o.want(t, "agent: cannot read the hook's output: stat "+path+": file already closed")
	if err := o.close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("it is closed with %v", err)
	}
}

// Emptying the file by hand does not stop the log.
func TestOutputEmptiedByHand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output")
	o := newOutput(t, path)
	f := o.begun(t, "start")
	defer f.Close()
	write(t, f, "a long line before\n")
	o.end()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, f, "after\n")
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o.want(t, "start: a long line before", "unit: after")
}

// The last line of stderr is told from lines of stdout, though both are logged in the order of
// printing.
func TestOutputKnowsTheLastLineOfStderr(t *testing.T) {
	t.Parallel()
	o := newOutput(t, filepath.Join(t.TempDir(), "output"))
	for _, test := range []struct {
		name   string
		prints []string // lines that begin with E go to stderr
		last   string
	}{
		{"both", []string{"one\n", "E: broken\n", "cleaning up\n"}, "E: broken"},
		{"stderr last", []string{"one\n", "E: broken\n", "E: worse"}, "E: worse"},
		{"several lines at once", []string{"E: a\nE: b\n", "out\n"}, "E: b"},
		{"blank lines", []string{"E: broken\n\n \n", "out\n"}, "E: broken"},
		{"a line in parts", []string{"E: bro", "E: ken\n", "out\n"}, "E: broE: ken"},
		{"stdout alone", []string{"one\n", "two\n"}, "two"},
		{"nothing", nil, ""},
	} {
		for _, looks := range []bool{false, true} {
			stdout, stderr, err := o.begin("start", "unit")
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range test.prints {
				if strings.HasPrefix(text, "E") {
					write(t, stderr, text)
				} else {
					write(t, stdout, text)
				}
				if looks { // as the follower does now and then
					o.mu.Lock()
					o.read()
					o.mu.Unlock()
				}
			}
			if last := o.end(); last != test.last {
				t.Errorf("%s (looks: %v): the last line is %q, want %q", test.name, looks, last, test.last)
			}
			if all := strings.TrimSpace(strings.Join(test.prints, "")); len(o.lines) != strings.Count(all, "\n")+min(len(all),
				1) && test.name != "blank lines" {
				t.Errorf("%s: logged %q", test.name, o.lines)
			}
			o.lines = nil
		}
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

// What a full disk leaves of a line is not logged as NULs.
func TestLostOutput(t *testing.T) {
	r := newOutput(t, filepath.Join(t.TempDir(), "output"))
	hook := r.begun(t, "hook")
	write(t, hook, "one\nhalf of "+strings.Repeat("\x00", 64)+"\na\x00b\n")
	hook.Close()
	r.end()
	r.want(t, "hook: one", "hook: half of [64 bytes were lost, as on a full disk]", `hook: a\x00b`)
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// What a hook writes to stderr is logged as a warning.
func TestStderrIsAWarning(t *testing.T) {
	var lines []string
	o, err := openOutput(filepath.Join(t.TempDir(), "output"), "agent", loggo.INFO,
		func(_ string, level loggo.Level, line string) { lines = append(lines, level.String()+" "+line) })
	if err != nil {
		t.Fatal(err)
	}
	look := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.read()
	}
	stdout, stderr, err := o.begin("hook", "unit")
	if err != nil {
		t.Fatal(err)
	}
	write(t, stdout, "one\n")
	write(t, stderr, "two\nthree\n")
	look()
	write(t, stdout, "four\n")
	look()
	write(t, stderr, "five\n")
	o.end()
	if err := o.close(); err != nil {
		t.Error(err)
	}
	want := []string{"INFO one", "WARNING two", "WARNING three", "INFO four", "WARNING five"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
