package charm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// The files that are parsed; others are only copied.
const (
	metaFile     = "metadata.yaml"
	configFile   = "config.yaml"
	actionsFile  = "actions.yaml"
	manifestFile = "manifest.yaml"
	profileFile  = "lxd-profile.yaml"
	revisionFile = "revision"
	versionFile  = "version"
	ignoreFile   = ".jujuignore"
	dispatchFile = "dispatch"
	hooksDir     = "hooks"
	actionsDir   = "actions"
	sourceFile   = "charmcraft.yaml" // charmcraft makes the others from it
)

// maxParsed is the maximum size of a parsed file in bytes.
const maxParsed = 1 << 20

// Charm is the parsed content of a charm's files.
type Charm struct {
	Meta     *Meta
	Config   *Config     // never nil
	Actions  *Actions    // never nil
	Profile  *LXDProfile // nil when the charm has no lxd-profile.yaml
	Revision int         // 0 when the charm has no revision file
	Version  string      // the first line of the file version: the source it was built from, if known
	Dispatch bool        // it has a file "dispatch", which is run for every hook
	Hooks    []string    // the hooks it has in hooks/, sorted

	NotExecutable []string // paths of programs that are not executable, and are deployed as such
	NoProgram     []string // actions without a program in actions/ or dispatch, sorted
	strays        noteList // warnings of files that look like programs and never run

	Ignored []string // files it has that are not used; see Warnings
}

// load fills c from its files. open gets one of the names above, and returns fs.ErrNotExist for
// a missing file.
func (c *Charm) load(open func(name string) (io.ReadCloser, error)) error {
	has := func(name string) bool {
		f, err := open(name)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	data, err := readSmall(open, metaFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && has(sourceFile):
		return &FileError{File: metaFile, Err: errors.New("missing; this is the source of a charm (" + sourceFile + ")" +
			": run charmcraft pack in it, and deploy the .charm file that it makes")}
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{File: metaFile, Err: errors.New("missing")}
	case err != nil:
		return err
	}
	if c.Meta, err = ParseMeta(data); err != nil {
		return err
	}
	listsSeries := len(c.Meta.Series) > 0
	if data, err = readSmall(open, manifestFile); err == nil {
		err = c.Meta.ReadManifest(data)
		if err == nil && len(c.Meta.Series)+len(c.Meta.Bases) == 0 {
			err = &FileError{File: manifestFile, Err: errors.New("charm does not define any bases, not valid")}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.Meta.checkFormat(listsSeries); err != nil {
		return err
	}
	c.Config = &Config{Options: map[string]Option{}}
	if data, err = readSmall(open, configFile); err == nil {
		c.Config, err = ParseConfig(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.Actions = &Actions{Specs: map[string]ActionSpec{}}
	if data, err = readSmall(open, actionsFile); err == nil {
		c.Actions, err = ParseActions(c.Meta.Name, data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if data, err = readSmall(open, profileFile); err == nil {
		c.Profile, err = ParseLXDProfile(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.Revision = c.Meta.OldRevision
	if data, err = readSmall(open, revisionFile); err == nil {
		c.Revision, err = strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil || c.Revision < 0 {
			err = &FileError{File: revisionFile, Err: errors.New("invalid revision file")}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, file := range ignoredFiles {
		if has(file.name) {
			c.Ignored = append(c.Ignored, file.name)
		}
	}
	if data, err = readSmall(open, versionFile); err == nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
		c.Version = strings.ToValidUTF8(strings.TrimSpace(line), "?")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.checkContract()
}

func readSmall(open func(name string) (io.ReadCloser, error), name string) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxParsed+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if len(data) > maxParsed {
		return nil, &FileError{File: name, Err: fmt.Errorf("larger than %d bytes", maxParsed)}
	}
	return data, nil
}
