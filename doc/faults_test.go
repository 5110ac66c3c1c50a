package doc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/agent/host/process"
	"juju/doc/tools/verify"
)

// A fault deliberately breaks one behaviour, to check that a test detects it.
type fault struct {
	line      int
	behaviour string // its number in behaviours.txt
	file      string // relative to the module's root
	test      string // as in behaviours.txt
	old, new  string
}

// readFaults returns the faults of faults.txt.
func readFaults(t *testing.T) []fault {
	t.Helper()
	text, err := os.ReadFile("faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	return faultsIn(t, text)
}

func faultsIn(t *testing.T, text []byte) (faults []fault) {
	t.Helper()
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '-' || line[0] == '+':
			if len(faults) == 0 {
				t.Fatalf("faults.txt:%d: a change without a fault", n+1)
			}
			f := &faults[len(faults)-1]
			if line[0] == '-' {
				f.old += line[1:] + "\n"
			} else {
				f.new += line[1:] + "\n"
			}
		default:
			number, rest, ok := strings.Cut(line, " ")
			file, test, ok2 := strings.Cut(rest, ": ")
			if !ok || !ok2 {
				t.Fatalf("faults.txt:%d: want number file: test, got %q", n+1, line)
			}
			faults = append(faults, fault{line: n + 1, behaviour: number, file: file, test: test})
		}
	}
	return faults
}

// plant returns the file with the fault in it.
func (f fault) plant() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join("..", f.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(f.old)); f.old == "" || n != 1 {
		return nil, fmt.Errorf("%s contains %d times:\n%s", f.file, n, f.old)
	}
	return bytes.Replace(text, []byte(f.old), []byte(f.new), 1), nil
}

// A test with a fault waits faultPatience for what must happen, which does without the fault within seconds; most faults are
// found because it does not. The whole test may run for faultBound: if the fault makes it hang, the timeout counts as detection.
const (
	faultPatience = time.Minute
	faultBound    = 6 * faultPatience
)

// survives runs the fault's test with the fault in place, and returns an error unless the test
// runs and fails.
func (f fault) survives(t *testing.T) error {
	planted, err := f.plant()
	if err != nil {
		return err
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, planted, 0o600); err != nil {
		return err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, f.file): file}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return err
	}
	folder, name, isTest := strings.Cut(f.test, " ")
	if !isTest {
		folder, name = "cmd/juju", "TestSystem/"+strings.TrimSuffix(filepath.Base(f.test), ".txtar")
		if strings.Contains(f.test, "/landing/") {
			name = strings.Replace(name, "TestSystem", "TestLanding", 1)
		}
	}
	tmp, err := os.MkdirTemp("", "fault")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// A test that hangs leaves its hooks and agents, which have its TMPDIR or one below it.
	defer process.EndMarked(context.Background(), "TMPDIR", func(dir, _ string) bool { return strings.HasPrefix(dir, tmp) }, 0)
	// Programs built by a test contain the fault too. Tests run at their usual size.
	env := append(os.Environ(), "TMPDIR="+tmp, "GOFLAGS=-trimpath -overlay="+overlay, "JUJU_VERIFY=1", "JUJU_SMOKED=", "JUJU_SOAK=", "JUJU_PATIENCE="+faultPatience.String())
	binary := filepath.Join(dir, "planted.test")
	if out, err := buildTest(root, env, "-o", binary, "./"+folder); err != nil {
		return fmt.Errorf("the test does not build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), faultBound+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.timeout", faultBound.String(),
		"-test.run", "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	cmd.Dir, cmd.Env = filepath.Join(root, folder), env
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil:
		return fmt.Errorf("%s does not detect it:\n%s", f.test, out)
	case strings.Contains(text, "--- FAIL: ") || strings.Contains(text, "panic: test timed out"):
		return nil
	}
	return fmt.Errorf("%s did not run: %v\n%s", f.test, err, out)
}

var builds sync.Mutex

// buildTest builds a test binary, one at a time, because each build uses all processors.
func buildTest(root string, env []string, args ...string) ([]byte, error) {
	builds.Lock()
	defer builds.Unlock()
	cmd := exec.Command("go", append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w"}, args...)...)
	cmd.Dir, cmd.Env = root, env
	return cmd.CombinedOutput()
}

// TestFaultsCanBePlanted checks each fault against the code and behaviours.txt, without running
// its test.
func TestFaultsCanBePlanted(t *testing.T) {
	verify.Smoke(t)
	text, err := os.ReadFile("behaviours.txt")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if number, rest, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			tests[number] = strings.TrimSpace(rest[strings.LastIndex(rest, ": ")+2:])
		}
	}
	has := map[string]bool{}
	for _, f := range readFaults(t) {
		has[f.behaviour] = true
		if named := ", " + tests[f.behaviour] + ", "; !strings.Contains(named, ", "+f.test+", ") {
			t.Errorf("faults.txt:%d: behaviour %q does not name the test %q", f.line, f.behaviour, f.test)
		}
		if _, err := f.plant(); err != nil {
			t.Errorf("faults.txt:%d: %v", f.line, err)
		}
	}
	for number := range tests {
		if strings.HasPrefix(number, "C") && !has[number] {
			t.Errorf("no fault is planted in %s", number)
		}
	}
}

// Each fault in faults.txt is detected by its test. With JUJU_SOAK all are planted, with JUJU_FAULTS, which names a commit, those
// that have come or changed since then, and else the first.
func TestPlantedFaultsAreFound(t *testing.T) {
	verify.Only(t, "builds tests with faults planted in the code")
	verify.NoRace(t)
	faults := readFaults(t)
	switch base := os.Getenv("JUJU_FAULTS"); {
	case base != "":
		former, err := exec.Command("git", "show", base+":doc/faults.txt").Output()
		if err != nil {
			t.Fatal(err)
		}
		known := map[fault]bool{}
		for _, f := range faultsIn(t, former) {
			f.line = 0
			known[f] = true
		}
		faults = slices.DeleteFunc(faults, func(f fault) bool {
			f.line = 0
			return known[f]
		})
	case os.Getenv("JUJU_SOAK") == "":
		faults = faults[:1]
	}
	for _, f := range faults {
		t.Run(fmt.Sprintf("%s line %d", f.behaviour, f.line), func(t *testing.T) {
			t.Parallel()
			if err := f.survives(t); err != nil {
				t.Error(err)
			}
		})
	}
}
