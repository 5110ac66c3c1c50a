// Package minunits keeps services at the number of units that users want them to
// have at least: whenever one may have too few Alive units, it has state look and
// add what is missing.
package minunits
