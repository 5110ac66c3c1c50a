package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/cmd/juju/cli"
)

// documentationCommand writes the help of every command, as one page or as manual pages.
func documentationCommand(s *cli.Session, root *cobra.Command) *cobra.Command {
	var output cli.Output
	man := ""
	cmd := &cobra.Command{
		Use:   "documentation",
		Short: "Write the help of all commands as one page or as manual pages",
		Long: `Write the help of every command as one page in Markdown. With --man, write a manual page
for each command into a directory, which is created if it does not exist. man finds them
in the subdirectory man1 of ~/.local/share/man, or of a directory in $MANPATH.`,
		Example: `  juju documentation
  juju documentation -o juju.md
  juju documentation --man ~/.local/share/man/man1`,
		Annotations: cli.SeeAlso("help", "completion"),
		Args:        cli.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			if man == "" {
				return s.Write(output, []byte(reference(root)))
			}
			if output.Path != "" {
				return cli.Usagef("--man and --output are mutually exclusive")
			}
			n, err := writeManPages(root, man)
			if err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			s.Note("%d manual pages are in %s.", n, man)
			return nil
		},
	}
	cmd.Flags().StringVar(&man, "man", "", "write manual pages into this `directory`")
	output.Flags(cmd, "")
	return cmd
}

// reference writes the help of every command as one page.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# The command line\n\nThe help of every command of `juju`. " +
		"This page is generated: `go test ./cmd/juju -update`.\n")
	fmt.Fprintf(&b, "\n%s\n", root.Long)
	b.WriteString(`
Exit codes: 0 success, 1 failure, 2 invalid command line. An error is a line on standard error that starts with ERROR,
often followed by a hint about what to do next. Standard output has only results.

| variable | |
|---|---|
| ` + "`JUJU_DATA`" + ` | the directory of juju's data and of the local cloud; ` + "`~/.local/share/juju`" + ` by default |
| ` + "`JUJU_MODEL`" + ` | the model to use, as MODEL or CONTROLLER:MODEL; ` + "`-m`" + ` overrides it |
| ` + "`JUJU_CONTROLLER`" + ` | the controller to use, and its selected model |
| ` + "`JUJU_REPOSITORY`" + ` | the local repository of charms; ` + "`--repository`" + ` overrides it |
| ` + "`NO_COLOR`" + ` | if set, output has no colors |
`)
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n%s\n\n", group.Title)
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				fmt.Fprintf(&b, "- [%s](#%s): %s\n", cmd.Name(), cmd.Name(), cmd.Short)
			}
		}
	}
	b.WriteString("\nFlags of all commands:\n\n")
	flags(&b, root.PersistentFlags())
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n    juju %s\n", cmd.Name(), cmd.Short, cmd.Use)
		if len(cmd.Aliases) > 0 {
			fmt.Fprintf(&b, "\nAlso known as: `%s`.\n", strings.Join(cmd.Aliases, "`, `"))
		}
		fmt.Fprintf(&b, "\n%s\n", marked(cmd.Long))
		if cmd.LocalNonPersistentFlags().HasAvailableFlags() {
			b.WriteString("\n")
			flags(&b, cmd.LocalNonPersistentFlags())
		}
		var examples []string
		for _, line := range strings.Split(cmd.Example, "\n") {
			examples = append(examples, "    "+strings.TrimSpace(line))
		}
		fmt.Fprintf(&b, "\nExamples:\n\n%s\n", strings.Join(examples, "\n"))
		if related := related(cmd); len(related) > 0 {
			for i, name := range related {
				related[i] = fmt.Sprintf("[%s](#%[1]s)", name)
			}
			fmt.Fprintf(&b, "\nSee also: %s\n", strings.Join(related, ", "))
		}
	}
	return b.String()
}

// marked returns a text of the help in Markdown: a paragraph with lines that are indented, or with < or >, is shown as it is.
func marked(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") || strings.ContainsAny(p, "<>") {
			paragraphs[i] = "    " + strings.ReplaceAll(p, "\n", "\n    ")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// related returns the commands that the help of a command refers to under "See also".
func related(cmd *cobra.Command) []string {
	names := cmd.Annotations["see also"]
	if names == "" {
		return nil
	}
	return strings.Split(names, ", ")
}

// flags writes a table of flags.
func flags(b *strings.Builder, set *pflag.FlagSet) {
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := f.DefValue
		_, usage := pflag.UnquoteUsage(f)
		switch value {
		case "false", "[]", "0s":
			value = ""
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, usage)
	})
}

// writeManPages writes a manual page for each command, and one for the program. It returns how many.
func writeManPages(root *cobra.Command, dir string) (n int, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Hidden {
			continue
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(name, cmd)), 0o644); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// manPage returns the help of a command in the language of man.
func manPage(name string, cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"juju %s\" \"Juju\"\n", strings.ToUpper(manText(name)), Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", manText(name), manText(cmd.Short),
		manText(cmd.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", manText(cmd.Long))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, ".PP\nAlso known as: %s.\n", manText(strings.Join(cmd.Aliases, ", ")))
	}
	options := func(heading string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&b, ".SH %s\n", heading)
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			names := "--" + f.Name
			if f.Shorthand != "" {
				names = "-" + f.Shorthand + ", " + names
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", manText(strings.TrimSpace(names+" "+value)), manText(usage))
		})
	}
	options("OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		options("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	} else {
		options("OPTIONS OF ALL COMMANDS", cmd.PersistentFlags())
	}
	fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", manText(cmd.Example))
	if also := related(cmd); len(also) > 0 {
		for i, other := range also {
			also[i] = ".BR " + manText("juju-"+other) + " (1)"
		}
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.String()
}

// manText escapes a text for man.
func manText(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\e`), "-", `\-`), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
