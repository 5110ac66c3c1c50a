package cloudfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"juju/agent/host/atomicfile"
	"juju/charm/safeyaml"
	"juju/cmd/juju/store"
)

const (
	cloudsName      = "clouds.yaml"
	credentialsName = "credentials.yaml"
)

// ReadClouds returns the clouds that the user has defined. A store without a directory has none.
func ReadClouds(st *store.Store) (map[string]Cloud, error) {
	return read(st, cloudsName, ParseClouds)
}

// ReadCredentials returns the user's credentials, by their clouds.
func ReadCredentials(st *store.Store) (map[string]Credentials, error) {
	return read(st, credentialsName, ParseCredentials)
}

func read[T any](st *store.Store, name string, parse func([]byte) (map[string]T, error)) (map[string]T, error) {
	all := map[string]T{}
	if st.Dir() == "" {
		return all, nil
	}
	path := filepath.Join(st.Dir(), name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		all, err = parse(text)
	}
	if err != nil {
		return nil, store.Unreadable(path, err)
	}
	return all, nil
}

// UpdateClouds calls change with the user's clouds, under the lock of the client's data, and writes the result unless
// change fails.
func UpdateClouds(ctx context.Context, st *store.Store, change func(map[string]Cloud) error) error {
	return st.Locked(ctx, func() error {
		all, err := ReadClouds(st)
		if err != nil {
			return err
		}
		if err := change(all); err != nil {
			return err
		}
		return write(st, cloudsName, cloudsKey, all)
	})
}

// UpdateCredentials is UpdateClouds for the credentials of one cloud.
func UpdateCredentials(ctx context.Context, st *store.Store, cloud string, change func(*Credentials) error) error {
	return st.Locked(ctx, func() error {
		all, err := ReadCredentials(st)
		if err != nil {
			return err
		}
		of := all[cloud]
		if err := change(&of); err != nil {
			return err
		}
		all[cloud] = of
		entries := map[string]map[string]any{}
		for cloud, of := range all {
			if entry := of.encode(); len(entry) > 0 {
				entries[cloud] = entry
			}
		}
		return write(st, credentialsName, credentialsKey, entries)
	})
}

// write replaces a file, which only its owner can read, or removes it if nothing is left in it.
func write[T any](st *store.Store, name, key string, all map[string]T) error {
	path := filepath.Join(st.Dir(), name)
	if len(all) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := safeyaml.Marshal(map[string]map[string]T{key: all}, 4)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// CloudsPath returns the path of the user's clouds, for messages.
func CloudsPath(st *store.Store) string { return filepath.Join(st.Dir(), cloudsName) }
