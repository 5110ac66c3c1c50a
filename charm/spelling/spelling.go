// Package spelling finds the words that a user may have meant.
package spelling

import (
	"slices"
	"strings"
)

// maxNear is how many words are suggested.
const maxNear = 3

// Near returns the words that are similar to a word, the most similar first.
func Near(word string, words []string) []string {
	far := map[string]int{}
	for _, w := range words {
		begins := len(word) > 2 && strings.HasPrefix(w, word)
		if len(word) > len(w)+2 || len(w) > len(word)+2 && !begins {
			continue // too far, whatever the letters; this bounds the cost of a long word
		}
		// One typo, or two in a longer word; or a prefix of the word.
		d := distance(word, w)
		if d <= 1 || d == 2 && len(word) > 4 || begins {
			far[w] = d
		}
	}
	var like []string
	for _, w := range words {
		if _, ok := far[w]; ok && !slices.Contains(like, w) {
			like = append(like, w)
		}
	}
	slices.SortStableFunc(like, func(a, b string) int { return far[a] - far[b] })
	return like[:min(len(like), maxNear)]
}

// distance is the number of typos between two words: a letter added, removed or replaced, or
// two adjacent letters swapped.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
