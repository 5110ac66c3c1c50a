// Package minunits keeps services at the minimum number of units that users have set. When a
// service may have too few Alive units, it has state check and add the missing ones.
package minunits
