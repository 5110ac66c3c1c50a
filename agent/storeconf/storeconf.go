package storeconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"juju/agent/host/atomicfile"
)

// Name is the file's name. Only its owner can read it, because the URL has a password.
const Name = "mongo.conf"

// A Config is the content of the file.
type Config struct {
	URL        string `json:"url"`
	Controller string `json:"controller"` // UUID of the store's controller
}

// Path returns the path of the file in a controller's own directory.
func Path(own string) string { return filepath.Join(own, Name) }

// Read reads the file in a controller's own directory. It returns nil if there is none: the store is embedded.
func Read(own string) (*Config, error) {
	text, err := os.ReadFile(Path(own))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	c := &Config{}
	if err == nil {
		err = json.Unmarshal(text, c)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", Path(own), err)
	}
	return c, nil
}

// Write writes the file into a controller's own directory, which it creates if needed.
func (c Config) Write(own string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = os.MkdirAll(own, 0o700)
	}
	if err == nil {
		err = atomicfile.WriteFile(Path(own), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot record the MongoDB: %w", err)
	}
	return nil
}

// Remove removes the file, if there is one.
func Remove(own string) error {
	if err := os.Remove(Path(own)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot forget the MongoDB: %w", err)
	}
	return nil
}
