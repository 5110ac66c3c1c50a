package charm

import (
	"regexp"
	"strings"
)

var (
	// A charm's name has a letter in every part, so that "-7" at the end of a
	// URL can only be a revision. Services and storage follow the same rule.
	namePattern     = nameForm{regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)}
	relationPattern = nameForm{regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`)}
	actionPattern   = nameForm{regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)}
	resourcePattern = nameForm{regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`)}
	featurePattern  = nameForm{regexp.MustCompile(`^[a-z][a-z0-9-]*[a-z0-9]$`)}
	seriesPattern   = nameForm{regexp.MustCompile(`^[a-z][a-z0-9]*$`)}
	userPattern     = nameForm{regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.+-]*[a-zA-Z0-9])?$`)}
)

// maxNameLength is the maximum length of names that a charm declares, in bytes: with suffixes such as
// "-relation-departed" or an instance number, they must be valid file names.
const maxNameLength = 200

// A nameForm is the form of names of one kind.
type nameForm struct{ *regexp.Regexp }

// MatchString reports whether a name has the form.
func (f nameForm) MatchString(name string) bool {
	return len(name) <= maxNameLength && f.Regexp.MatchString(name)
}

// The form of those names, which Help adds to the errors that refuse one.
const (
	nameRule = "A name has lower-case letters, digits and hyphens, begins with a letter, and has a letter in each part " +
		"between hyphens, and 200 characters at most: mysql, web-db2"
	relationRule = "The name of a relation has lower-case letters, digits, and single hyphens or underscores between " +
		"them, begins with a letter, and has 200 characters at most: db, db_admin"
	resourceRule = "The name of a resource has lower-case letters, digits, and hyphens or underscores between them, and " +
		"200 characters at most: site-data"
	actionRule = "The name of an action has lower-case letters, digits, and hyphens between them, and 200 characters at " +
		"most: take-backup"
	seriesRule    = "The name of a series has lower-case letters and digits, and begins with a letter: trusty, centos7"
	userRule      = "The name of a user has letters and digits, and dots, plus signs or hyphens between them: bob.smith"
	interfaceRule = "The name of an interface is not empty, and has no space and no control character: mysql"
	optionRule    = "The name of an option is not empty, and has no space, no = and no control character: admin-email"
)

// IsValidName reports whether name is a valid charm name.
func IsValidName(name string) bool { return namePattern.MatchString(name) }

// IsValidResource reports whether name is a valid resource name.
func IsValidResource(name string) bool { return resourcePattern.MatchString(name) }

// IsValidSeries reports whether series is well-formed: "trusty", "centos7".
func IsValidSeries(series string) bool { return seriesPattern.MatchString(series) }

// isReserved reports whether name is reserved for Juju's own charms.
func isReserved(charmName, name string) bool {
	if strings.HasPrefix(charmName, "juju-") {
		return false
	}
	return name == "juju" || strings.HasPrefix(name, "juju-")
}
