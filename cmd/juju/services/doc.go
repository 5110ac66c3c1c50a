// Package services implements the commands that manage services, their units, settings and relations.
package services
