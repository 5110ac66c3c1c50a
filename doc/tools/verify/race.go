//go:build race

package verify

const race = true
