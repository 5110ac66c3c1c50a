package charm

import (
	"errors"
	"strings"
	"testing"
)

func TestIgnore(t *testing.T) {
	for _, test := range []struct {
		rules   string
		ignored string // separated by spaces; a directory ends in /
		kept    string
	}{
		{"foo", "foo foo/ a/foo a/b/foo/", "foobar afoo"},
		{"foo/", "foo/ a/foo/", "foo a/foo"},
		{"/foo", "foo foo/", "a/foo"},
		{"/foo/", "foo/", "foo a/foo/"},
		{"a/b", "a/b x/a/b", "a b ab"},
		{"*.pyc", "x.pyc a/x.pyc .pyc", "xpyc x.pyco x.pyc.d"},
		{"/*.pyc", "x.pyc", "a/x.pyc"},
		{"f?o", "foo f.o", "fo fooo a/fo"},
		{"x[abc]z", "xaz xbz", "xdz xz"},
		{"x[!abc]z", "xdz", "xaz x/z"},
		{"x[a-c]z", "xbz", "x-z xdz"},
		{"x[z", "x[z", "xz"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"},
		{"a/**", "a/x a/x/y", "a"},
		{"a**b", "ab axb", "b"},
		{"# no rule\n\n   \nfoo", "foo", "# no"},
		{"  \tfoo", "foo", "f"},
		{"foo   ", "foo", "fo"},
		{`\#foo`, "#foo", "foo"},
		{`\!foo`, "!foo", "foo"},
		{`fo\*`, "fo*", "foo"},
		{"a.b+c(d)", "a.b+c(d)", "axb+c(d)"},
		{"*.o\n!keep.o", "x.o a/x.o", "keep.o a/keep.o"},
		{"!keep.o\n*.o", "x.o keep.o", "keep"},
		{"foo\r\nbar\r\n", "foo bar", "baz"},
		{"größe/ä?", "größe/äx", "größe/ä grosse/ax"},
		{"/", "", "a b/"},
	} {
		rules, err := parseIgnore(test.rules)
		if err != nil {
			t.Errorf("%q: %v", test.rules, err)
			continue
		}
		for _, list := range []struct {
			names string
			want  bool
		}{{test.ignored, true}, {test.kept, false}} {
			for _, name := range strings.Fields(list.names) {
				name, isDir := strings.CutSuffix(name, "/")
				if got := rules.match(name, isDir); got != list.want {
					t.Errorf("%q: %s (directory: %v): got ignored = %v", test.rules, name, isDir, got)
				}
			}
		}
	}
}

func TestIgnoreEscapedSpace(t *testing.T) {
	rules, err := parseIgnore(`foo\ `)
	if err != nil || !rules.match("foo ", false) || rules.match("foo", false) {
		t.Errorf("rules %v, %v", rules, err)
	}
}

func TestIgnoreReportsTheLine(t *testing.T) {
	_, err := parseIgnore("ok\n[z-a]\n")
	if err == nil || err.Error() != `.jujuignore:2: invalid pattern "[z-a]"` || !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
