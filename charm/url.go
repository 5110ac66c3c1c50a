package charm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// URL identifies a charm, uniquely if it has a revision:
//
//	local:[series/]name[-revision]
//	cs:[~user/][series/]name[-revision]
//	ch:[architecture/][series/]name[-revision]
//
// It is comparable. JSON and YAML use its text form.
type URL struct {
	Schema       string // "local", "cs" or "ch"
	User         string // cs only
	Architecture string // ch only
	Series       string
	Name         string
	Revision     int // -1: none given
}

var architectures = []string{"amd64", "arm64", "armhf", "i386", "ppc64el", "riscv64", "s390x"}

// revisionPattern splits a revision off a name. Each part of a name has a letter in it, so
// there is only one way to do that.
var revisionPattern = regexp.MustCompile(`^(.*)-(0|[1-9][0-9]{0,8})$`)

// ParseURL parses a charm URL. Without a schema it is "ch".
func ParseURL(s string) (URL, error) {
	u := URL{Schema: "ch", Revision: -1}
	fail := func(format string, args ...any) (URL, error) {
		return URL{}, invalidf("cannot parse charm URL %q: %w", s, fmt.Errorf(format, args...))
	}
	refuse := func(help, format string, args ...any) (URL, error) {
		_, err := fail(format, args...)
		return URL{}, &helpError{err, help}
	}
	rest := s
	if schema, after, ok := strings.Cut(s, ":"); ok {
		u.Schema, rest = schema, after
	}
	if !slices.Contains([]string{"local", "cs", "ch"}, u.Schema) {
		return fail("unknown schema %q", u.Schema)
	}
	parts := strings.Split(rest, "/")
	name := parts[len(parts)-1]
	parts = parts[:len(parts)-1]
	if len(parts) > 0 && strings.HasPrefix(parts[0], "~") {
		switch u.User = parts[0][1:]; {
		case u.Schema == "local":
			return URL{}, invalidf("local charm or bundle URL with user name: %q", s)
		case u.Schema != "cs":
			return fail("%q URL with user name", u.Schema)
		case !userPattern.MatchString(u.User):
			return refuse(userRule, "invalid user name %q", u.User)
		}
		parts = parts[1:]
	}
	if len(parts) > 0 && u.Schema == "ch" && slices.Contains(architectures, parts[0]) {
		u.Architecture = parts[0]
		parts = parts[1:]
	}
	if len(parts) > 0 {
		u.Series = parts[0]
		if !IsValidSeries(u.Series) || slices.Contains(architectures, u.Series) {
			return refuse(seriesRule, "invalid series %q", u.Series)
		}
		parts = parts[1:]
	}
	if len(parts) > 0 {
		return fail("too many parts")
	}
	if m := revisionPattern.FindStringSubmatch(name); m != nil {
		name = m[1]
		u.Revision, _ = strconv.Atoi(m[2]) // at most nine digits
	}
	if u.Name = name; !IsValidName(name) {
		return refuse(nameRule, "invalid charm name %q", name)
	}
	return u, nil
}

// String returns the form that ParseURL parses, "" for the zero URL.
func (u URL) String() string {
	if u == (URL{}) {
		return ""
	}
	var b strings.Builder
	b.WriteString(u.Schema + ":")
	if u.User != "" {
		b.WriteString("~" + u.User + "/")
	}
	for _, part := range []string{u.Architecture, u.Series} {
		if part != "" {
			b.WriteString(part + "/")
		}
	}
	b.WriteString(u.Name)
	if u.Revision >= 0 {
		fmt.Fprintf(&b, "-%d", u.Revision)
	}
	return b.String()
}
