package bundles

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"juju/apiserver/bundlechanges"
	"juju/charm"
	"juju/charm/bundle"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/state/constraints"
	"juju/state/entity"
)

// bundleFlags are the flags of all commands that take a bundle.
type bundleFlags struct {
	overlays    []string
	mapMachines string
	anyInclude  bool
}

func (b *bundleFlags) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&b.overlays, "overlay", nil, "with a bundle: an overlay file; can be repeated")
	f.StringVar(&b.mapMachines, "map-machines", "",
		"with a bundle: which of its machines exist in the model, as existing,A=B,…")
	f.BoolVar(&b.anyInclude, "allow-includes", false,
		"with a bundle: allow it to include and upload files from outside its folder")
}

// maxBundle is the maximum size of a bundle's file or archive.
const maxBundle = 5 << 20

// bundleFile is the bundle in a directory or archive.
const bundleFile = "bundle.yaml"

// charmFiles are the YAML files of a charm's directory that are the first argument of nobody who means a bundle.
var charmFiles = []string{"metadata.yaml", "charmcraft.yaml", "config.yaml", "actions.yaml", "manifest.yaml"}

// CheckCharmFile returns an error if a path is a file of a charm's directory, rather than the directory.
func CheckCharmFile(path string) error {
	if !slices.Contains(charmFiles, filepath.Base(path)) {
		return nil
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return nil
	}
	return entity.WithHint(cli.Usagef("cannot deploy %s: it is a file of a charm", path),
		"To deploy the charm, specify its directory: juju deploy %s", filepath.Dir(path))
}

// IsBundle reports whether there is a bundle at a path, rather than a charm: a YAML file, standard input, or a
// directory or archive with a bundle.yaml and no metadata.yaml.
func IsBundle(path string) bool {
	if path == cli.StandardInput {
		return true
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		_, noMeta := os.Stat(filepath.Join(path, "metadata.yaml"))
		_, noBundle := os.Stat(filepath.Join(path, bundleFile))
		return noMeta != nil && noBundle == nil
	}
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		return true
	}
	text, err := cli.ReadFile(path, maxBundle)
	if err != nil || len(text) > maxBundle {
		return false
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	has := func(name string) bool {
		return slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == name })
	}
	return err == nil && has(bundleFile) && !has("metadata.yaml")
}

// readFile reads the file of a bundle or an overlay.
func (b *bundleFlags) readFile(stdin io.Reader, path string) (bundle.Source, error) {
	src := bundle.Source{Name: path, Dir: filepath.Dir(path)}
	if info, err := os.Stat(path); path != cli.StandardInput && err == nil && info.IsDir() {
		src.Name, src.Dir = filepath.Join(path, bundleFile), path
	}
	src.Include = func(path string) ([]byte, error) { return b.include(bundle.File{Path: path, Dir: src.Dir}) }
	text, err := cli.ReadInput(stdin, src.Name, maxBundle)
	if path == cli.StandardInput {
		src.Name = "standard input"
	}
	if err == nil && bytes.HasPrefix(text, []byte("PK")) {
		text, err = unzipBundle(text)
	}
	if err == nil && len(text) > maxBundle {
		err = fmt.Errorf("larger than %d bytes", maxBundle)
	}
	if err != nil {
		err = fmt.Errorf("cannot read bundle: %w", err)
		if errors.Is(err, fs.ErrNotExist) {
			err = entity.WithHint(err, "Give the path of a YAML file, or of a directory or a zip archive with a %s.", bundleFile)
		}
		return src, err
	}
	src.Text = text
	return src, nil
}

// unzipBundle returns the bundle.yaml in an archive, up to one byte more than maxBundle.
func unzipBundle(archive []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	f, err := z.Open(bundleFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBundle+1))
}

// open opens a file that a bundle names: it must be below the bundle's folder, unless the user allows others.
func (b *bundleFlags) open(file bundle.File) (*os.File, error) {
	if b.anyInclude {
		return cli.OpenFile(file.Path)
	}
	f, err := cli.OpenBelow(file.Dir, file.Path)
	if errors.Is(err, cli.ErrNotBelow) {
		err = fmt.Errorf("%w of the bundle; if it may: --allow-includes", err)
	}
	return f, err
}

// include reads a file that a bundle includes.
func (b *bundleFlags) include(file bundle.File) ([]byte, error) {
	f, err := b.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return cli.ReadOpen(f, file.Path, cli.MaxOptionFile)
}

// A bundleSource is a bundle with its charms.
type bundleSource struct {
	*bundle.Bundle
	open      func(bundle.File) (*os.File, error) // a file that the bundle names
	repo      charms.Repository
	relations []bundle.Relation
	charms    map[string]*charms.Source // by service
	options   map[string]map[string]any // by service
	opened    map[string]*charms.Source // by path or URL
	taken     []string                  // warnings that a charm comes from the repository, not from a charm store
}

// read reads a bundle with its overlays.
func (b *bundleFlags) read(stdin io.Reader, path string, repo charms.Repository) (*bundleSource, error) {
	var sources []bundle.Source
	for _, file := range append([]string{path}, b.overlays...) {
		src, err := b.readFile(stdin, file)
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	all, err := bundle.Read(sources...)
	if err != nil {
		return nil, err
	}
	return &bundleSource{Bundle: all, open: b.open, repo: repo, charms: map[string]*charms.Source{}, options: map[string]map[string]any{},
		opened: map[string]*charms.Source{}}, nil
}

// close closes the charms' archives.
func (b *bundleSource) close() {
	for _, c := range b.opened {
		c.Close()
	}
}

// needsModel reports whether a charm may come from the model, or the bundle has to do with other models.
func (b *bundleSource) needsModel() bool {
	if len(b.SAAS) > 0 || b.offers() {
		return true
	}
	for _, s := range b.Services {
		if strings.HasPrefix(s.Charm, "local:") {
			return true
		}
	}
	return false
}

// offers reports whether the bundle has offers.
func (b *bundleSource) offers() bool {
	for _, s := range b.Services {
		if len(s.Offers) > 0 {
			return true
		}
	}
	return false
}

// grantees returns the users to whom the bundle grants access to offers, each with the error if there is none. It fails if the
// user may not grant it.
func (b *bundleSource) grantees(ctx context.Context, api readBundleAPI) (map[string]error, error) {
	known := map[string]error{}
	for _, s := range b.Services {
		for _, o := range s.Offers {
			for user := range o.ACL {
				known[user] = nil
			}
		}
	}
	if !b.offers() {
		return known, nil
	}
	names := slices.Sorted(maps.Keys(known))
	errs, err := api.CheckUsers(ctx, names...)
	for i, err := range errs {
		known[names[i]] = err
	}
	if err != nil {
		err = fmt.Errorf("cannot offer services of the model: %w", err)
	}
	return known, err
}

// verify reads the charms, and returns all mistakes. api may be nil unless needsModel.
func (b *bundleSource) verify(ctx context.Context, on *cli.Session, api readBundleAPI) (err error) {
	var target cli.Target
	if len(b.SAAS) > 0 {
		if _, target, err = on.ReadModelTarget(); err != nil {
			return err
		}
	}
	users, err := b.grantees(ctx, api)
	if err != nil {
		return err
	}
	names := map[*bundle.Service]string{}
	for name, s := range b.Services {
		names[s] = name
	}
	b.relations, err = b.Verify(bundle.Checks{
		Charm: func(s *bundle.Service) (*charm.Charm, error) {
			c, err := b.charm(ctx, on, api, s)
			if err != nil {
				return nil, err
			}
			b.charms[names[s]] = c
			return c.Charm, nil
		},
		File: b.checkFile,
		Constraints: func(text string) error {
			_, err := constraints.Parse(text)
			return err
		},
		Series: entity.SeriesOf,
		Offer: func(url string) (entity.Offer, error) {
			u, err := entity.ParseOfferURL(url, target.Name)
			if err != nil {
				return entity.Offer{}, err
			}
			u.User = cmp.Or(u.User, target.Controller.User)
			offer, _, err := api.ConsumeDetails(ctx, u.String())
			return offer, err
		},
		User: func(name string) error { return users[name] },
	})
	var mistakes bundle.Errors
	if err != nil && !errors.As(err, &mistakes) {
		return err
	}
	mistakes = append(mistakes, b.unsupported()...)
	mistakes = append(mistakes, b.wrongStorage()...)
	if len(mistakes) > 0 {
		return mistakes
	}
	for name, s := range b.Services {
		if b.options[name], err = s.Settings(name, b.charms[name].Charm); err != nil {
			return err
		}
	}
	return nil
}

// unsupported returns an error for each part of the bundle that is not supported.
func (b *bundleSource) unsupported() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		for _, part := range b.Services[name].Unsupported {
			errs = append(errs, entity.Errorf(entity.NotSupported, "application %q: %s: not supported yet", name, part))
		}
	}
	return errs
}

// wrongStorage returns an error for each storage constraint that is invalid or does not match a store of the charm.
func (b *bundleSource) wrongStorage() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		s := b.Services[name]
		for _, store := range slices.Sorted(maps.Keys(s.Storage)) {
			_, err := entity.ParseStorageConstraints(s.Storage[store])
			if c := b.charms[name]; c != nil && err == nil {
				if _, ok := c.Charm.Meta.Storage[store]; !ok {
					err = fmt.Errorf("charm %q has no store called %q", c.Charm.Meta.Name, store)
				}
			}
			if err != nil {
				errs = append(errs, entity.Errorf(entity.Invalid, "invalid storage %q in application %q: %w", store, name, err))
			}
		}
	}
	return errs
}

// storage returns the storage of a service, which has been verified.
func (b *bundleSource) storage(name string) (map[string]entity.StorageConstraints, error) {
	var all map[string]entity.StorageConstraints
	for store, text := range b.Services[name].Storage {
		c, err := entity.ParseStorageConstraints(text)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = map[string]entity.StorageConstraints{}
		}
		all[store] = c
	}
	return all, nil
}

// charm reads the charm of a service from its path, the repository or the model.
func (b *bundleSource) charm(ctx context.Context, on *cli.Session, api charms.ArchiveAPI,
	s *bundle.Service) (c *charms.Source, err error) {
	path := s.CharmPath()
	series := cmp.Or(s.Series, b.Series)
	key := cmp.Or(path, s.Charm+" "+series)
	if c := b.opened[key]; c != nil {
		return c, nil
	}
	if path != "" {
		if c, err = charms.Read(ctx, path); err == nil {
			b.opened[key] = c
		}
		return c, err
	}
	u, err := charm.ParseURL(s.Charm)
	if err != nil {
		return nil, err
	}
	if b.repo != "" {
		c, err = b.repo.Find(ctx, u, series)
	}
	if u.Schema == "local" && (c == nil || u.Revision >= 0 && c.Charm.Revision != u.Revision) {
		// A local revision refers to the model, rather than to the repository.
		have, missing := charms.FromModel(ctx, on, api, s.Charm)
		switch {
		case missing == nil:
			c.Close()
			c, err = have, nil
		case !errors.Is(missing, entity.NotFound) || c == nil && err == nil:
			c.Close()
			c, err = nil, missing
		}
	}
	if c != nil && c.URL == "" && u.Schema != "local" {
		b.taken = append(b.taken, fmt.Sprintf("using charm %q from %s", s.Charm, c.Path))
	}
	switch {
	case err != nil && b.repo == "" && u.Schema == "local":
		return nil, fmt.Errorf("%w; to use a local repository: --repository DIR", err)
	case err != nil:
		return nil, err
	case c == nil:
		return nil, errors.New("only local charms are supported: a path that starts with a dot, or a charm in a --repository")
	}
	b.opened[key] = c
	return c, nil
}

// askedSeries returns the series that the bundle specifies for a service, "" if none. The bundle's own series applies
// only to charms that support it, unless forced.
func (b *bundleSource) askedSeries(name string, force bool) string {
	s := b.Services[name]
	if s.Series != "" {
		return s.Series
	}
	if u, err := charm.ParseURL(s.Charm); err == nil && s.CharmPath() == "" && u.Series != "" {
		return u.Series
	}
	if !b.charms[name].Charm.Meta.Supports(b.Series) && !force {
		return ""
	}
	return b.Series
}

// wanted resolves the bundle against a model.
func (b *bundleSource) wanted(
	ctx context.Context, api readBundleAPI, m *bundlechanges.Model,
) (bundlechanges.Wanted, error) {
	w := bundlechanges.Wanted{Bundle: b.Bundle, Relations: b.relations, Options: b.options,
		Charms: map[string]*charm.Charm{}, SameCharm: map[string]bool{}, CharmURLs: map[string]string{},
		Resources: map[string]map[string]string{}, Storage: map[string]map[string]entity.StorageConstraints{}}
	var err error
	for name, c := range b.charms {
		if w.Storage[name], err = b.storage(name); err != nil {
			return w, err
		}
		w.Charms[name], w.CharmURLs[name] = c.Charm, c.URL
		if have := m.Services[name]; have != nil {
			if w.Resources[name], err = b.resourceSums(name); err != nil {
				return w, err
			}
			if w.SameCharm[name], err = c.IsSame(ctx, api, have.CharmURL); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// machineMap parses --map-machines: "existing" and pairs of the bundle's and the model's machine.
func (b *bundleSource) machineMap(flag string, m *bundlechanges.Model) (map[string]string, error) {
	mapped := map[string]string{}
	if flag == "" {
		return mapped, nil
	}
	existing := false
	for _, word := range strings.Split(flag, ",") {
		of, to, isPair := strings.Cut(word, "=")
		switch {
		case word == "existing":
			existing = true
			continue
		case !isPair || !entity.IsValidMachine(of) || !entity.IsValidMachine(to):
			return nil, cli.Usagef("invalid --map-machines parameter %q: expected existing or BUNDLE-MACHINE=MODEL-MACHINE",
				word)
		case b.Machines[of] == nil:
			return nil, cli.Usagef("invalid --map-machines parameter %q: the bundle has no machine %s", word, of)
		case m.Machines[to] == nil || m.Machines[to].Life != entity.Alive:
			return nil, cli.Usagef("invalid --map-machines parameter %q: the model has no machine %s", word, to)
		case mapped[of] != "":
			return nil, cli.Usagef("invalid --map-machines parameter %q: machine %s is mapped twice", word, of)
		}
		mapped[of] = to
	}
	for id := range b.Machines {
		if have := m.Machines[id]; existing && mapped[id] == "" && have != nil && have.Life == entity.Alive {
			mapped[id] = id
		}
	}
	return mapped, nil
}
