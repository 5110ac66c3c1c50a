package clitest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CheckShown types the lines of testdata/NAME that begin with "$ ", and compares what they show with the file, which
// UPDATE_SCREENS=1 writes. After each line are what it prints on standard output, what it says on standard error, each line
// after "! ", and its exit code, unless that is 0. An empty line that is shown is a dot.
func (u *User) CheckShown(name string) {
	u.T.Helper()
	path := filepath.Join("testdata", name)
	text, err := os.ReadFile(path)
	if err != nil {
		u.T.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		command, typed := strings.CutPrefix(line, "$ ")
		if strings.HasPrefix(line, "# ") {
			fmt.Fprintln(&got, line)
		}
		if !typed {
			continue
		}
		u.Types(strings.Fields(command)...)
		fmt.Fprintln(&got, line)
		shown(&got, "", u.Out.String())
		shown(&got, "! ", u.Err.String())
		if u.Code != 0 {
			fmt.Fprintln(&got, "exit", u.Code)
		}
		fmt.Fprintln(&got)
	}
	want := got.String()
	if os.Getenv("UPDATE_SCREENS") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			u.T.Error(err)
		}
	} else if want != string(text) {
		u.T.Errorf("%s has\n%s\nbut shown is\n%s", path, text, want)
	}
}

func shown(to *strings.Builder, before, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(to, before+cmp.Or(strings.TrimSuffix(line, "\n"), "."))
	}
}
