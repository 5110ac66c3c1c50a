// Package users has the commands about users, their access, and what a client knows of controllers.
package users
