package charmstore

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/charm/charmhub"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// A record is a releases.yaml. People may write it: what it lacks is filled in.
type record struct {
	ID        string `yaml:"id"`                  // 32 characters, the charm's for ever
	Publisher string `yaml:"publisher,omitempty"` // a name to show
	// DefaultTrack is the track of a channel without one; "" is "latest".
	DefaultTrack string                `yaml:"default-track,omitempty"`
	Releases     []release             `yaml:"releases,omitempty"` // the last one counts, where several are for one channel and base
	Revisions    []revision            `yaml:"revisions,omitempty"`
	Resources    map[string][]resource `yaml:"resources,omitempty"`
}

// A release is a revision in a channel, for each base that the revision has.
type release struct {
	Channel    string         `yaml:"channel"` // TRACK/RISK or TRACK/RISK/BRANCH
	Revision   int            `yaml:"revision"`
	Resources  map[string]int `yaml:"resources,omitempty"` // revisions of resources that come with it
	ReleasedAt time.Time      `yaml:"released-at"`
}

// A Content is what is known of a file. Size and Modified say whether it is still the same.
type Content struct {
	Size      int64     `yaml:"size"`
	Modified  time.Time `yaml:"modified"`
	SHA256    string    `yaml:"sha256"`
	SHA384    string    `yaml:"sha384"`
	CreatedAt time.Time `yaml:"created-at"`
}

// A revision is a .charm.
type revision struct {
	Revision int    `yaml:"revision"`
	Version  string `yaml:"version,omitempty"` // what it says it was built from
	Summary  string `yaml:"summary,omitempty"`
	// Bases are written SYSTEM@RELEASE/ARCHITECTURE. A charm that names none runs on anyBase.
	Bases     []string            `yaml:"bases"`
	Interface map[string][]string `yaml:"interfaces,omitempty"` // "provides", "requires"
	Content   `yaml:",inline"`
}

// A resource is a revision of a resource.
type resource struct {
	Revision int    `yaml:"revision"`
	Filename string `yaml:"filename"`
	Content  `yaml:",inline"`
}

// anyBase is the base of a charm that names none.
const anyBase = "all@all/all"

// maxRecord bounds the bytes of a releases.yaml, and recordLimits its parts.
const maxRecord = 8 << 20

var recordLimits = safeyaml.Limits{Bytes: maxRecord, Marks: 1 << 20, Nodes: 1 << 19, Depth: 10}

// readRecord reads the record at a path; an empty one if there is none.
func readRecord(path string) (*record, error) {
	r := &record{}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxRecord:
		return nil, entity.Errorf(entity.Invalid, "%s is larger than %d MiB", path, maxRecord>>20)
	}
	root, err := safeyaml.Parse(text, recordLimits)
	if err == nil {
		err = checkKeys(root)
	}
	if err == nil {
		err = safeyaml.Unmarshal(text, r, recordLimits)
	}
	if err != nil {
		return nil, entity.Errorf(entity.Invalid, "cannot read %s: %w", path, err)
	}
	for i := range r.Releases {
		c, err := charmhub.ParseChannel(r.Releases[i].Channel)
		if err != nil {
			return nil, fmt.Errorf("%s: release %d: %w", path, i+1, err)
		}
		r.Releases[i].Channel = c.In(r.defaultTrack()).String()
	}
	return r, nil
}

// checkKeys refuses a mistyped key of a record.
func checkKeys(root *yaml.Node) error {
	if root == nil || root.Kind != yaml.MappingNode {
		return nil // decoding says what is wrong
	}
	known := []string{"id", "publisher", "default-track", "releases", "revisions", "resources"}
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: there is no key %q: %s", key.Line, key.Value, strings.Join(known, ", "))
		}
	}
	return nil
}

func (r *record) defaultTrack() string {
	if r.DefaultTrack == "" {
		return charmhub.LatestTrack
	}
	return r.DefaultTrack
}

func (r *record) revision(n int) *revision {
	for i := range r.Revisions {
		if r.Revisions[i].Revision == n {
			return &r.Revisions[i]
		}
	}
	return nil
}

func (r *record) resource(name string, n int) *resource {
	for i, one := range r.Resources[name] {
		if one.Revision == n {
			return &r.Resources[name][i]
		}
	}
	return nil
}

// basesOf parses the bases of a revision.
func (r *revision) basesOf() (all []charmhub.Base) {
	for _, text := range r.Bases {
		system, arch, _ := strings.Cut(text, "/")
		name, channel, _ := strings.Cut(system, "@")
		all = append(all, charmhub.Base{Name: name, Channel: channel, Architecture: arch})
	}
	return all
}

// runsOn reports whether a revision runs on a base.
func (r *revision) runsOn(asked charmhub.Base) bool {
	return slices.ContainsFunc(r.basesOf(), func(b charmhub.Base) bool { return matches(asked, b) })
}

// hashes reads a file and returns what is known of it.
func hashes(path string) (c Content, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	a, b := sha256.New(), sha512.New384()
	if c.Size, err = io.Copy(io.MultiWriter(a, b), f); err != nil {
		return c, err
	}
	c.SHA256, c.SHA384 = hex.EncodeToString(a.Sum(nil)), hex.EncodeToString(b.Sum(nil))
	c.Modified = info.ModTime().UTC()
	c.CreatedAt = c.Modified
	return c, nil
}

// examine reads a .charm, which it checks as deploying it does, and returns its name and what is known of it.
func examine(ctx context.Context, path string) (name string, r revision, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", r, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", r, err
	}
	a, err := charm.ReadArchiveFrom(ctx, f, info.Size())
	if err != nil {
		return "", r, err
	}
	if r.Content, err = hashes(path); err != nil {
		return "", r, err
	}
	meta := a.Meta
	r.Version, r.Summary, r.Interface = a.Version, meta.Summary, map[string][]string{}
	for of, relations := range map[string]map[string]charm.Relation{"provides": meta.Provides, "requires": meta.Requires} {
		for _, relation := range relations {
			if !slices.Contains(r.Interface[of], relation.Interface) {
				r.Interface[of] = append(r.Interface[of], relation.Interface)
			}
		}
		slices.Sort(r.Interface[of])
	}
	for _, b := range meta.Bases {
		archs := b.Architectures
		if len(archs) == 0 {
			archs = []string{"all"}
		}
		for _, arch := range archs {
			r.Bases = append(r.Bases, b.Short()+"/"+arch)
		}
	}
	if len(meta.Bases) == 0 {
		for _, series := range meta.Series {
			r.Bases = append(r.Bases, entity.BaseOf(series).Short()+"/all")
		}
	}
	if r.Bases == nil {
		r.Bases = []string{anyBase}
	}
	return meta.Name, r, nil
}

// texts returns files of a .charm that messages quote: "" for those that it lacks.
func texts(path string, names ...string) (map[string]string, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	found := map[string]string{}
	for _, name := range names {
		f, err := z.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(f, 1<<20))
		f.Close()
		if err != nil {
			return nil, err
		}
		found[name] = string(text)
	}
	return found, nil
}
