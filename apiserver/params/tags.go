package params

import (
	"strings"

	"juju/state/entity"
)

// A Tag is an entity.Tag in the wire's words: a service is an application
// there, and a user may carry the domain "@local". Reading accepts both words
// for a service.
type Tag struct{ entity.Tag }

const (
	applicationPrefix = "application-"
	localDomain       = "@local"
)

// TagOf puts t in the wire's type.
func TagOf(t entity.Tag) Tag { return Tag{t} }

// String returns the wire's form of the tag.
func (t Tag) String() string {
	if t.Kind == entity.KindService {
		return applicationPrefix + t.ID
	}
	return t.Tag.String()
}

// ParseTag reads the wire's form. Its errors are Invalid.
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

// UnmarshalText reads the wire's form; the empty text is the zero Tag.
func (t *Tag) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*t = Tag{}
		return nil
	}
	t.Tag, err = ParseTag(string(text))
	return err
}

// An Entity names one thing.
type Entity struct {
	Tag Tag `json:"tag"`
}

// Entities names several things.
type Entities struct {
	Entities []Entity `json:"entities"`
}
