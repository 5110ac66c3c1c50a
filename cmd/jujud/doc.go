// Command jujud is the server side of juju.
//
//	jujud bootstrap      make a controller (for juju bootstrap)
//	jujud controller     run it (for its keeper)
//	jujud remove-store   remove what it has in a MongoDB (for juju destroy-environment)
//	jujud migrate-store  move its store to a MongoDB, or back (for juju migrate-store)
//	jujud mongod         serve the embedded store on a loopback port
//	jujud mongo-proxy    serve a MongoDB of today to clients that speak as mgo does
//
// Each subcommand has a file of its own; main.go assembles them, with a context that ends on
// SIGINT and SIGTERM. Exit codes: 0 done or stopped, 1 failed, 2 wrong usage.
package main
