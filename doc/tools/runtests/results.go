package main

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
)

// results are the outcomes of tests, subtests included.
type results struct {
	passed, failed, skipped int
	flaky                   []string // those that passed after they had failed
}

// readResults reads what `go test -json` has printed, of all runs.
func readResults(r io.Reader) (results, error) {
	type test struct{ Package, Test string }
	last, failed := map[test]string{}, map[test]bool{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		} else if err != nil {
			return results{}, err
		}
		var event struct {
			test
			Action string
		}
		if json.Unmarshal(line, &event) != nil || event.Test == "" {
			continue // what a program under test has printed, or a package
		}
		switch event.Action {
		case "fail":
			failed[event.test] = true
			fallthrough
		case "pass", "skip":
			last[event.test] = event.Action
		}
	}
	var found results
	for one, action := range last {
		switch action {
		case "pass":
			found.passed++
			if failed[one] {
				found.flaky = append(found.flaky, one.Package+" "+one.Test)
			}
		case "fail":
			found.failed++
		case "skip":
			found.skipped++
		}
	}
	slices.Sort(found.flaky)
	return found, nil
}
