// Package shell writes command lines for POSIX shells. The hook tools, which start often, need it: so it needs little.
package shell

import "strings"

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	digits  = "0123456789"
)

// isPlain reports whether no shell changes a word. A = in front has a meaning for some.
func isPlain(word string) bool {
	return word != "" && word[0] != '=' && strings.Trim(word, letters+digits+"./:=@%+,-") == ""
}

// Word returns text as one word for a shell, with quotes only if it needs them.
func Word(text string) string {
	if isPlain(text) {
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

// assignment splits a word that sets a variable if it stands before a command.
func assignment(word string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(word, "=")
	ok = ok && name != "" && value != "" && strings.Trim(name, letters+digits) == "" && !strings.Contains(digits, name[:1])
	return name, value, ok
}

// Script returns the script that the arguments of a command such as juju exec stand for, as in Juju: one argument is a script,
// several are the words of one command. NAME=VALUE before the command's name sets a variable for it.
func Script(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	all := make([]string, len(args))
	for i, arg := range args {
		if name, value, ok := assignment(arg); ok {
			all[i] = name + "=" + Word(value) // quotes around the name would make it the command's
		} else {
			all[i] = Word(arg)
		}
	}
	return strings.Join(all, " ")
}
