// Package hub implements the commands that ask a charm store, Charmhub or one's own, without a controller.
package hub
