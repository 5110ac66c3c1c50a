// Package bundles deploys bundles, and compares and exports models as bundles.
package bundles
