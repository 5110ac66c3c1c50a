package statetest

import (
	"errors"
	"strings"
	"testing"

	"juju/state/constraints"
	"juju/state/entity"
)

// OK ends the test if err is not nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Refused checks that err has this kind and contains words.
func Refused(t testing.TB, err error, kind entity.Kind, words string) {
	t.Helper()
	if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
		t.Fatalf("got error %v (kind %q), want kind %q with %q in it", err, entity.KindOf(err), kind, words)
	}
}

// Lines returns findings as text, one per line.
func Lines(found []entity.Finding) string {
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = f.Where + ": " + f.What
	}
	return strings.Join(lines, "\n     ")
}

// Constraints parses constraints for a test, and panics if they are invalid.
func Constraints(text string) constraints.Value {
	c, err := constraints.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

// At returns the placement that a user writes like this.
func At(text string) entity.Placement {
	p, err := entity.ParsePlacement("placement", text)
	if err != nil {
		panic(err)
	}
	return p
}

// To returns the placements of the first units, as users write them.
func To(texts ...string) []entity.Placement {
	var all []entity.Placement
	for _, text := range texts {
		all = append(all, At(text))
	}
	return all
}
