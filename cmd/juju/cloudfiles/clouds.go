package cloudfiles

import (
	"encoding/json"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
	"juju/state/entity"
)

// A Cloud is a cloud that a user has defined.
type Cloud struct {
	Type        string         `yaml:"type"`
	Description string         `yaml:"description,omitempty"`
	AuthTypes   []string       `yaml:"auth-types,omitempty,flow"`
	Endpoint    string         `yaml:"endpoint,omitempty"`
	Regions     Regions        `yaml:"regions,omitempty"`
	Config      map[string]any `yaml:"config,omitempty"`
}

// A Region is a part of a cloud, with an endpoint of its own, or the cloud's if that is "".
type Region struct{ Name, Endpoint string }

// Regions are the regions of a cloud in the order of their file; the first is the default.
type Regions []Region

// Names returns the names of the regions.
func (r Regions) Names() (names []string) {
	for _, one := range r {
		names = append(names, one.Name)
	}
	return names
}

// MarshalYAML implements yaml.Marshaler: a map would lose the order.
func (r Regions) MarshalYAML() (any, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, one := range r {
		for _, v := range []any{one.Name, regionEntry{one.Endpoint}} {
			n, err := safeyaml.Node(v)
			if err != nil {
				return nil, err
			}
			root.Content = append(root.Content, n)
		}
	}
	return root, nil
}

// MarshalJSON implements json.Marshaler.
func (r Regions) MarshalJSON() ([]byte, error) {
	all := map[string]regionEntry{}
	for _, one := range r {
		all[one.Name] = regionEntry{one.Endpoint}
	}
	return json.Marshal(all)
}

type regionEntry struct {
	Endpoint string `yaml:"endpoint,omitempty" json:"endpoint,omitempty"`
}

// Region returns the region with this name, or the default one for "".
func (c Cloud) Region(name string) (Region, error) {
	regions := c.Regions
	if len(regions) == 0 {
		regions = Regions{{Name: entity.CloudRegion}}
	}
	for _, one := range regions {
		if name == "" || one.Name == name {
			if one.Endpoint == "" {
				one.Endpoint = c.Endpoint
			}
			return one, nil
		}
	}
	return Region{}, entity.WithHint(entity.Errorf(entity.NotFound, "region %q not found", name),
		"Its regions: %s", strings.Join(regions.Names(), ", "))
}

const cloudsKey = "clouds"

// ParseClouds parses a file of clouds. The error is Invalid.
func ParseClouds(text []byte) (map[string]Cloud, error) {
	all := map[string]Cloud{}
	err := sections(text, cloudsKey, func(name string, n *yaml.Node) error {
		if err := CheckName("cloud", name); err != nil {
			return err
		}
		c, err := parseCloud(n)
		all[name] = c
		return err
	})
	return all, err
}

func parseCloud(n *yaml.Node) (c Cloud, err error) {
	err = fields(n, map[string]func(*yaml.Node) error{
		"type": texts(&c.Type), "description": texts(&c.Description), "endpoint": texts(&c.Endpoint),
		"auth-types": func(n *yaml.Node) error { return n.Decode(&c.AuthTypes) },
		"config":     func(n *yaml.Node) error { return n.Decode(&c.Config) },
		"regions": func(n *yaml.Node) error {
			return pairs(n, func(name string, n *yaml.Node) error {
				if err := CheckName("region", name); err != nil {
					return err
				}
				one := Region{Name: name}
				c.Regions = append(c.Regions, one)
				if n.Tag == "!!null" {
					return nil
				}
				return fields(n, map[string]func(*yaml.Node) error{"endpoint": texts(&c.Regions[len(c.Regions)-1].Endpoint)})
			})
		},
	})
	if err == nil && c.Type == "" {
		err = wrong(n, "the cloud has no type")
	}
	return c, err
}
