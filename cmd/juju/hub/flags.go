package hub

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/charm/charmhub"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// storeFlag says which store a command asks.
type storeFlag struct{ url string }

func (f *storeFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "charmhub-url", charmhub.DefaultURL, "URL of the charm store")
}

// open returns a client of the store. The caller must close it.
func (f *storeFlag) open(s *cli.Session) (*charmhub.Client, error) {
	return charmhub.New(charmhub.Options{URL: f.url, Retried: func(err error) { s.Note("Trying again: %v", err) }})
}

// choiceFlags say which release a command means.
type choiceFlags struct {
	channel, base, arch string
	revision            int
}

func (f *choiceFlags) add(cmd *cobra.Command, channel string) {
	cmd.Flags().StringVar(&f.channel, "channel", channel, "channel, TRACK/RISK or RISK")
	cmd.Flags().IntVar(&f.revision, "revision", -1, "revision of the charm")
	cmd.Flags().StringVar(&f.base, "base", "", "base that it must run on, such as ubuntu@24.04")
	cmd.Flags().StringVar(&f.arch, "arch", "", "architecture that it must run on (default this machine's; info: any)")
}

// check returns the choice of a charm by its name.
func (f *choiceFlags) check(name string) (want charmhub.Choice, err error) {
	if name, err = nameOf(name); err != nil {
		return want, err
	}
	want = charmhub.Choice{Name: name, Revision: f.revision, Base: charmhub.Base{Architecture: f.arch}}
	if f.channel != "" {
		if want.Channel, err = charmhub.ParseChannel(f.channel); err != nil {
			return want, cli.Usagef("%w", err)
		}
	}
	if f.arch == "" {
		want.Base.Architecture = runtime.GOARCH
	}
	if f.base == "" {
		return want, nil
	}
	system, release, ok := strings.Cut(f.base, "@")
	if !ok || system == "" || release == "" {
		return want, cli.Usagef("--base %q: expected SYSTEM@RELEASE, such as ubuntu@24.04", f.base)
	}
	want.Base.Name, want.Base.Channel = system, strings.TrimSuffix(release, "/stable")
	return want, nil
}

// nameOf returns the name of a charm, which may have the prefix of the store.
func nameOf(text string) (string, error) {
	name := strings.TrimPrefix(text, "ch:")
	if !entity.IsValidService(name) {
		return "", cli.Usagef("%q is not the name of a charm in a store", text)
	}
	return name, nil
}

// one is the check of the arguments of a command that takes a charm's name.
func one(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return cli.Usagef("expected a charm or bundle name")
	case 1:
		return nil
	}
	return cli.Usagef("expected one charm or bundle name, got %q", args)
}

// archsOf and basesOf list what releases are for, each once.
func archsOf(bases []charmhub.Base) (all []string) {
	for _, b := range bases {
		if !slices.Contains(all, b.Architecture) {
			all = append(all, b.Architecture)
		}
	}
	slices.Sort(all)
	return all
}

func basesOf(bases []charmhub.Base) (all []entity.Base) {
	for _, b := range bases {
		if !slices.Contains(all, b.Of()) {
			all = append(all, b.Of())
		}
	}
	slices.SortFunc(all, func(a, b entity.Base) int { return entity.CompareNatural(a.String(), b.String()) })
	return all
}

// sizeOf returns a size as the store's page does: whole, in powers of 1000.
func sizeOf(bytes int64) string {
	unit := 0
	for ; bytes >= 1000 && unit < 3; unit++ {
		bytes /= 1000
	}
	return fmt.Sprintf("%d%s", bytes, []string{"B", "kB", "MB", "GB"}[unit])
}
