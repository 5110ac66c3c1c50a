// Package pack packs agent binaries into the archives in which they reach controllers and machines.
package pack
