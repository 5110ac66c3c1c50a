// Webpage serves a page that counts its visits in a store.
//
//	webpage serve --listen 127.0.0.1:8080 --title TEXT --unit NAME [--store HOST:PORT --key KEY]
//
// The store speaks the keyvalue protocol: it answers a line "INCR key" with "VALUE n". Without a
// store, visits are not counted, and the page says so.
//
// When the server is ready, it prints "listening on ADDRESS" to standard output and closes it;
// everything else goes to standard error. It exits on SIGTERM.
package main
