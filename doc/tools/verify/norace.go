//go:build !race

package verify

const race = false
