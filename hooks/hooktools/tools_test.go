package hooktools

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"juju/hooks/tool"
	"juju/state/entity"
)

// TestTools runs the scripts of testdata: what charms type, and what they get. There is no shell and no controller: what
// they have to do with the tools is in the scripts of package hooks. A script consists of four kinds of lines:
//
//	# a comment
//	hook KIND [RELATION [UNIT]]  begins a hook, in a new world; KIND can be "action"
//	world WORDS                  changes the world, or shows its calls since it was last asked
//	$ TOOL ARGUMENTS [<<< TEXT]  runs a tool in the hook; the text is its standard input, and what any file has
//
// The lines after the last two, up to an empty line, are the output, with a dot for each empty line. A tool that fails adds
// its exit code. With -update, what is printed is written into the scripts.
func TestTools(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := gocmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (run with -update to accept):\n%s", file, diff)
			}
		})
	}
}

// runScript runs a script and returns it with what was really printed.
func runScript(t *testing.T, script string) string {
	var got strings.Builder
	var f *fakeContext
	expected := false // the line is of the last tool's output
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		first, rest, _ := strings.Cut(line, " ")
		output := ""
		switch {
		case line == "":
			if !expected {
				got.WriteString("\n")
			}
			expected = false
			continue
		case expected:
			continue
		case first == "hook":
			f = newFake(strings.Fields(rest))
		case first == "world":
			output, expected = f.change(t, strings.Fields(rest)), true
		case first == "$":
			output, expected = runTool(t, f, rest), true
		case first == "#":
		default:
			t.Fatalf("cannot understand line %q", line)
		}
		got.WriteString(line + "\n")
		if output != "" {
			for line := range strings.SplitSeq(strings.TrimSuffix(output, "\n"), "\n") {
				got.WriteString(cmp.Or(line, ".") + "\n")
			}
		}
		if expected {
			got.WriteString("\n")
		}
	}
	return strings.TrimSuffix(got.String(), "\n\n") + "\n"
}

// runTool runs a line of a script, and returns what it prints.
func runTool(t *testing.T, f *fakeContext, line string) string {
	line, text, given := strings.Cut(line, " <<< ")
	args := words(line)
	reply := Run(t.Context(), f, tool.Request{Tool: args[0], Args: args[1:]}, func(string) ([]byte, error) {
		if !given {
			return nil, errors.New("no such file")
		}
		return []byte(strings.Join(words(text), " ")), nil
	})
	out := string(reply.Stdout) + string(reply.Stderr)
	if reply.Output != "" {
		out = fmt.Sprintf("into %s: %s", reply.Output, out)
	}
	if reply.Code != 0 {
		out += fmt.Sprintf("exit %d\n", reply.Code)
	}
	return out
}

// words splits a line as a shell does: in quotes are spaces, and \n is a new line.
func words(line string) (all []string) {
	word, quote, begun := "", rune(0), false
	for _, r := range line {
		switch {
		case quote == 0 && r == ' ':
			if begun {
				all = append(all, strings.ReplaceAll(word, `\n`, "\n"))
			}
			word, begun = "", false
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		default:
			word += string(r)
		}
		begun = true
	}
	if begun {
		all = append(all, strings.ReplaceAll(word, `\n`, "\n"))
	}
	return all
}

// change changes the world, or shows its calls.
func (f *fakeContext) change(t *testing.T, words []string) string {
	switch words[0] {
	case "calls":
		calls := strings.Join(f.calls, "\n")
		f.calls = nil
		return calls
	case "address":
		f.unit.PrivateAddress = strings.Join(words[1:], "")
	case "bound": // ENDPOINT SPACE [ADDRESS]
		f.unit.Bound = map[string]entity.BoundAddress{words[1]: {Space: words[2], Address: strings.Join(words[3:], "")}}
	case "egress":
		f.egress = words[1:]
	case "untrusted":
		f.untrusted = true
	case "follows":
		f.follows = true
	case "down":
		f.down = entity.WithHint(entity.Errorf(entity.Unavailable, "controller is away"), "it comes back by itself")
	default:
		t.Fatalf("cannot understand %q", words)
	}
	return ""
}
