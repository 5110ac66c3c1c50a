// Keyvalue is a small key-value store, and its own client.
//
//	keyvalue serve --listen 127.0.0.1:7379 --data FILE [--log-commands]
//	keyvalue get KEY --addr 127.0.0.1:7379
//	keyvalue set KEY VALUE --addr 127.0.0.1:7379
//	keyvalue incr KEY --addr 127.0.0.1:7379
//
// A server that is ready prints "listening on ADDRESS" on its standard output and closes it;
// everything else goes to standard error. It ends on SIGTERM.
//
// The protocol is lines of text over TCP, so nc will do as a client:
//
//	GET key          VALUE value, or NONE
//	SET key value    OK
//	INCR key         VALUE n, one more than before
//
// or ERROR and a reason. A key has no spaces; a value is the rest of the line. An answered
// command is on disk.
package main
