package params

import (
	"strings"

	"juju/state/entity"
)

// A Tag is an entity.Tag in the wire format: a service is an application, and a user may have the domain "@local". Both
// words for a service are accepted.
type Tag struct{ entity.Tag }

const (
	applicationPrefix = "application-"
	localDomain       = "@local"
)

// TagOf returns a tag in the wire format.
func TagOf(t entity.Tag) Tag { return Tag{t} }

// String returns the tag in the wire format.
func (t Tag) String() string {
	if t.Kind == entity.KindService {
		return applicationPrefix + t.ID
	}
	return t.Tag.String()
}

// ParseTag parses the wire format of a tag. Its errors are Invalid.
func ParseTag(s string) (entity.Tag, error) {
	if name, ok := strings.CutPrefix(s, applicationPrefix); ok {
		s = string(entity.KindService) + "-" + name
	}
	if strings.HasPrefix(s, string(entity.KindUser)+"-") {
		s = strings.TrimSuffix(s, localDomain)
	}
	return entity.ParseTag(s)
}

// MarshalText writes the wire format.
func (t Tag) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the wire format; the empty text is the zero Tag.
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
