package spelling

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	words := []string{"description", "default", "type", "tape", "types"}
	for word, want := range map[string][]string{
		"desc": {"description"}, "defualt": {"default"}, "typ": {"type", "types"}, "tpye": {"type"}, "ty": nil, "x": nil,
		"tipe": {"type", "tape"}, "descriptions": {"description"}, "sort": nil, strings.Repeat("d", 1<<20): nil,
	} {
		if got := Near(word, words); !slices.Equal(got, want) {
			t.Errorf("%.20s: got %q, want %q", word, got, want)
		}
	}
}
