package commands

import (
	"runtime"

	"github.com/spf13/cobra"

	"juju/agent"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// Version has the form that Juju's own program prints on Linux, with the architecture.
const Version = entity.JujuVersion + "-genericlinux-" + runtime.GOARCH

func versionCommand(s *cli.Session) *cobra.Command {
	v := &version{Session: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of Juju with which this program is compatible; scripts check it. On a
terminal, and with --all, also print the program's release and the git commit that it was
built from. status --format yaml shows those of a controller.`,
		Example: `  juju version
  juju version --all`,
		Annotations: cli.SeeAlso("status"),
		Args:        cli.AtMost(0),
		RunE: func(_ *cobra.Command, _ []string) error {
			return v.run()
		},
	}
	cmd.Flags().BoolVar(&v.all, "all", false, "also print the program's own version, platform, compiler and commit")
	v.output.Flags(cmd, "yaml", "yaml", "json")
	return cmd
}

type version struct {
	*cli.Session
	all    bool
	output cli.Output
}

func (v *version) run() error {
	if err := cli.CheckFormat(v.output.Format); err != nil {
		return err
	}
	if !v.all && !v.output.IsChosen() {
		text := Version + "\n"
		if v.OutTerminal && v.output.Path == "" {
			text += "release " + entity.Binaries{Version: agent.Version, Commit: agent.BuiltFrom()}.Build() + "\n"
		}
		return v.Write(v.output, []byte(text))
	}
	if !v.all {
		text, err := cli.Encode(v.output.Format, Version)
		if err != nil {
			return err
		}
		return v.Write(v.output, text)
	}
	info := struct {
		Version  string `yaml:"version" json:"version"`
		Release  string `yaml:"release" json:"release"`
		Platform string `yaml:"platform" json:"platform"`
		Compiler string `yaml:"compiler" json:"compiler"`
		Official bool   `yaml:"official" json:"official"` // false: it is not Canonical's
		Commit   string `yaml:"git-commit,omitempty" json:"git-commit,omitempty"`
	}{Version: Version, Release: agent.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH, Compiler: runtime.Version(), Commit: agent.BuiltFrom()}
	text, err := cli.Encode(v.output.Format, info)
	if err != nil {
		return err
	}
	return v.Write(v.output, text)
}
