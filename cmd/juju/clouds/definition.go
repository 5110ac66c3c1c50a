package clouds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A Definition is a user's cloud, with the region and credential that a controller uses there.
type Definition struct {
	Cloud      cloudfiles.Cloud
	Region     cloudfiles.Region
	Credential entity.CloudCredential
}

// Defined returns the clouds that the user has defined. None can have the name of a built-in one.
func Defined(st *store.Store) (map[string]cloudfiles.Cloud, error) {
	all, err := cloudfiles.ReadClouds(st)
	if err != nil {
		return nil, err
	}
	for name := range all {
		if err := checkOwn(name); err != nil {
			return nil, fmt.Errorf("cannot use %s: %w", cloudfiles.CloudsPath(st), err)
		}
	}
	return all, nil
}

// Find returns a cloud that the user has defined, or a built-in one.
func Find(st *store.Store, name string) (cloudfiles.Cloud, error) {
	if home, ok := Homes[name]; ok {
		return cloudfiles.Cloud{Type: name, Description: home.About()}, nil
	}
	all, err := Defined(st)
	if err != nil {
		return cloudfiles.Cloud{}, err
	}
	one, ok := all[name]
	if !ok {
		return one, entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found", name), "Valid clouds: %s",
			strings.Join(slices.Sorted(maps.Keys(joined(all))), ", "))
	}
	return one, nil
}

// joined returns the names of the user's clouds and of the built-in ones.
func joined(own map[string]cloudfiles.Cloud) map[string]bool {
	names := map[string]bool{}
	for name := range own {
		names[name] = true
	}
	for name := range Homes {
		names[name] = true
	}
	return names
}

// checkOwn rejects the name of a built-in cloud for a user's.
func checkOwn(name string) error {
	if _, ok := Homes[name]; ok {
		return entity.WithHint(entity.Errorf(entity.Invalid, "cloud %q is built in", name), "Give the cloud another name.")
	}
	return nil
}

// Check rejects a definition that can't be used, and returns the kinds of credentials that the cloud takes.
func Check(name string, c cloudfiles.Cloud) (authTypes []string, err error) {
	if err := checkOwn(name); err != nil {
		return nil, err
	}
	return AuthTypes(c)
}

// AuthTypes is Check for a cloud that may be built in.
func AuthTypes(c cloudfiles.Cloud) ([]string, error) {
	home, ok := Homes[c.Type]
	if !ok {
		return nil, entity.WithHint(entity.Errorf(entity.Invalid, "clouds of type %q are not supported", c.Type),
			"Valid types: %s", Names())
	}
	types, err := home.CheckDefinition(c)
	if err != nil {
		return nil, err
	}
	for _, one := range c.AuthTypes {
		if !slices.Contains(types, one) {
			return nil, entity.WithHint(entity.Errorf(entity.Invalid, "auth-type %q is not supported", one),
				"Valid auth-types there: %s",
				strings.Join(types, ", "))
		}
	}
	return types, nil
}

// CheckCredential rejects a credential that a cloud can't take. Values that name files are replaced by what is in these.
func CheckCredential(cloud string, c cloudfiles.Cloud, one *entity.CloudCredential) error {
	types, err := AuthTypes(c)
	if err != nil {
		return fmt.Errorf("cloud %q: %w", cloud, err)
	}
	if !slices.Contains(types, one.AuthType) {
		return entity.WithHint(entity.Errorf(entity.Invalid,
			"cloud %q takes no credential of auth-type %q", cloud, one.AuthType),
			"Valid auth-types: %s", strings.Join(types, ", "))
	}
	return Homes[c.Type].CheckCredential(c, one)
}

// checkAttributes rejects a credential with other attributes than these.
func checkAttributes(one entity.CloudCredential, known ...string) error {
	for _, key := range slices.Sorted(maps.Keys(one.Attributes)) {
		if !slices.Contains(known, key) {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"unknown key %q in a credential of auth-type %q", key, one.AuthType),
				"Known keys: %s", strings.Join(append(known, "auth-type"), ", "))
		}
	}
	return nil
}

// Choose sets in the parameters of a controller what concerns its cloud: a built-in one, or one that the user has defined,
// as NAME or NAME/REGION. credential is the name of one; "" for the default.
func (p *BootstrapParams) Choose(st *store.Store, at, credential string) error {
	name, region, _ := strings.Cut(at, "/")
	c, err := Find(st, name)
	if err != nil {
		return err
	}
	p.Cloud = c.Type
	of, err := cloudfiles.ReadCredentials(st)
	if err != nil {
		return err
	}
	if region == "" {
		region = of[name].Region
	}
	where, err := c.Region(region)
	if err != nil {
		return fmt.Errorf("cloud %q: %w", name, err)
	}
	if _, ok := Homes[name]; ok {
		if credential != "" && credential != entity.CloudCredentialName {
			return entity.Errorf(entity.NotFound, "credential %q of cloud %q not found: it needs none", credential, name)
		}
		return nil
	}
	types, err := Check(name, c)
	if err != nil {
		return fmt.Errorf("cloud %q: %w", name, err)
	}
	p.Definition = &Definition{Cloud: c, Region: where}
	p.CloudName, p.Region = name, where.Name
	// Of several regions, some may need none.
	if slices.Contains(types, entity.AuthEmpty) && credential == "" && len(of[name].Named) == 0 {
		p.Definition.Credential.AuthType = entity.AuthEmpty
		return nil
	}
	p.CredentialName, p.Definition.Credential, err = of[name].Choose(name, credential)
	if err != nil {
		return err
	}
	return CheckCredential(name, c, &p.Definition.Credential)
}
