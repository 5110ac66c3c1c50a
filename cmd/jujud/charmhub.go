package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"juju/charm"
	"juju/charm/charmhub"
	"juju/charm/charmstore"
)

// A publisher publishes charms: in a directory of this host, or through the server of a store.
type publisher interface {
	Upload(ctx context.Context, in io.Reader) (charmstore.Uploaded, error)
	UploadResource(ctx context.Context, charm, resource string, in io.Reader) (charmstore.Uploaded, error)
	Release(ctx context.Context, charm string, revision int, channels []string, resources map[string]int) error
	Shut(ctx context.Context, charm, channel string) error
}

// storeFlags say where a store is that a command changes.
type storeFlags struct{ dir, url, tokenFile, caFile string }

func (s *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.dir, "dir", "", "directory of the store, on this host")
	cmd.Flags().StringVar(&s.url, "url", "", "URL of the store, in place of --dir")
	cmd.Flags().StringVar(&s.tokenFile, "token-file", "", "file with a token of the store, with --url")
	cmd.Flags().StringVar(&s.caFile, "ca-cert", "", "file with a certificate that vouches for the store, with --url")
}

func (s *storeFlags) open() (publisher, error) {
	switch {
	case (s.dir == "") == (s.url == ""):
		return nil, usageError{errors.New("give either --dir or --url")}
	case s.dir != "":
		return existing(s.dir)
	case s.tokenFile == "":
		return nil, usageError{errors.New("no --token-file given: on the store's host, jujud charmhub add-token makes a token")}
	}
	token, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return nil, err
	}
	ca, err := readOptional(s.caFile)
	if err != nil {
		return nil, err
	}
	return charmstore.NewRemote(s.url, strings.TrimSpace(string(token)), ca)
}

// existing opens a store that there is: a mistyped directory is none.
func existing(dir string) (*charmstore.Directory, error) {
	if dir == "" {
		return nil, usageError{errors.New("no --dir given")}
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return charmstore.Open(dir)
}

func readOptional(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

func charmhubCommand() *cobra.Command {
	var dir, listen, cert, key, public string
	cmd := &cobra.Command{
		Use:   "charmhub --dir DIR",
		Short: "Serve a directory of charms as Charmhub does",
		Long: `Serve a directory of charms by Charmhub's protocol, for controllers and clients that
can't reach Charmhub, or shouldn't. Models use it if their setting charmhub-url names it.

Each charm has a folder of its name, with a file NAME_rREVISION.charm for each revision,
and releases.yaml, which says what is released in which channel. The commands below write
them, also while the store is served; a copy of the directory is a store too.

Reading needs no login. Publishing through the server needs a token, and https unless it
is done from this host.`,
		Example: `  jujud charmhub --dir /srv/charms --listen :8080
  jujud charmhub --dir /srv/charms --listen :443 --cert store.crt --key store.key
  jujud charmhub upload --dir /srv/charms ./web.charm --release 2/stable
  juju add-model shop --config charmhub-url=http://charms.example.com:8080`,
		Args: noMoreArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usageError{errors.New("no --dir given")}
			}
			if (cert == "") != (key == "") {
				return usageError{errors.New("--cert and --key belong together")}
			}
			store, err := charmstore.Open(dir)
			if err != nil {
				return err
			}
			if err := store.Load(cmd.Context()); err != nil {
				return err
			}
			l, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "serving the charms of %s on %s\n", dir, l.Addr())
			return charmstore.NewServer(store, public).Serve(cmd.Context(), l, cert, key)
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "directory of the store, created if it does not exist")
	f.StringVar(&listen, "listen", "127.0.0.1:8080", "address to listen on")
	f.StringVar(&cert, "cert", "", "file with the certificate for https, in PEM")
	f.StringVar(&key, "key", "", "file with the key of the certificate")
	f.StringVar(&public, "public-url", "", "URL by which clients reach the store, if it is behind a proxy")
	cmd.AddCommand(uploadCommand(), uploadResourceCommand(), releaseCommand(), closeCommand(), charmhubStatusCommand(), addTokenCommand(),
		removeTokenCommand(), mirrorCommand())
	return cmd
}

func noMoreArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unrecognized args: %q", args)}
	}
	return nil
}

// takes returns a check for as many arguments as a line of usage names.
func takes(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usageError{fmt.Errorf("no %s given", names[len(args)])}
		}
		return noMoreArgs(nil, args[len(names):])
	}
}

func uploadCommand() *cobra.Command {
	var at storeFlags
	var channels []string
	cmd := &cobra.Command{
		Use:   "upload CHARM",
		Short: "Add a revision of a charm to a store",
		Long: `Add a charm to a store as its next revision: a .charm, as charmcraft packs it, or a
directory with a charm, which is packed as juju deploy does. The same content again is the
same revision. With --release, put it into channels as well.`,
		Example: `  jujud charmhub upload --dir /srv/charms ./web.charm --release 2/edge
  jujud charmhub upload --dir /srv/charms ./charms/web`,
		Args: takes("CHARM"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := at.open()
			if err != nil {
				return err
			}
			f, err := openCharm(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			up, err := store.Upload(cmd.Context(), f)
			if err != nil {
				return err
			}
			said := "is"
			if up.Had {
				said = "was already"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s revision %d of charm %s, for %s\n", args[0], said, up.Revision, up.Name, strings.Join(up.Bases, ", "))
			if len(channels) == 0 {
				return nil
			}
			return publish(cmd, store, up.Name, up.Revision, channels, nil)
		},
	}
	at.add(cmd)
	cmd.Flags().StringSliceVar(&channels, "release", nil, "channels in which to release it")
	return cmd
}

// openCharm opens a charm's archive, or the one that it makes of a directory, in a file without a name.
func openCharm(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return os.Open(path)
	}
	dir, err := charm.ReadDir(path)
	if err != nil {
		return nil, err
	}
	return dir.ArchiveFile()
}

func publish(cmd *cobra.Command, store publisher, name string, revision int, channels []string, resources map[string]int) error {
	if err := store.Release(cmd.Context(), name, revision, channels, resources); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "revision %d of charm %s is released in %s\n", revision, name, strings.Join(channels, ", "))
	return nil
}

func uploadResourceCommand() *cobra.Command {
	var at storeFlags
	cmd := &cobra.Command{
		Use:     "upload-resource CHARM RESOURCE FILE",
		Short:   "Add a revision of a resource to a store",
		Long:    `Add a file to a store as the next revision of a resource that the charm declares.`,
		Example: `  jujud charmhub upload-resource --dir /srv/charms web site ./site.tgz`,
		Args:    takes("CHARM", "RESOURCE", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := at.open()
			if err != nil {
				return err
			}
			f, err := os.Open(args[2])
			if err != nil {
				return err
			}
			defer f.Close()
			up, err := store.UploadResource(cmd.Context(), args[0], args[1], f)
			if err != nil {
				return err
			}
			said := "is"
			if up.Had {
				said = "was already"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s revision %d of resource %s of charm %s\n", args[2], said, up.Revision, args[1], args[0])
			return nil
		},
	}
	at.add(cmd)
	return cmd
}

func releaseCommand() *cobra.Command {
	var at storeFlags
	var revision int
	var channels, resources []string
	cmd := &cobra.Command{
		Use:   "release CHARM",
		Short: "Release a revision of a charm in channels",
		Long: `Release a revision of a charm in channels, TRACK/RISK or RISK. Resources come with it: the
newest revision of each, or the one that --resource names.`,
		Example: `  jujud charmhub release --dir /srv/charms web --revision 7 --channel 2/stable --resource site:3`,
		Args:    takes("CHARM"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if revision < 0 {
				return usageError{errors.New("no --revision given")}
			}
			chosen := map[string]int{}
			for _, text := range resources {
				name, number, _ := strings.Cut(text, ":")
				n, err := strconv.Atoi(number)
				if err != nil || n < 0 || name == "" {
					return usageError{fmt.Errorf("--resource %s: expected NAME:REVISION", text)}
				}
				chosen[name] = n
			}
			store, err := at.open()
			if err != nil {
				return err
			}
			return publish(cmd, store, args[0], revision, channels, chosen)
		},
	}
	at.add(cmd)
	cmd.Flags().IntVar(&revision, "revision", -1, "revision to release")
	cmd.Flags().StringSliceVar(&channels, "channel", nil, "channels in which to release it")
	cmd.Flags().StringSliceVar(&resources, "resource", nil, "revisions of resources, NAME:REVISION")
	return cmd
}

func closeCommand() *cobra.Command {
	var at storeFlags
	cmd := &cobra.Command{
		Use:     "close CHARM CHANNEL",
		Short:   "Take the releases out of a channel",
		Long:    `Take the releases of a charm out of a channel. Who asks for it then gets what the next more stable risk has.`,
		Example: `  jujud charmhub close --dir /srv/charms web 2/edge`,
		Args:    takes("CHARM", "CHANNEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := at.open()
			if err == nil {
				err = store.Shut(cmd.Context(), args[0], args[1])
			}
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "channel %s of charm %s is closed\n", args[1], args[0])
			}
			return err
		},
	}
	at.add(cmd)
	return cmd
}

func charmhubStatusCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "status [CHARM]",
		Short:   "List what a store has released",
		Long:    `List the charms of a store, with what is released in which channel and for which base.`,
		Example: `  jujud charmhub status --dir /srv/charms`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := existing(dir)
			if err != nil {
				return err
			}
			all, err := store.Statuses(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "Charm\tLatest\tChannel\tBase\tRevision\tResources")
			for _, one := range all {
				if len(one.Channels) == 0 {
					fmt.Fprintf(w, "%s\t%d\t-\t-\t-\t-\n", one.Name, one.Latest)
				}
				for _, c := range one.Channels {
					fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d\t%s\n", one.Name, one.Latest, c.Channel, c.Base, c.Revision, resourcesText(c.Resources))
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the store")
	return cmd
}

func addTokenCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "add-token NAME",
		Short: "Make a token that can publish",
		Long: `Make a token with which charms can be published through the store's server, and print it
once: the store keeps only its hash.`,
		Example: `  jujud charmhub add-token --dir /srv/charms ci > ci.token`,
		Args:    takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := existing(dir)
			if err != nil {
				return err
			}
			token, err := store.AddToken(cmd.Context(), args[0])
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), token)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the store")
	return cmd
}

func removeTokenCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "remove-token NAME",
		Short:   "End a token that can publish",
		Long:    `End a token that add-token has made. It is refused from now on.`,
		Example: `  jujud charmhub remove-token --dir /srv/charms ci`,
		Args:    takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := existing(dir)
			if err == nil {
				err = store.RemoveToken(cmd.Context(), args[0])
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the store")
	return cmd
}

func mirrorCommand() *cobra.Command {
	var dir, from, caFile string
	cmd := &cobra.Command{
		Use:   "mirror CHARM[=CHANNEL,…]…",
		Short: "Copy charms from another store",
		Long: `Copy charms from another store, Charmhub by default, into the directory of a store: what is
released in the channels that are named, or in all, with the same revisions, resources and
ids. What the directory has is not fetched again. It can then be carried into a network
that has no way to the other store.`,
		Example: `  jujud charmhub mirror --dir /srv/charms postgresql=14/stable,16/stable pgbouncer`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return usageError{errors.New("no --dir given")}
			}
			var wishes []charmstore.Wish
			for _, text := range args {
				name, list, _ := strings.Cut(text, "=")
				wish := charmstore.Wish{Name: name}
				for _, one := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
					c, err := charmhub.ParseChannel(one)
					if err != nil {
						return usageError{err}
					}
					wish.Channels = append(wish.Channels, c)
				}
				wishes = append(wishes, wish)
			}
			ca, err := readOptional(caFile)
			if err != nil {
				return err
			}
			other, err := charmhub.New(charmhub.Options{URL: from, CACert: ca, Retried: func(err error) {
				fmt.Fprintf(cmd.ErrOrStderr(), "it is tried again: %v\n", err)
			}})
			if err != nil {
				return err
			}
			defer other.Close()
			store, err := charmstore.Open(dir)
			if err != nil {
				return err
			}
			for _, wish := range wishes {
				if err := store.Mirror(cmd.Context(), other, wish, func(what string) { fmt.Fprintln(cmd.OutOrStdout(), what) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the store, created if it does not exist")
	cmd.Flags().StringVar(&from, "from", charmhub.DefaultURL, "URL of the other store")
	cmd.Flags().StringVar(&caFile, "ca-cert", "", "file with a certificate that vouches for the other store")
	return cmd
}

func resourcesText(of map[string]int) string {
	if len(of) == 0 {
		return "-"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s:%d", name, of[name]))
	}
	return strings.Join(all, " ")
}
