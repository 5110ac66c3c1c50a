// Package controllers implements the commands that manage controllers and their data.
package controllers
