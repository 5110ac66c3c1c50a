package cloudfiles

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/state/entity"
)

// Credentials are a user's credentials of one cloud.
type Credentials struct {
	Default string // the name of the one to use, "" for none
	Region  string // the region to use, "" for the cloud's first
	Named   map[string]entity.CloudCredential
}

// Choose returns the credential with this name, or for "" the default one, or the only one. The error is NotFound if
// there is none, and names the cloud.
func (c Credentials) Choose(cloud, name string) (string, entity.CloudCredential, error) {
	names := slices.Sorted(maps.Keys(c.Named))
	if name == "" {
		name = c.Default
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	one, ok := c.Named[name]
	switch {
	case ok:
		return name, one, nil
	case len(names) == 0:
		return "", one, entity.WithHint(entity.Errorf(entity.NotFound, "there is no credential of cloud %q", cloud),
			"To add one: juju add-credential %s -f FILE; or what lxc uses: juju autoload-credentials", cloud)
	case name == "":
		return "", one, entity.WithHint(entity.Errorf(entity.NotFound,
			"cloud %q has %d credentials, and none is the default", cloud, len(names)),
			"Name one of %s with --credential, or choose: juju default-credential %s NAME", strings.Join(names, ", "), cloud)
	}
	return "", one, entity.WithHint(entity.Errorf(entity.NotFound, "credential %q of cloud %q not found", name, cloud),
		"Its credentials: %s", strings.Join(names, ", "))
}

const (
	credentialsKey       = "credentials"
	defaultCredentialKey = "default-credential"
	defaultRegionKey     = "default-region"
	authTypeKey          = "auth-type"
)

// ParseCredentials parses a file of credentials, by their clouds. The error is Invalid, and has no secret.
func ParseCredentials(text []byte) (map[string]Credentials, error) {
	all := map[string]Credentials{}
	err := sections(text, credentialsKey, func(cloud string, n *yaml.Node) error {
		if err := CheckName("cloud", cloud); err != nil {
			return err
		}
		of := Credentials{Named: map[string]entity.CloudCredential{}}
		err := pairs(n, func(name string, n *yaml.Node) error {
			switch name {
			case defaultCredentialKey:
				return texts(&of.Default)(n)
			case defaultRegionKey:
				return texts(&of.Region)(n)
			}
			if err := CheckCredentialName(name); err != nil {
				return err
			}
			one := entity.CloudCredential{Attributes: map[string]string{}}
			err := pairs(n, func(key string, n *yaml.Node) error {
				value := ""
				if err := texts(&value)(n); err != nil {
					return err
				}
				if key == authTypeKey {
					one.AuthType = value
				} else {
					one.Attributes[key] = value
				}
				return nil
			})
			if err == nil && one.AuthType == "" {
				err = wrong(n, "credential %q has no auth-type", name)
			}
			of.Named[name] = one
			return err
		})
		all[cloud] = of
		return err
	})
	return all, err
}

// CheckCredentialName rejects a name that a credential can't have in the file. The error is Invalid.
func CheckCredentialName(name string) error {
	if name == defaultCredentialKey || name == defaultRegionKey {
		return entity.Errorf(entity.Invalid, "credential name %q not valid: it has another meaning in the file", name)
	}
	return CheckName("credential", name)
}

// encode returns the form in which credentials are written.
func (c Credentials) encode() map[string]any {
	entry := map[string]any{}
	if c.Default != "" {
		entry[defaultCredentialKey] = c.Default
	}
	if c.Region != "" {
		entry[defaultRegionKey] = c.Region
	}
	for name, one := range c.Named {
		fields := map[string]string{authTypeKey: one.AuthType}
		maps.Copy(fields, one.Attributes)
		entry[name] = fields
	}
	return entry
}
