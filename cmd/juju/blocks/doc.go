// Package blocks has the commands that protect models from changes.
package blocks
