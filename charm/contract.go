package charm

import (
	"cmp"
	"errors"
	"fmt"

	"juju/state/entity"
)

// Contract is the Juju release whose contract with charms is implemented here: hooks, their environment
// and the hook tools. Charms see it as JUJU_VERSION, and clients as the version of every agent.
var Contract = func() Version {
	v, err := ParseVersion(entity.JujuVersion)
	if err != nil {
		panic(err)
	}
	return v
}()

// Compare orders versions by release: 2.9-beta1 < 2.9-rc1 < 2.9.0. It returns a negative number if v is
// older than w, and 0 if they are equal.
func (v Version) Compare(w Version) int {
	tag := func(v Version) string { return cmp.Or(v.Tag, "release") } // alpha, beta and rc sort before it
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(tag(v), tag(w)),
		cmp.Compare(v.Patch, w.Patch), cmp.Compare(v.Build, w.Build))
}

// checkContract rejects charms that require a later Juju, or something that gaps lists as refused.
func (c *Charm) checkContract() error {
	var errs []error
	help := fmt.Sprintf("Charms get what Juju %s gives them, whatever the version of this program, and this charm wants "+
		"another Juju: look for a release of it for Juju %d.%d", Contract, Contract.Major, Contract.Minor)
	refuse := func(field, format string, args ...any) {
		err := &helpError{fmt.Errorf(format, args...), help}
		errs = append(errs, &FileError{File: metaFile, Field: field, Err: err})
	}
	m := c.Meta
	if m.MinJujuVersion.Compare(Contract) > 0 {
		refuse("min-juju-version",
			"Charm's min version (%s) is higher than this juju environment's version (%s)", m.MinJujuVersion, Contract)
	}
	for _, g := range gaps {
		if names := g.names(c); g.refused && len(names) > 0 {
			errs = append(errs, &FileError{File: g.file, Err: fmt.Errorf("%s %s: %s", g.what, listed(names), g.why)})
		}
	}
	return errors.Join(errs...)
}
