// Keyvalue is a small key-value store, and its own client.
//
//	keyvalue serve --listen 127.0.0.1:7379 --data FILE [--log-commands]
//	keyvalue get KEY --addr 127.0.0.1:7379
//	keyvalue set KEY VALUE --addr 127.0.0.1:7379
//	keyvalue incr KEY --addr 127.0.0.1:7379
//
// When the server is ready, it prints "listening on ADDRESS" to standard output and closes it;
// everything else goes to standard error. It exits on SIGTERM.
//
// The protocol is lines of text over TCP; nc works as a client:
//
//	GET key          VALUE value, or NONE
//	SET key value    OK
//	INCR key         VALUE n, one more than before
//
// or ERROR and a reason. A key has no spaces; a value is the rest of the line. The server answers
// once the change is on disk.
package main
