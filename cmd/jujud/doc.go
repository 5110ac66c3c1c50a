// Command jujud is the server's side of juju.
//
//	jujud bootstrap      make a controller (for juju bootstrap)
//	jujud controller     run it (for its keeper)
//	jujud remove-store   remove what it has in a MongoDB (for juju destroy-environment)
//	jujud mongod         serve the embedded store on a loopback port
//	jujud mongo-proxy    serve a MongoDB of today to clients that speak as mgo does
//
// Each subcommand has a file of its name; main.go only puts them together and
// gives them a context that ends on SIGINT and SIGTERM. Exit codes: 0 done or
// told to stop, 1 failed, 2 wrong usage.
package main
