package charm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"juju/charm/safeyaml"
	"juju/charm/spelling"
)

// maxWarnings is how many warnings there are of what stands in one file.
const maxWarnings = 20

// warnings are those of what stands in a file and has no effect.
type warnings struct {
	file string
	all  []warning // at most maxWarnings
	more int       // how many there are besides
}

type warning struct {
	line int
	text string
}

func (w *warnings) add(line int, format string, args ...any) {
	if len(w.all) == maxWarnings {
		w.more++
		return
	}
	w.all = append(w.all, warning{line, fmt.Sprintf(format, args...)})
}

func (w *warnings) twice(t safeyaml.Twice) {
	w.add(t.Again, "key %s is given twice: the value in line %d has no effect", listed([]string{t.Key}), t.Line)
}

// texts returns the warnings, one line each, in the order of the file.
func (w *warnings) texts() (texts []string) {
	slices.SortStableFunc(w.all, func(a, b warning) int { return cmp.Compare(a.line, b.line) })
	for _, one := range w.all {
		texts = append(texts, fmt.Sprintf("%s:%d: %s", w.file, one.line, one.text))
	}
	if w.more > 0 {
		texts = append(texts, fmt.Sprintf("%s: %d more keys or values without effect", w.file, w.more))
	}
	return texts
}

// warn notes that the field has no effect, and why.
func (f field) warn(format string, args ...any) {
	f.log.add(f.line, "field %s: %s", listed([]string{f.path}), fmt.Sprintf(format, args...))
}

// only warns of the keys that are not known. Those in ignored are known to Juju or its tools, with
// why they have no effect here.
func (fs fields) only(known []string, ignored map[string]string) {
	for _, e := range fs.order {
		if slices.Contains(known, e.key) {
			continue
		}
		why, ok := ignored[e.key]
		if !ok {
			why = "unknown key"
			if like := spelling.Near(e.key, known); len(like) > 0 {
				why += fmt.Sprintf("; did you mean %s?", strings.Join(like, " or "))
			}
		}
		e.value.warn("%s", why)
	}
}
