package mongo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"juju/state/entity"
)

// A URL specifies a MongoDB and how to connect to it:
//
//	mongodb://[user:password@]host[:port][,host[:port]…][/database][?option=value&…]
//
// The database is the one that contains the user, by default admin. The options are MongoDB's: replicaSet, authSource,
// tls (or ssl), tlsCAFile and tlsCertificateKeyFile with names of PEM files, directConnection, wtimeoutMS, appName.
// Options about the safety of reads and writes are accepted if they match the behaviour here; retryWrites and
// retryReads are ignored.
type URL struct {
	hosts          []string // with ports
	user, password string
	source         string // the database that contains the user
	set            string // the replica set's name, or ""
	app            string
	direct         bool
	tls            *tls.Config // nil is plain TCP
	wait           time.Duration
}

// majorityBound is the default limit on how long a write waits for the majority.
const majorityBound = 20 * time.Second

const urlHint = "The form is mongodb://USER:PASSWORD@HOST1,HOST2,HOST3/?replicaSet=NAME&tls=true"

// String returns the URL without the password.
func (u *URL) String() string {
	who := ""
	if u.user != "" {
		who = url.PathEscape(u.user) + "@"
	}
	return "mongodb://" + who + strings.Join(u.hosts, ",")
}

// Hosts returns the addresses of the servers, as host:port.
func (u *URL) Hosts() []string { return u.hosts }

// HasUser reports whether the URL contains a user.
func (u *URL) HasUser() bool { return u.user != "" }

// ParseURL parses the URL of a MongoDB and reads the files that it refers to. Its errors don't reveal the password.
func ParseURL(text string) (*URL, error) {
	u := &URL{source: "admin", app: "juju", wait: majorityBound}
	if err := u.parse(text); err != nil {
		return nil, entity.WithHint(entity.Errorf(entity.Invalid, "cannot use the URL of a MongoDB: %w", err), urlHint)
	}
	return u, nil
}

func (u *URL) parse(text string) error {
	rest, ok := strings.CutPrefix(text, "mongodb://")
	if strings.HasPrefix(text, "mongodb+srv://") {
		return errors.New("mongodb+srv is not supported; list the hosts themselves")
	} else if !ok {
		return errors.New("it does not begin with mongodb://")
	}
	authority, options := rest, ""
	if i, at := strings.IndexAny(rest, "/?"), strings.LastIndex(rest, "@"); i >= 0 && i < at &&
		!strings.Contains(rest[:i], "@") {
		return fmt.Errorf("a / or ? before the @ must be escaped, as %%2F or %%3F")
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, rest = rest[:i], strings.TrimPrefix(rest[i:], "/")
		rest, options, _ = strings.Cut(rest, "?")
		if rest != "" {
			name, err := url.PathUnescape(rest)
			if err != nil || strings.ContainsAny(name, "/\\. \"$") {
				return errors.New("invalid database name after the hosts")
			}
			u.source = name
		}
	}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		if err := u.credentials(authority[:i]); err != nil {
			return err
		}
		authority = authority[i+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		address, err := withPort(host)
		if err != nil {
			return err
		}
		u.hosts = append(u.hosts, address)
	}
	for pair := range strings.SplitSeq(options, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if pair == "" {
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			return fmt.Errorf("the value of %s is not escaped correctly", key)
		}
		if err := u.option(key, value); err != nil {
			return err
		}
	}
	if u.direct && len(u.hosts) > 1 {
		return fmt.Errorf("directConnection requires a single host, and there are %d", len(u.hosts))
	}
	return nil
}

// credentials parses user:password.
func (u *URL) credentials(text string) (err error) {
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" || password == "" {
		return errors.New("before the @ there must be a user and a password, separated by a colon")
	}
	if strings.ContainsAny(password, "@:") {
		return fmt.Errorf("an @ or a colon within the password must be escaped, as %%40 or %%3A")
	}
	if u.user, err = url.PathUnescape(user); err == nil {
		u.password, err = url.PathUnescape(password)
	}
	if err != nil {
		return errors.New("the user or the password is not escaped correctly") // err would show the password
	}
	return nil
}

// withPort adds MongoDB's default port to a host without one.
func withPort(host string) (string, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		if name, port, err = net.SplitHostPort(host + ":27017"); err != nil {
			return "", fmt.Errorf("%q is not a host", host)
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || name == "" || strings.ContainsAny(name, "/% ") {
		return "", fmt.Errorf("%q is not a host, or its port is not a number", host)
	}
	return net.JoinHostPort(name, port), nil
}

// option applies one option.
func (u *URL) option(key, value string) (err error) {
	only := func(right string) error {
		if !strings.EqualFold(value, right) {
			return fmt.Errorf("%s=%s is not supported: it is always %s", key, value, right)
		}
		return nil
	}
	on := false
	if strings.HasSuffix(strings.ToLower(key), "file") {
		if !filepath.IsAbs(value) {
			return fmt.Errorf("%s=%s must be an absolute path: it is read by other processes too", key, value)
		}
		// Reading a pipe would block.
		if info, err := os.Stat(value); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s=%s: it is not a file", key, value)
		}
	}
	switch strings.ToLower(key) {
	case "replicaset":
		u.set = value
	case "authsource":
		u.source = value
	case "appname":
		u.app = value
	case "tls", "ssl":
		if on, err = parseBool(value); err == nil && on {
			u.secure()
		}
	case "tlscafile":
		err = u.authority(value)
	case "tlscertificatekeyfile":
		err = u.certificate(value)
	case "directconnection":
		u.direct, err = parseBool(value)
	case "wtimeoutms":
		var ms int
		if ms, err = strconv.Atoi(value); err != nil || ms <= 0 {
			err = errors.New("it must be a positive integer")
		}
		u.wait = time.Duration(ms) * time.Millisecond
	case "authmechanism":
		return only("SCRAM-SHA-1")
	case "w":
		return only("majority")
	case "journal":
		return only("true")
	case "readpreference":
		return only("primary")
	case "retrywrites", "retryreads":
	default:
		return fmt.Errorf("unknown option %q", key)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", key, value, err)
	}
	return nil
}

func parseBool(value string) (bool, error) {
	b, err := strconv.ParseBool(value)
	if err != nil {
		err = errors.New("it must be true or false")
	}
	return b, err
}

func (u *URL) secure() {
	if u.tls == nil {
		u.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
}

// authority makes the certificates in a file the only CAs that may sign the servers' certificates.
func (u *URL) authority(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	u.secure()
	u.tls.RootCAs = x509.NewCertPool()
	if !u.tls.RootCAs.AppendCertsFromPEM(text) {
		return errors.New("it contains no certificate")
	}
	return nil
}

// certificate sets the client certificate to the one in a file, which also contains its key.
func (u *URL) certificate(file string) error {
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		return err
	}
	u.secure()
	u.tls.Certificates = []tls.Certificate{pair}
	return nil
}

// A Dial connects to the server at an address, host:port.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// dialer returns a Dial that connects as the URL specifies, over dial; nil is TCP.
func (u *URL) dialer(dial Dial) Dial {
	if dial == nil {
		var d net.Dialer
		dial = func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
	}
	if u.tls == nil {
		return dial
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		plain, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		config := u.tls.Clone()
		if config.ServerName, _, err = net.SplitHostPort(address); err == nil {
			conn := tls.Client(plain, config)
			if err = conn.HandshakeContext(ctx); err == nil {
				return conn, nil
			}
		}
		plain.Close()
		return nil, fmt.Errorf("cannot start TLS: %w", err)
	}
}
