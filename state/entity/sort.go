package entity

import (
	"errors"
	"slices"
	"strings"
)

// IsNotFound is for callers that expect that an entity may be gone.
func IsNotFound(err error) bool { return errors.Is(err, NotFound) }

// SortBy sorts by name, in natural order: "mysql/9" before "mysql/10".
func SortBy[T any](all []T, name func(T) string) {
	slices.SortFunc(all, func(a, b T) int {
		x, y := name(a), name(b)
		if c := CompareNatural(x, y); c != 0 {
			return c
		}
		return strings.Compare(x, y)
	})
}
