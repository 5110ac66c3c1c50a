package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An invalid command line gets a helpful answer, without any API call.
func TestUnknownCommandsAndFlags(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	const all = "To list all commands: juju help\n"
	for line, want := range map[string]string{
		"frobnicate":                    "ERROR unrecognized command: juju frobnicate\n" + all,
		"frobnicate --unit x":           "ERROR unrecognized command: juju frobnicate\n" + all,
		"--debug frobnicate -x":         "ERROR unrecognized command: juju frobnicate\n" + all,
		"--logging-config a=INFO deply": "ERROR unrecognized command: juju deply\nDid you mean: deploy\n" + all,
		"deply ./web -n 3":              "ERROR unrecognized command: juju deply\nDid you mean: deploy\n" + all,
		"stauts":                        "ERROR unrecognized command: juju stauts\nDid you mean: status or stat\n" + all,
		"help stauts":                   "ERROR unrecognized command: juju stauts\nDid you mean: status or stat\n" + all,
		"remove-aplication web": "ERROR unrecognized command: juju remove-aplication\n" +
			"Did you mean: remove-application\n" + all,
		"dest":             "ERROR unrecognized command: juju dest\nDid you mean: ",
		"debug-code web/0": "ERROR juju debug-code is not implemented\n",
		"help debug-code":  "ERROR juju debug-code is not implemented\n",
		"machine add":      "ERROR juju machine does not exist here; use juju machines\n" + all,
		"trust web":        "ERROR juju trust is not implemented\n" + all,
		"deploy ./web --num-unts 3": "ERROR unknown flag: --num-unts\nDid you mean: --num-units\n" +
			"For usage: juju help deploy\n",
		"status --formt json": "ERROR unknown flag: --formt\nDid you mean: --format\nFor usage: juju help status\n",
		"status --frobnicate": "ERROR unknown flag: --frobnicate\nFor usage: juju help status\n",
		"status --verbos": "ERROR unknown flag: --verbos\nDid you mean: --verbose\n" +
			"For usage: juju help status\n",
		"deploy ./web --bind x":            "ERROR juju deploy has no flag --bind: endpoints' spaces are not supported yet\nFor usage: juju help deploy\n",
		"deploy ./web --base ubuntu@22.04": "ERROR juju deploy has no flag --base: specify the series of the base, as in --series jammy\nFor usage: juju help deploy\n",
		"remove-unit web/0 --no-prompt":    "ERROR juju remove-unit has no flag --no-prompt: it does not ask for confirmation\nFor usage: juju help ",
		"integrate a b --via x":            "ERROR juju integrate has no flag --via: relations across models are not supported yet\nFor usage: juju help ",
		"destroy-unit web/0 --machines":    "ERROR unknown flag: --machines\n",
		"--frobnicate":                     "ERROR unknown flag: --frobnicate\n",
	} {
		u.types(strings.Fields(line)...)
		if u.code != 2 || !strings.HasPrefix(u.err.String(), want) || u.out.Len() > 0 {
			t.Errorf("%s: exit code %d, said\n%swant\n%s", line, u.code, u.err.String(), want)
		}
		u.asked()
	}
}

// What is said of an absent flag is so: the flag is absent, and the one to use is there.
func TestAbsentFlags(t *testing.T) {
	t.Parallel()
	root := newRoot(newUser(t).session)
	named := regexp.MustCompile(`--[a-z-]+`)
	for _, a := range absentFlags {
		for _, command := range strings.Fields(a.commands) {
			cmd, _, err := root.Find([]string{command})
			if err != nil {
				t.Errorf("juju %s: %v", command, err)
				continue
			}
			for _, name := range strings.Fields(a.names) {
				if cmd.Flags().Lookup(name) != nil {
					t.Errorf("juju %s has --%s", command, name)
				}
			}
			for _, flag := range named.FindAllString(a.why, -1) {
				if cmd.Flags().Lookup(flag[2:]) == nil {
					t.Errorf("juju %s has no %s, which its --%s names", command, flag, a.names)
				}
			}
		}
	}
}

// Absent commands do not exist, and their replacements do.
func TestAbsentCommands(t *testing.T) {
	t.Parallel()
	names := commandNames(newRoot(newUser(t).session))
	seen := map[string]bool{}
	for _, a := range absent {
		for _, name := range strings.Fields(a.names) {
			if slices.Contains(names, name) {
				t.Errorf("juju %s is there: take it out of the table of absent commands", name)
			}
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
		words := strings.Fields(a.use + " " + a.why)
		for i, word := range words {
			if word != "juju" || i+1 == len(words) {
				continue
			}
			if use := strings.Trim(words[i+1], ",.;:"); use != "help" && !slices.Contains(names, use) {
				t.Errorf("%s: there is no juju %s to use", a.names, use)
			}
		}
	}
	if len(seen) < 150 {
		t.Errorf("the table has %d commands only", len(seen))
	}
}
