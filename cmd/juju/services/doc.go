// Package services has the commands about services, their units, settings and relations.
package services
