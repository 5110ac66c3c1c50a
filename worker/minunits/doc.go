// Package minunits maintains the minimum number of units that users have set for services. When a service
// may have too few Alive units, it has state add the missing ones.
package minunits
