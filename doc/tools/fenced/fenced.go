// Package fenced reads the blocks of files, changes, commands and output in documents, for the tests that follow them.
package fenced

import (
	"fmt"
	"strings"
)

// A Block is what is between two ``` lines of a document. The first of these has its kind, such as sh, and the path of the
// file that it is or changes; both may be "".
type Block struct {
	Line       int // of the text, from 1
	Kind, Path string
	Text       string
}

// Blocks returns the blocks of a text in Markdown.
func Blocks(text string) (all []Block, err error) {
	var open *Block
	for i, line := range strings.SplitAfter(text, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case !fence && open != nil:
			open.Text += line
		case fence && open != nil:
			all = append(all, *open)
			open = nil
		case fence:
			open = &Block{Line: i + 2}
			open.Kind, open.Path, _ = strings.Cut(info, " ")
		}
	}
	if open != nil {
		return nil, fmt.Errorf("the block at line %d has no end", open.Line)
	}
	return all, nil
}
