package ssh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/agent"
	"juju/agent/host/process"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func CharmHistoryCommand(s *cli.Session) *cobra.Command {
	var out cli.Output
	size := 0
	cmd := &cobra.Command{
		Use:   "charm-history UNIT",
		Short: "Show changes by hooks and upgrades to a unit's charm directory",
		Long: `Show the changes that hooks and upgrades made to a unit's charm directory, newest first:
files that were added (A), modified (M) and deleted (D). A user's changes are part of the
next commit. (lost) means that the changes were lost in a power failure. The directory is
a git repository, whose path is in the last line. To see a whole commit, use juju ssh and
git show.`,
		Example: `  juju charm-history web/0
  juju charm-history web/0 -n 3 --format yaml`,
		Annotations: cli.SeeAlso("ssh", "debug-log", "upgrade-charm"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("no unit name specified")
			case !cli.IsUnitTarget(args[0]):
				return cli.Usage(entity.InvalidUnit(args[0]))
			case size < 0:
				return cli.Usagef("-n must not be negative")
			}
			if err := cli.CheckListFormat(out.Format); err != nil {
				return err
			}
			return charmHistory(cmd.Context(), s, out, args[0], size)
		},
	}
	cmd.Flags().IntVarP(&size, "lines", "n", 20, "how many of the newest commits to show; 0 for all")
	out.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// A shownCommit is the YAML and JSON form of a commit.
type shownCommit struct {
	Commit   string   `yaml:"commit" json:"commit"`
	Time     string   `yaml:"time" json:"time"`
	Message  string   `yaml:"message" json:"message"`
	Added    []string `yaml:"added,omitempty" json:"added,omitempty"`
	Modified []string `yaml:"modified,omitempty" json:"modified,omitempty"`
	Deleted  []string `yaml:"deleted,omitempty" json:"deleted,omitempty"`
	Lost     bool     `yaml:"lost,omitempty" json:"lost,omitempty"`
}

// historyTimeout is how long a machine may take to return a unit's history.
const historyTimeout = time.Minute

// maxHistory is the maximum size of a history, in bytes.
const maxHistory = 64 << 20

// commits returns the last commits of a unit's charm directory.
func commits(ctx context.Context, s *cli.Session, root string, remote remoteProgram, unit string, n int) (
	[]agent.Commit, error) {
	if remote == nil {
		return agent.CharmHistory(root, unit, n)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, historyTimeout, fmt.Errorf("no answer within %v", historyTimeout))
	defer cancel()
	argv := remote([]string{"-T"}, agent.RunCharmHistory, strconv.Itoa(n))
	text, said, err := process.Program{Path: argv[0], Args: argv[1:], Max: maxHistory}.Output(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		if last := strings.TrimPrefix(lines[len(lines)-1], "ERROR "); last != "" {
			err = errors.New(last)
		}
		return nil, fmt.Errorf("cannot read the history on the unit's machine: %w", err)
	}
	var commits []agent.Commit
	err = json.Unmarshal(text, &commits)
	return commits, err
}

// maxChanges is how many changed files a line of the table lists.
const maxChanges = 3

func charmHistory(ctx context.Context, s *cli.Session, out cli.Output, target string, size int) error {
	unit, root, remote, err := unitPlace(ctx, s, target)
	if err != nil {
		return err
	}
	commits, err := commits(ctx, s, root, remote, unit, size)
	if err != nil {
		return err
	}
	shown, rows := []shownCommit{}, [][]string{{"Time", "Commit", "What", "Files"}}
	for _, c := range commits {
		one := shownCommit{Commit: c.ID, Time: c.Time.Format(time.RFC3339), Message: c.Message, Lost: c.Lost}
		var files []string
		for i, change := range c.Changes {
			switch change.How {
			case 'A':
				one.Added = append(one.Added, change.Path)
			case 'D':
				one.Deleted = append(one.Deleted, change.Path)
			default:
				one.Modified = append(one.Modified, change.Path)
			}
			if i < maxChanges {
				files = append(files, fmt.Sprintf("%c %s", change.How, change.Path))
			}
		}
		if more := len(c.Changes) - maxChanges; more > 0 {
			files = append(files, fmt.Sprintf("and %d more", more))
		}
		if c.Lost {
			files = []string{"(lost)"}
		}
		shown = append(shown, one)
		rows = append(rows, []string{c.Time.Local().Format(time.DateTime), c.ID[:8], c.Message, strings.Join(files, ", ")})
	}
	if err := s.WriteList(out, shown, rows); err != nil {
		return err
	}
	if out.Format == "tabular" {
		s.Note("The repository: %s", agent.CharmDir(root, unit))
	}
	return nil
}
