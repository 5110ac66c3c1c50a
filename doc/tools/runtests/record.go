package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// record writes the row of a part into a table, in place of the part's former one.
func record(file, part string, found results, failed bool, took time.Duration) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("cannot find out the commit: %w", err)
	}
	changed := ""
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", ":/", ":(exclude,top)"+file).Run() != nil {
		changed = ", changed"
	}
	outcome := "passed"
	if failed {
		outcome = "FAILED"
	}
	flaky := cmp.Or(strings.Join(found.flaky, ", "), "none")
	row := fmt.Sprintf("| %s | %s%s | %s | %s | %d | %d | %s | %.1f | %d cores, %s |", part, bytes.TrimSpace(commit), changed,
		time.Now().UTC().Format(time.DateOnly), outcome, found.passed+found.failed, found.skipped, flaky, took.Minutes(),
		runtime.NumCPU(), runtime.Version())
	return os.WriteFile(file, []byte(withRow(string(text), part, row)), 0o666)
}

// withRow returns the text with the row in place of the one of the same part, or after the others. The table is the
// last thing in the text.
func withRow(text, part, row string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| "+part+" |") })
	if i < 0 {
		i = len(lines)
		lines = append(lines, "")
	}
	lines[i] = row
	return strings.Join(lines, "\n") + "\n"
}
