// Package models has the commands about models.
package models
