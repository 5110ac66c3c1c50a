// Package networks implements the commands about spaces and subnets.
package networks
