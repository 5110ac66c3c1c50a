// Package offers has the commands about relations across models: offers, and the remote services that use them.
package offers
