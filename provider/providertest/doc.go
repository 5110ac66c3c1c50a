// Package providertest is the conformance test suite for clouds.
package providertest
