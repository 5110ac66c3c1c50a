package commands

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

// A topic is a page of help that is not about one command.
type topic struct {
	name, about string
	text        func(s *cli.Session, root *cobra.Command) string
}

// topics lists the topics, by name.
var topics = []topic{
	{"bundles", "files that describe what a model has", fixedText(`A bundle is a YAML file that describes services, their machines and their relations:

  applications:
    web:
      charm: ./charms/web
      num_units: 2
      options: {title: Shop}
      constraints: mem=2G
    store:
      charm: ./charms/store
      num_units: 1
  relations:
  - [web, store]

juju deploy FILE adds what is missing from the model. juju diff FILE shows the
differences, and juju apply FILE makes the model match the file. juju export-bundle writes
a bundle that describes the model.
`)},
	{"commands", "all commands, with their other names", func(_ *cli.Session, root *cobra.Command) string { return listCommands(root) }},
	{"constraints", "what a machine must have at least", fixedText(`Constraints say what machines must have to run units, as KEY=VALUE:

  arch=ARCH           amd64, arm64 and others
  cores=N             processor cores
  mem=SIZE            memory, as in 2G or 512M
  root-disk=SIZE      size of the root disk
  zones=ZONE,ZONE     availability zones, any of them
  tags=TAG,^TAG       tags that a machine has, and hasn't
  container=KIND      a container on a machine: lxd
  spaces=SPACE,^SPACE networks that a machine is on, and isn't
  instance-type=TYPE  a type of the cloud's

deploy and add-machine take them as --constraints "mem=2G cores=2". juju set-constraints
sets those of a service's new units, and juju set-model-constraints those of all new
machines of a model; a service's override the model's. Existing machines do not change.
`)},
	{"environment", "the environment variables of juju", fixedText(`These variables change what commands do:

  JUJU_DATA         the directory of this client's files (else ~/.local/share/juju)
  JUJU_CONTROLLER   the controller, instead of the selected one; -c overrides it
  JUJU_MODEL        the model, as MODEL or CONTROLLER:MODEL; -m overrides it
  JUJU_REPOSITORY   where deploy finds the charms local:SERIES/NAME
  NO_COLOR          if it is not empty, output has no colors
  PATH              where plugins are: juju help plugins
  SSH_AUTH_SOCK     the SSH agent that has your keys
`)},
	{"exit-codes", "what the exit codes of juju mean", fixedText(`The exit code tells scripts what happened:

  0   the command did what it was asked
  1   it could not, or was interrupted; a task of juju run or juju exec failed
  2   the command line is wrong, and nothing was done

juju diff exits with 1 if the model differs, and with 2 if it cannot tell. juju ssh exits as
the program on the machine does.
`)},
	{"placement", "where deploy, add-unit and add-machine put units", fixedText(`Where units are put, by --to of deploy and add-unit, and by the argument of add-machine:

  3               the existing machine 3
  0/lxd/1         the existing container 1 on machine 0
  lxd             a new container on a new machine
  lxd:3           a new container on machine 3
  new             a new machine
  zone=NAME       a new machine in that availability zone
  NAME            a new machine on that member of an LXD cluster
  ssh:USER@HOST   a host of yours (add-machine only)

With several units, placements are separated by commas: --to 3,lxd:4. Units without one get
a new machine, or a clean one that exists and satisfies their constraints. A placement
overrides constraints.
`)},
	{"plugins", "programs on PATH that become commands", func(s *cli.Session, _ *cobra.Command) string {
		text := "A program juju-NAME on PATH is run by juju NAME, with the rest of the command line, unless\nthere is a command of that name.\n"
		found := plugins(s)
		if len(found) == 0 {
			return text + "\nThere are none.\n"
		}
		return text + "\nThere are:\n\n  " + strings.Join(found, "\n  ") + "\n"
	}},
	{"topics", "this list", nil},
}

func fixedText(text string) func(*cli.Session, *cobra.Command) string {
	return func(*cli.Session, *cobra.Command) string { return text }
}

// topicText returns the text of a topic, "" if there is none. A command of the same name comes first.
func topicText(s *cli.Session, root *cobra.Command, name string) string {
	i := slices.IndexFunc(topics, func(t topic) bool { return t.name == name })
	switch {
	case i < 0:
		return ""
	case topics[i].text != nil:
		return topics[i].text(s, root)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range topics {
		fmt.Fprintf(w, "%s\t%s\n", t.name, t.about)
	}
	w.Flush()
	return b.String() + "\nMore: juju help TOPIC\n"
}

// listCommands lists all commands, and their other names.
func listCommands(root *cobra.Command) string {
	type row struct{ name, about string }
	var rows []row
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		rows = append(rows, row{cmd.Name(), cmd.Short})
		for _, alias := range cmd.Aliases {
			rows = append(rows, row{alias, "Another name of " + cmd.Name()})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r.name, r.about)
	}
	w.Flush()
	return b.String()
}

// pluginPrefix begins the names of programs that are plugins.
const pluginPrefix = "juju-"

// plugins returns the names of the plugins on PATH, without the prefix.
func plugins(s *cli.Session) (names []string) {
	for _, dir := range filepath.SplitList(s.Getenv("PATH")) {
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pluginPrefix+"*"))
		if err != nil {
			continue
		}
		for _, file := range found {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				names = append(names, strings.TrimPrefix(filepath.Base(file), pluginPrefix))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// escapeGlob returns a pattern that matches only this path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// runPlugin replaces this process by a plugin, with these arguments. It reports whether there is one of that name.
func runPlugin(s *cli.Session, name string, args []string) (found bool, err error) {
	if name == "" || strings.ContainsAny(name, "/ ") || !slices.Contains(plugins(s), name) {
		return false, nil
	}
	return true, s.Exec(cli.Replacement{Argv: append([]string{pluginPrefix + name}, args...)})
}
