package shell_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"juju/state/entity/shell"
)

// words are what users and charms pass as arguments, and what shells have a meaning for.
var words = []string{"ls", "-la", "two words", "it's", "", "c;id", "a&b", "$HOME", "`id`", "$(id)", "*", "~", "a\nb", `\`, `"`, "#no",
	"{a,b}", "!", "=ls", "A=b", "A=b c", "A=$HOME", "é", "<x", "a|b", "[a]", "\xff", "if", "--opt=~/x"}

// printed returns the arguments that a shell passes to printf for a command line that ends with args.
func printed(t *testing.T, args string) []string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", `printf '%s\0' `+args).Output()
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// A shell takes each word as it is.
func TestWordsStayWords(t *testing.T) {
	t.Parallel()
	if got := printed(t, shell.Line(words...)); !slices.Equal(got, words) {
		t.Errorf("%s is read as %q, want %q", shell.Line(words...), got, words)
	}
	if got := printed(t, shell.Script(words)); !slices.Equal(got, words) {
		t.Errorf("%s is read as %q, want %q", shell.Script(words), got, words)
	}
	if got := shell.Line("juju", "config", "web", "title=a", "x.y/z"); got != "juju config web title=a x.y/z" {
		t.Errorf("words that need no quotes become %s", got)
	}
}

// One argument is a script; of several, those before the command can set variables for it.
func TestArgumentsBecomeAScript(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"echo a; echo 'b c'"}, "a\nb c\n"},
		{[]string{"echo", "a; echo b"}, "a; echo b\n"},
		{[]string{"A=x", "B=two $words", "_C=", "sh", "-c", `echo "$A, $B, ${_C-unset}"`}, "x, two $words, \n"},
		{[]string{"sh", "-c", `echo "${A-unset}"`, "A=x"}, "unset\n"},
	} {
		out, err := exec.Command("/bin/sh", "-c", shell.Script(test.args)).Output()
		if err != nil || string(out) != test.want {
			t.Errorf("%q prints %q (%v), want %q", test.args, out, err, test.want)
		}
	}
}
