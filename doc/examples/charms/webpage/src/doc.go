// Webpage serves one page, which counts its visits in a store.
//
//	webpage serve --listen 127.0.0.1:8080 --title TEXT --unit NAME [--store HOST:PORT --key KEY]
//
// The store speaks the keyvalue protocol: a line "INCR key", answered by "VALUE n". Without a
// store the page says so and counts nothing.
//
// A server that is ready prints "listening on ADDRESS" on its standard output and closes it;
// everything else goes to standard error. It ends on SIGTERM.
package main
