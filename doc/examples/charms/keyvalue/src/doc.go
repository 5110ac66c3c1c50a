// Keyvalue is a small store of keys and values, and its own client.
//
//	keyvalue serve --listen 127.0.0.1:7379 --data FILE [--log-commands]
//	keyvalue get KEY --addr 127.0.0.1:7379
//	keyvalue set KEY VALUE --addr 127.0.0.1:7379
//	keyvalue incr KEY --addr 127.0.0.1:7379
//
// A server that is ready says "listening on ADDRESS" on its standard output and
// closes it; all else goes to standard error. It ends on SIGTERM.
//
// The protocol is lines of text over TCP, so nc will do for a client:
//
//	GET key          VALUE value, or NONE
//	SET key value    OK
//	INCR key         VALUE n, one more than before
//
// or ERROR and a reason. A key has no spaces; a value is the rest of the line.
// What was answered is on disk.
package main
