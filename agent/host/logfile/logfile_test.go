package logfile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// roleVariable makes the test binary a process that logs to the file it names.
const roleVariable = "LOGFILE_TEST"

func TestMain(m *testing.M) {
	if path := os.Getenv(roleVariable); path != "" {
		os.Exit(talk(path))
	}
	os.Exit(m.Run())
}

// sizes returns the number of a log's files and their total size in bytes.
func sizes(t *testing.T, path string) (total int64, files int) {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	return total, len(names)
}

// A log always consists of two files of bounded size, which hold whole lines, the newest ones.
func TestALogStaysWithinItsSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const max, writers, each = 20_000, 4, 2000
	w, err := Open(path, max)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := fmt.Fprintf(w, "writer %d line %d\n", n, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	fmt.Fprintln(w, "the end")
	if total, files := sizes(t, path); total > 2*max || total < max || files != 2 {
		t.Errorf("it has %d bytes in %d files", total, files)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if last := lines[len(lines)-1]; last != "the end" {
		t.Errorf("the last line is %q", last)
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "writer ") {
			t.Errorf("a line is %q", line)
		}
	}
}

// A long entry is cut to the length of a line, and says how much is missing.
func TestALongLineIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	w, err := Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if n, err := w.Write([]byte(strings.Repeat("x", 10<<20) + "\n")); n != 10<<20+1 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	text, err := os.ReadFile(path)
	if want := fmt.Sprintf("%s [%d bytes cut]\n", strings.Repeat("x", MaxLine), 10<<20+1-MaxLine); err != nil ||
		string(text) != want {
		t.Errorf("%d bytes are in the file, %v; they end %q", len(text), err, text[max(0, len(text)-40):])
	}
}

// If the directory is removed, the log of the running process does not grow unseen.
func TestADirectoryThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const max = 1000
	w, err := Open(filepath.Join(dir, "log"), max)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if _, err := fmt.Fprintln(w, "line", i); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := w.file.Stat(); err != nil || info.Size() > max {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// talk logs more than a file holds, then prints without the log.
func talk(path string) int {
	w, err := OfProcess(path, 1000)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := range 1000 {
		fmt.Fprintln(w, "logged", i)
	}
	fmt.Fprintln(os.Stdout, "printed")
	panic("a panic's words")
}

// What a process prints, and a panic, end up in the current file.
func TestOutputGoesToTheCurrentFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := OpenFile(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+path)
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err == nil {
		t.Error("it should have panicked")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	for _, want := range []string{"logged 999\n", "printed\n", "panic: a panic's words"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not in the current file: %q", want, text)
		}
		rest = after
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() > 1000 {
		t.Errorf("the file put aside: %v, %v", info, err)
	}
}

// A process started by hand logs to standard error, wherever that leads.
func TestStartedByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	out, err := OfProcess(path, 0)
	if err != nil || out != (lines{os.Stderr}) {
		t.Errorf("it logs to %v, %v", out, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
}
