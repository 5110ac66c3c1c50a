package charmdir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/sys/unix"
)

// log returns the history, oldest first: "message: file=content file=content".
func (h History) log(t *testing.T) []string {
	t.Helper()
	repo, err := git.PlainOpen(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	commits, err := repo.Log(&git.LogOptions{})
	if err == plumbing.ErrReferenceNotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	err = commits.ForEach(func(c *object.Commit) error {
		line := c.Message + ":"
		files, err := c.Files()
		if err != nil {
			return err
		}
		err = files.ForEach(func(f *object.File) error {
			content, err := f.Contents()
			line += " " + f.Name + "=" + content
			return err
		})
		lines = append(lines, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(lines)
	return lines
}

func newHistory(t *testing.T) (History, Dir) {
	d := Dir{Path: t.TempDir()}
	return History{Path: d.Path, Author: "unit web/0"}, d
}

func (h History) mustRecord(t *testing.T, message string) {
	t.Helper()
	if err := h.Record(message); err != nil {
		t.Fatal(err)
	}
}

func (h History) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := h.log(t); !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestHistoryHookByHook(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "hooks/install", "x")
	h.mustRecord(t, "deploy local:web-1")
	d.write(t, "state", "1")
	h.mustRecord(t, "hook install")
	h.mustRecord(t, "hook config-changed") // which changes nothing
	d.write(t, "state", "2")               // of the same size, moments later
	h.mustRecord(t, "hook start")
	if err := os.Remove(filepath.Join(d.Path, "state")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "hook stop")
	h.expect(t,
		"deploy local:web-1: hooks/install=x",
		"hook install: hooks/install=x state=1",
		"hook start: hooks/install=x state=2",
		"hook stop: hooks/install=x")
}

// A file is overwritten as fast as the machine can, at the same size. Each change is seen,
// however coarse the file system's clock is.
func TestQuickChangesAreSeen(t *testing.T) {
	h, d := newHistory(t)
	var want []string
	for i := range 20 {
		content := fmt.Sprintf("%02d", i)
		f, err := os.OpenFile(filepath.Join(d.Path, "state"), os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(content); err != nil {
			t.Fatal(err)
		}
		f.Close()
		h.mustRecord(t, "hook")
		want = append(want, "hook: state="+content)
	}
	h.expect(t, want...)
}

func TestHistoryOfModesAndLinks(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "a", "a")
	d.write(t, "b", "b")
	h.mustRecord(t, "one")
	if err := os.Chmod(filepath.Join(d.Path, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "executable")
	if err := os.Remove(filepath.Join(d.Path, "b")); err != nil {
		t.Fatal(err)
	}
	d.write(t, "b/c", "c")
	h.mustRecord(t, "directory")
	if err := os.RemoveAll(filepath.Join(d.Path, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(d.Path, "b")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "link")
	if err := os.Chtimes(filepath.Join(d.Path, "a"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "touched only")
	h.expect(t, "one: a=a b=b", "executable: a=a b=b", "directory: a=a b/c=c", "link: a=a b=a")
	if git, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"fsck", "--strict"}, {"diff", "--exit-code", "HEAD"}} {
			if out, err := exec.Command(git,
				append([]string{"-C", d.Path, "-c", "safe.directory=*"}, args...)...).CombinedOutput(); err != nil {
				t.Errorf("git %v: %v\n%s", args, err, out)
			}
		}
	}
}

func TestHistoryLeavesOutSpecialAndLargeFiles(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "kept", "x")
	d.write(t, ".gitignore", "*")
	d.write(t, "lib/.git/config", "a clone's")
	d.write(t, "lib/code", "y")
	d.write(t, "submodule/.git", "gitdir: elsewhere")
	if err := unix.Mkfifo(filepath.Join(d.Path, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(d.Path, "socket")}); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(d.Path, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(maxTracked + 1); err != nil {
		t.Fatal(err)
	}
	big.Close()
	if os.Getuid() != 0 { // root may read all
		d.write(t, "secret", "z")
		if err := os.Chmod(filepath.Join(d.Path, "secret"), 0); err != nil {
			t.Fatal(err)
		}
	}
	h.mustRecord(t, "hook")
	h.expect(t, "hook: .gitignore=* kept=x lib/code=y")
}

func TestHistoryOfAnEmptyDirectory(t *testing.T) {
	h, d := newHistory(t)
	h.mustRecord(t, "hook")
	h.expect(t)
	d.write(t, "a", "a")
	h.mustRecord(t, "hook")
	if err := os.Remove(filepath.Join(d.Path, "a")); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "emptied")
	h.expect(t, "hook: a=a", "emptied:")
}

func TestDamagedIndexIsMadeAnew(t *testing.T) {
	h, d := newHistory(t)
	d.write(t, "a", "a")
	h.mustRecord(t, "one")
	if err := os.Truncate(filepath.Join(d.Path, ".git/index"), 20); err != nil {
		t.Fatal(err)
	}
	h.mustRecord(t, "the same")
	d.write(t, "a", "b")
	h.mustRecord(t, "two")
	h.expect(t, "one: a=a", "two: a=b")
}

func TestHistoryErrors(t *testing.T) {
	h := History{Path: filepath.Join(t.TempDir(), "missing")}
	d := Dir{Path: t.TempDir()}
	d.write(t, "file", "")
	h.Path = filepath.Join(d.Path, "file")
	if err := h.Record("hook"); err == nil || !strings.HasPrefix(err.Error(), "cannot record the history of ") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkHistory measures what the history costs each hook, for a charm of N files of
// which none or one has changed, and what it costs to put the charm there first.
func BenchmarkHistory(b *testing.B) {
	for _, charm := range []struct{ files, size int }{{10, 4}, {100, 4}, {1000, 4}, {5000, 20_000}} {
		name := fmt.Sprintf("files=%d/kB=%d", charm.files, charm.files*charm.size/1000)
		h := History{Path: b.TempDir(), Author: "unit web/0"}
		write := func(i int, content string) {
			path := filepath.Join(h.Path, fmt.Sprintf("lib/%d/%d", i/50, i))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		record := func(b *testing.B, message string) {
			if err := h.Record(message); err != nil {
				b.Fatal(err)
			}
		}
		random := rand.New(rand.NewPCG(1, 2)) // content that does not compress
		for i := range charm.files {
			content := make([]byte, charm.size)
			for j := range content {
				content[j] = byte(random.Uint32())
			}
			write(i, string(content))
		}
		b.Run(name+"/deploy", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := os.RemoveAll(filepath.Join(h.Path, ".git")); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				record(b, "deploy")
			}
		})
		round := 0
		for _, changed := range []int{0, 1} {
			b.Run(fmt.Sprintf("%s/changed=%d", name, changed), func(b *testing.B) {
				for b.Loop() {
					if changed > 0 {
						round++
						write(7, fmt.Sprint("round ", round))
					}
					record(b, "hook")
				}
			})
		}
	}
}
