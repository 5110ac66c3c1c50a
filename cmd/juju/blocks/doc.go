// Package blocks implements the commands that protect models from changes.
package blocks
