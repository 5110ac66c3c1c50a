package params

import (
	"strings"

	"juju/state/entity"
)

// A Tag is an entity.Tag in the wire's form: a service is an application there, and a user may
// have the domain "@local". Both words for a service can be read.
type Tag struct{ entity.Tag }

const (
	applicationPrefix = "application-"
	localDomain       = "@local"
)

// TagOf returns the wire's form of a tag.
func TagOf(t entity.Tag) Tag { return Tag{t} }

// String returns the wire's form of the tag.
func (t Tag) String() string {
	if t.Kind == entity.KindService {
		return applicationPrefix + t.ID
	}
	return t.Tag.String()
}

// ParseTag parses the wire's form of a tag. Its errors are Invalid.
func ParseTag(s string) (entity.Tag, error) {
	if name, ok := strings.CutPrefix(s, applicationPrefix); ok {
		s = string(entity.KindService) + "-" + name
	}
	if strings.HasPrefix(s, string(entity.KindUser)+"-") {
		s = strings.TrimSuffix(s, localDomain)
	}
	return entity.ParseTag(s)
}

// MarshalText writes the wire's form.
func (t Tag) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the wire's form; the empty text is the zero Tag.
func (t *Tag) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*t = Tag{}
		return nil
	}
	t.Tag, err = ParseTag(string(text))
	return err
}

// An Entity names an entity.
type Entity struct {
	Tag Tag `json:"tag"`
}

// Entities names several entities.
type Entities struct {
	Entities []Entity `json:"entities"`
}
