// Package providertest holds the tests that every cloud must pass.
package providertest
