package charm

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// ignoreRules say which files of a directory stay out of its archive. The last
// rule that matches decides.
type ignoreRules []ignoreRule

type ignoreRule struct {
	pattern  *regexp.Regexp // of the whole path, without a leading slash
	dirsOnly bool
	include  bool // the rule began with "!"
}

// builtinIgnore is what no charm wants to carry; .jujuignore may take it back.
const builtinIgnore = ".git\n.svn\n.hg\n.bzr\n.tox\n/build/\n"

// fixedIgnore holds even against .jujuignore: an archive gets its own of these.
const fixedIgnore = "/revision\n/version\n/.jujuignore\n"

// readIgnore returns the rules for the charm in root.
func readIgnore(root *os.Root) (ignoreRules, error) {
	text, err := readSmall(func(name string) (io.ReadCloser, error) { return openRegular(root, name) }, ignoreFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseIgnore(builtinIgnore, string(text), fixedIgnore)
}

// parseIgnore parses several texts, in order, as one list of rules. Each line is a pattern: "*"
// matches any part of a name, "?" one character, "[a-z]" one of these, "**" any number of
// directories. A "/" at the front ties the pattern to the charm's top directory, at the end to
// directories. "#" begins a comment, "!" an exception, and "\" quotes what follows.
func parseIgnore(texts ...string) (ignoreRules, error) {
	var rules ignoreRules
	for _, text := range texts {
		for i, line := range strings.Split(text, "\n") {
			rule, err := parseIgnoreLine(line)
			if err != nil {
				return nil, &FileError{File: ignoreFile, Line: i + 1, Err: err}
			}
			if rule.pattern != nil {
				rules = append(rules, rule)
			}
		}
	}
	return rules, nil
}

func parseIgnoreLine(line string) (ignoreRule, error) {
	var rule ignoreRule
	line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if strings.HasPrefix(line, "#") {
		return rule, nil
	}
	line, rule.include = strings.CutPrefix(line, "!")
	line, rule.dirsOnly = strings.CutSuffix(line, "/")
	line, anchored := strings.CutPrefix(line, "/")
	if line == "" {
		return rule, nil
	}
	expr := globExpression(line)
	if !anchored {
		expr = "(?:.*/)?" + expr
	}
	var err error
	if rule.pattern, err = regexp.Compile("(?s)^" + expr + "$"); err != nil {
		return rule, invalidf("invalid pattern %q", line)
	}
	return rule, nil
}

// globExpression returns the regular expression of a pattern.
func globExpression(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += len("**/") - 1
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i += len("**") - 1
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[' && strings.Contains(rest[1:], "]"):
			end := i + 1 + strings.Index(rest[1:], "]")
			set := glob[i+1 : end]
			negated := strings.HasPrefix(set, "!") || strings.HasPrefix(set, "^")
			if negated {
				set = set[1:]
			}
			b.WriteByte('[')
			if negated {
				b.WriteString("^/")
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(set))
			b.WriteByte(']')
			i = end
		case rest[0] == '\\' && len(rest) > 1:
			i++
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String()
}

// match reports whether the file at that path, relative to the charm, stays out.
// Nothing in a directory that stays out is asked about.
func (rules ignoreRules) match(name string, isDir bool) bool {
	ignored := false
	for _, rule := range rules {
		if (isDir || !rule.dirsOnly) && rule.pattern.MatchString(name) {
			ignored = !rule.include
		}
	}
	return ignored
}
