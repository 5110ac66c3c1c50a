package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A test that fails and then passes counts once, as passed, and is flaky.
func TestResultsOfSeveralRuns(t *testing.T) {
	found, err := readResults(strings.NewReader(`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/one"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p","Test":"TestD"}
a line of a program
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"fail","Package":"p","Test":"TestD"}
{"Action":"fail","Package":"p"}
`))
	want := results{passed: 2, failed: 1, skipped: 1, flaky: []string{"p TestB/one"}}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, %v; want %+v", found, err, want)
	}
}

// What tests leave is found, and the results of the tests are not part of it.
func TestWhatTestsLeave(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{resultsFile, "TestB1", "TestA2"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := leftIn(dir); err != nil || !slices.Equal(left, []string{"TestA2", "TestB1"}) {
		t.Errorf("left is %q, %v", left, err)
	}
}

// A part has one row, which stays where it is.
func TestRowsOfParts(t *testing.T) {
	text := "# Title\n\n| part |\n|---|\n"
	text = withRow(text, "race", "| race | 1 |")
	text = withRow(text, "full", "| full | 1 |")
	text = withRow(text, "race", "| race | 2 |")
	if want := "# Title\n\n| part |\n|---|\n| race | 2 |\n| full | 1 |\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
