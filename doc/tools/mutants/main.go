// Mutants measures how well a package's tests detect faults. It changes the package's code in a sample of places, one
// at a time, and runs the tests that cover the changed line: a mutant that no test detects is a rule that no test
// enforces.
//
//	go run ./doc/tools/mutants [-n 60] [-seed 1] [-by ./worker/uniter] ./worker/uniter/operation
//
// All mutants of a package are compiled into one test binary, and an environment variable activates one of
// them, so each mutant costs a run of its tests but no build.
//
// The mutants are: negated conditions (except those that only check an error, or only decide whether to log),
// comparisons and logical operators replaced by their neighbours, and omitted statements (except log
// messages). Each element of a bson.D is omitted as well: a field that a transaction asserts or sets, or that
// a query selects. A bson.D passed by name is emptied.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// share is the percentage of a package's mutants that its tests must detect.
const share = 90

func main() {
	n := flag.Int("n", 60, "how many mutants of each package to try")
	seed := flag.Uint64("seed", 1, "which of them: the seed of the sample")
	atOnce := flag.Int("p", 2, "how many to try at a time")
	only := flag.String("run", "", "try only mutants whose place contains this text, as instance.go:31")
	by := flag.String("by", "", "another package whose tests count as the package's own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed := false
	for _, pattern := range flag.Args() {
		enough, err := measure(ctx, pattern, *by, *n, *seed, *atOnce, *only)
		if err != nil {
			fmt.Fprintf(os.Stderr, "cannot measure the tests of %s: %v\n", pattern, err)
			os.Exit(1)
		}
		failed = failed || !enough
	}
	if failed {
		os.Exit(1)
	}
}

// measure tries a sample of a package's mutants, and reports whether enough of them were detected.
func measure(ctx context.Context, pattern, by string, n int, seed uint64, atOnce int, only string) (bool, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	pkg, err := load(ctx, pattern)
	if err != nil {
		return false, err
	}
	all := pkg.mutants()
	binaries, err := pkg.build(ctx, dir, by)
	if err != nil {
		return false, err
	}
	sample := slices.Clone(all)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
	sample = slices.DeleteFunc(sample, func(m mutant) bool { return !strings.Contains(m.place, only) })
	sample = sample[:min(n, len(sample))]
	tests, err := cover(ctx, binaries, pkg.path, atOnce)
	if err != nil {
		return false, err
	}
	survivors, err := try(ctx, sample, tests, atOnce)
	if err != nil {
		return false, err
	}
	if len(sample) == 0 {
		return false, errors.New("nothing to mutate")
	}
	noticed := len(sample) - len(survivors)
	fmt.Printf("%s: %d of %d mutants noticed (%d %%), of %d; seed %d\n", pkg.path, noticed, len(sample),
		noticed*100/len(sample), len(all), seed)
	for _, m := range survivors {
		fmt.Printf("  %s\n", m)
	}
	return noticed*100 >= share*len(sample), nil
}
