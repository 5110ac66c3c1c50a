package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"juju/charm/charmhub"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

const (
	maxCharm    = 1 << 30 // bytes
	maxResource = 64 << 30
)

// DownloadCommand downloads a charm from a store.
func DownloadCommand(s *cli.Session) *cobra.Command {
	var store storeFlag
	var chosen choiceFlags
	var path string
	var quiet, resources bool
	cmd := &cobra.Command{
		Use:   "download CHARM [-]",
		Short: "Download a charm from a charm store",
		Long: `Download a charm from a charm store into a file of the current directory, or with - to
standard output. The file is what the store has promised, or there is none: a download
that breaks off is resumed, and its hash compared.

With --resources, also download the resources of the release, into files beside it.`,
		Example: `  juju download postgresql
  juju download postgresql --channel 14/edge --base ubuntu@22.04
  juju download web --charmhub-url http://charms.example.com --filepath web.charm
  juju download web - > web.charm`,
		Annotations: cli.SeeAlso("info", "find", "deploy"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && args[1] == "-" {
				args = args[:1]
			}
			return one(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := chosen.check(args[0])
			if err != nil {
				return err
			}
			toStdout := len(args) == 2
			if toStdout && (path != "" || resources) {
				return cli.Usagef("what goes to standard output goes into no file: leave out - or the flag")
			}
			client, err := store.open(s)
			if err != nil {
				return err
			}
			defer client.Close()
			ctx := cmd.Context()
			answer, err := client.Choose(ctx, charmhub.Download, want)
			if err != nil {
				return err
			}
			ch := answer.Entity
			if ch.Type == "bundle" && path == "" {
				return entity.Errorf(entity.NotSupported, "%q is a bundle: download takes charms", ch.Name)
			}
			d := download{s, client, quiet}
			s.Note("Fetching charm %q revision %d using %q channel and base %q", ch.Name, ch.Revision, cmp.Or(answer.EffectiveChannel, chosen.channel),
				baseText(ch.Bases, want.Base))
			if toStdout {
				return d.toStdout(ctx, ch)
			}
			file := cmp.Or(path, fmt.Sprintf("%s_r%d.charm", ch.Name, ch.Revision))
			if err := d.toFile(ctx, ch.Download, file, maxCharm); err != nil {
				return err
			}
			flags := ""
			for _, r := range ch.Resources {
				if !resources {
					break
				}
				if r.Type != "file" {
					s.Warn(fmt.Sprintf("resource %q is an image of a container, and is not downloaded", r.Name))
					continue
				}
				if !entity.IsValidService(ch.Name) || filepath.Base(r.Name) != r.Name || r.Name == "" || r.Name[0] == '.' {
					return entity.Errorf(entity.Invalid, "the charm store names a resource %q", r.Name)
				}
				name := fmt.Sprintf("resource_%s_r%d%s", r.Name, r.Revision, extension(r.Filename))
				beside := filepath.Join(filepath.Dir(file), name)
				if err := d.toFile(ctx, r.Download, beside, maxResource); err != nil {
					return err
				}
				flags += fmt.Sprintf(" --resource %s=%s", r.Name, local(beside))
			}
			s.Note("Install the %q charm with:\n    juju deploy %s%s", ch.Name, local(file), flags)
			return nil
		},
	}
	store.add(cmd)
	chosen.add(cmd, "stable")
	cmd.Flags().StringVar(&path, "filepath", "", "file to write, which must not exist")
	cmd.Flags().BoolVar(&quiet, "no-progress", false, "print no progress")
	cmd.Flags().BoolVar(&resources, "resources", false, "download the resources of the release too")
	return cmd
}

// extension returns that of a resource's file, if it is one that can be part of a name.
func extension(name string) string {
	ext := filepath.Ext(name)
	for _, r := range ext[min(1, len(ext)):] {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return ""
		}
	}
	return ext
}

// local returns a path as juju deploy takes it.
func local(path string) string {
	if filepath.IsAbs(path) || filepath.Dir(path) != "." || filepath.Base(path) != path {
		return path
	}
	return "./" + path
}

func baseText(bases []charmhub.Base, asked charmhub.Base) string {
	b := asked
	if asked.IsAny() && len(bases) > 0 {
		b = bases[0]
		b.Architecture = asked.Architecture
	}
	return fmt.Sprintf("%s/%s/%s", b.Architecture, b.Name, b.Channel)
}

type download struct {
	s      *cli.Session
	client *charmhub.Client
	quiet  bool
}

// toFile downloads a file of the store. The path must not exist, and has the whole file in the end, or nothing.
func (d download) toFile(ctx context.Context, f charmhub.File, path string, limit int64) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return entity.WithHint(entity.Errorf(entity.AlreadyExists, "%s exists", path), "Remove it, or name another file with --filepath.")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		part.Close()
		os.Remove(part.Name())
	}()
	if err := d.fetch(ctx, f, part, limit); err != nil {
		return err
	}
	if err := part.Chmod(0o644); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return err
	}
	return os.Link(part.Name(), path) // unlike a renaming, it replaces nothing
}

// toStdout downloads a charm and then prints it: nothing is printed before its hash has been compared.
func (d download) toStdout(ctx context.Context, ch *charmhub.Charm) error {
	part, err := os.CreateTemp("", "juju-download-*")
	if err != nil {
		return err
	}
	defer part.Close()
	if err := os.Remove(part.Name()); err != nil {
		return err
	}
	if err := d.fetch(ctx, ch.Download, part, maxCharm); err != nil {
		return err
	}
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(d.s.Stdout.Raw(), part)
	return err
}

func (d download) fetch(ctx context.Context, f charmhub.File, w *os.File, limit int64) error {
	if d.quiet {
		return d.client.Fetch(ctx, f, w, limit, nil)
	}
	p := d.s.Quickly("Downloading %s", sizeOf(f.Size))
	defer p.Clear()
	return d.client.Fetch(ctx, f, w, limit, func(n int64) { p.Count(n, f.Size) })
}
