package doc_test

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// TestReleaseIsReproducible builds a release twice from the same commit in different directories, and its smallest program
// again with an empty cache, and wants the same bytes: static programs, that say which commit they are. It installs them, too.
func TestReleaseIsReproducible(t *testing.T) {
	verify.Only(t, "compiles everything for another architecture")
	first, second := copyOfTree(t), copyOfTree(t)
	const commit = "COMMIT=0123456789ab"
	runMake(t, first, nil, "release", commit)
	runMake(t, second, nil, "release", commit, "ARCHS=amd64")
	sums := readFile(t, filepath.Join(first, "dist", "SHA256SUMS"))
	again := readFile(t, filepath.Join(second, "dist", "SHA256SUMS"))
	if lines := strings.Count(sums, "\n"); lines != 2 || strings.Count(again, "\n") != 1 || !strings.Contains(sums, again) {
		t.Errorf("the first time SHA256SUMS is\n%sand the second\n%s", sums, again)
	}
	const smallest = "hook-tool"
	runMake(t, second, []string{"GOCACHE=" + t.TempDir()}, "release", commit, "ARCHS=amd64", "CMDS="+smallest)
	if one, other := program(t, first, smallest), program(t, second, smallest); one != other {
		t.Errorf("%s has %d bytes, and with an empty cache other %d", smallest, len(one), len(other))
	}
	check := exec.Command("sha256sum", "--check", "SHA256SUMS")
	check.Dir = filepath.Join(first, "dist")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		programs, err := filepath.Glob(filepath.Join(first, "dist", "juju-*-linux-"+arch, "*"))
		if err != nil || len(programs) != 5 {
			t.Errorf("for %s there are %q: %v", arch, programs, err)
		}
		for _, path := range programs {
			checkStatic(t, path, machine)
		}
	}
	installs(t, first, commit)
}

// program returns the bytes of a program that was built.
func program(t *testing.T, root, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "dist", "juju-*-linux-amd64", name))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s is %q: %v", name, found, err)
	}
	return readFile(t, found[0])
}

// checkStatic checks that a program is for a machine, and needs no loader and no libraries.
func checkStatic(t *testing.T, path string, machine elf.Machine) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) > 0 || f.Machine != machine {
		t.Errorf("%s is for %v and needs %q: %v", path, f.Machine, libraries, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s needs a loader", path)
		}
	}
}

// installs checks that make install puts a juju on PATH that finds its programs, and that make uninstall leaves nothing.
func installs(t *testing.T, root, commit string) {
	t.Helper()
	prefix := t.TempDir()
	runMake(t, root, nil, "install", commit, "PREFIX="+prefix)
	out, err := exec.Command(filepath.Join(prefix, "bin", "juju"), "version", "--all").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\ngit-commit: 0123456789ab\n") {
		t.Errorf("juju version --all: %v\n%s", err, out)
	}
	runMake(t, root, nil, "uninstall", "PREFIX="+prefix)
	err = filepath.WalkDir(prefix, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			t.Errorf("make uninstall leaves %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// copyOfTree copies the files that git knows.
func copyOfTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		from, to := filepath.Join("..", string(name)), filepath.Join(dir, string(name))
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // it is deleted, or a link of the tests
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runMake(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %q: %v\n%s", args, err, out)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
