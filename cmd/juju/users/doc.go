// Package users implements the commands that manage users, their access, and a client's logins to controllers.
package users
