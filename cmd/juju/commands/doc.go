// Package commands has the tree of juju's commands, and runs one:
//
//	run.go       exit codes, printing of errors
//	root.go      the tree
//	unknown.go   the errors for unknown commands and flags
//	helptool.go  and others, the commands about the program itself
package commands
