package backup

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"path"
	"strings"
)

// ConfigName is the name of the first entry, the controller's configuration. The others are an export of its store.
const ConfigName = "controller.conf"

// ownDB is the database of the controller itself.
const ownDB = "juju"

// A Config is what a restore relies on in the configuration.
type Config struct {
	Controller string   `json:"controller"` // UUID
	Cloud      string   `json:"cloud"`      // its kind
	Series     string   `json:"series"`
	Model      string   `json:"model"` // UUID of the controller's own model
	Address    string   `json:"address"`
	Addresses  []string `json:"addresses"`
	CA         struct {
		Cert, Key string
	} `json:"ca"`
}

// check returns an error unless the configuration is complete, and of the controller that the manifest names.
func (c Config) check(m Manifest) error {
	_, err := tls.X509KeyPair([]byte(c.CA.Cert), []byte(c.CA.Key))
	switch {
	case c.Controller != m.Controller || m.Controller == "":
		return damaged("it is of controller %q, and its %s of %q", m.Controller, ConfigName, c.Controller)
	case c.Cloud != m.Cloud || m.Cloud == "":
		return damaged("it is of cloud %q, and its %s of %q", m.Cloud, ConfigName, c.Cloud)
	case c.Series == "" || c.Model == "" || c.Address == "" && len(c.Addresses) == 0:
		return damaged("its %s does not say where the controller was", ConfigName)
	case err != nil:
		return damaged("the certificate authority in its %s: %w", ConfigName, err)
	}
	return nil
}

// Contents are the contents of a backup. Reading them checks everything that a restore relies on. All errors but io.EOF
// are entity.Invalid or entity.NotSupported, or come from the underlying reader.
type Contents struct {
	// Config is the configuration, and Text all of it, in JSON.
	Config Config
	Text   []byte

	archive *Reader
	forms   map[string]bool // the collections so far, DB/NAME/
	about   bool            // the controller's own document is there
}

// Open reads the beginning of a backup.
func Open(r io.Reader) (*Contents, error) {
	archive, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	c := &Contents{archive: archive, forms: map[string]bool{}}
	name, text, err := archive.Next()
	if err == io.EOF || err == nil && name != ConfigName {
		return nil, damaged("it does not begin with %s", ConfigName)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c.Config); err != nil {
		return nil, damaged("%s: %w", name, err)
	}
	c.Text = text
	return c, c.Config.check(archive.Manifest())
}

// Manifest returns the backup's description.
func (c *Contents) Manifest() Manifest { return c.archive.Manifest() }

// Next returns the next entry of the store's export, or io.EOF if the backup is complete.
func (c *Contents) Next() (name string, data []byte, err error) {
	name, data, err = c.archive.Next()
	switch {
	case err == nil:
		return name, data, c.check(name)
	case err != io.EOF:
		return "", nil, err
	case !c.about:
		return "", nil, damaged("its store has no controller")
	case !c.forms[c.Config.Model+"/machines/"]:
		return "", nil, damaged("its store does not have the controller's own model")
	}
	return "", nil, io.EOF
}

// check checks the name of an entry of the store's export. Its documents are checked by their hash.
func (c *Contents) check(name string) error {
	collection, part := path.Split(name)
	known := c.forms[collection]
	c.forms[collection] = true
	if db, rest, _ := strings.Cut(collection, "/"); db == "" || len(rest) < 2 || known == (part == "form") {
		return damaged("%s is no part of a store, or not where it belongs", name)
	}
	c.about = c.about || name == ownDB+"/controller/documents"
	return nil
}

// Verify reads a whole backup, and returns its description.
func Verify(ctx context.Context, r io.Reader) (m Manifest, err error) {
	c, err := Open(r)
	for err == nil {
		m = c.Manifest()
		if _, _, err = c.Next(); err == nil {
			err = context.Cause(ctx)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return m, err
}
