package main

import (
	"net"
	"strings"
	"testing"
)

func TestMongoProxyRefusals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, 2, "no --url given"},
		{[]string{"--url", "db"}, 2, "does not begin with mongodb://"},
		{[]string{"--url", "mongodb://a,b/"}, 2, "names 2 hosts"},
		{[]string{"--url", "mongodb://me:secret@db/"}, 2, "must not name a user"},
		{[]string{"--url", "mongodb://db/", "--bind_ip", "0.0.0.0"}, 2, `cannot bind to "0.0.0.0"`},
		{[]string{"--url", "mongodb://db/", "extra"}, 2, `unrecognized args: ["extra"]`},
		{[]string{"--url", "mongodb://" + nobody, "--port", "0"}, 1, "cannot connect to MongoDB at " + nobody},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			code, stdout, stderr := start(t, append([]string{"mongo-proxy"}, test.args...)...)
			if code != test.code || !strings.HasPrefix(stderr, "ERROR ") || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d, %q, want %d and %q", code, stderr, test.code, test.want)
			}
			if stdout != "" || strings.Contains(stderr, "secret") {
				t.Errorf("it printed %q, %q", stdout, stderr)
			}
		})
	}
}
