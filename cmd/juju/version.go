package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"juju/agent"
)

func versionCommand(s *session) *cobra.Command {
	v := &version{session: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long:  "Print the version of this program. status shows the version of a controller.",
		Example: `  juju version
  juju version --all`,
		Annotations: seeAlso("status"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unrecognized args: %q", args)
			}
			return v.run()
		},
	}
	cmd.Flags().BoolVar(&v.all, "all", false, "also print what it was built from")
	v.output.flags(cmd, "yaml", "yaml", "json")
	return cmd
}

type version struct {
	*session
	all    bool
	output output
}

func (v *version) run() error {
	if err := checkFormat(v.output.format); err != nil {
		return err
	}
	if !v.all && !v.output.isChosen() {
		return v.write(v.output, []byte(agent.Version+"\n"))
	}
	if !v.all {
		text, err := encode(v.output.format, agent.Version)
		if err != nil {
			return err
		}
		return v.write(v.output, text)
	}
	info := struct {
		Version  string `yaml:"version" json:"version"`
		Platform string `yaml:"platform" json:"platform"`
		Compiler string `yaml:"compiler" json:"compiler"`
		Commit   string `yaml:"git-commit,omitempty" json:"git-commit,omitempty"`
	}{agent.Version, runtime.GOOS + "/" + runtime.GOARCH, runtime.Version(), agent.BuiltFrom()}
	text, err := encode(v.output.format, info)
	if err != nil {
		return err
	}
	return v.write(v.output, text)
}
