// Package charms holds the example charms. Each is a directory of its own that a
// user deploys as it is, with its program built into bin/ by "make charms".
//
// The tests here run the charms' own hooks, with stand-ins for the hook tools, the
// way a unit agent does.
package charms
