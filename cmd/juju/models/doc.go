// Package models implements the commands that manage models.
package models
