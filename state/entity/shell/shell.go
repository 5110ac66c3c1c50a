// Package shell writes command lines for POSIX shells.
package shell

import (
	"regexp"
	"strings"
)

// plain matches the words that no shell changes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:=@%+,-]*$`)

// Word returns text as one word for a shell, with quotes only if it needs them.
func Word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Line returns a command line that a shell splits into these words.
func Line(words ...string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = Word(word)
	}
	return strings.Join(all, " ")
}

// assignment matches a word that sets a variable if it stands before a command.
var assignment = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*=)(.+)$`)

// Script returns the script that the arguments of a command such as juju exec stand for, as in Juju: one argument is a script,
// several are the words of one command. NAME=VALUE before the command's name sets a variable for it.
func Script(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	all := make([]string, len(args))
	for i, arg := range args {
		if m := assignment.FindStringSubmatch(arg); m != nil {
			all[i] = m[1] + Word(m[2]) // quotes around the name would make it the command's
		} else {
			all[i] = Word(arg)
		}
	}
	return strings.Join(all, " ")
}
