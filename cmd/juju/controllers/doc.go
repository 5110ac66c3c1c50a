// Package controllers has the commands about controllers and what they store.
package controllers
