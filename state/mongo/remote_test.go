package mongo_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// openSet opens the store on a simulated replica set, and a database in it.
func openSet(t *testing.T, set *mongotest.Set, options ...string) (*mongo.Store, *mongo.Database) {
	t.Helper()
	return openURL(t, set.URL(options...), mongo.Options{Dial: set.Dial})
}

// TestTheStoreOnAMongoDB uses the store on a replica set.
func TestTheStoreOnAMongoDB(t *testing.T) {
	store, db := openSet(t, mongotest.NewSet(t, 3))
	if err := store.Make(t.Context(), "db", mongo.Schema{LogSize: 1 << 20}); err != nil {
		t.Fatalf("the second Make: %v", err)
	}
	insert(t, db, doc{"a", 1})
	if d := get(t, db, "a"); d.N != 1 {
		t.Errorf("got %+v", d)
	}
	names, err := store.Databases(t.Context())
	if err != nil || !slices.Equal(names, []string{"db"}) {
		t.Errorf("the databases are %v, %v", names, err)
	}
	if err := store.Barrier(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	cancel(mine)
	if err := store.Barrier(ctx); !errors.Is(err, mine) && err != nil {
		t.Error(err)
	}
	if err := store.Drop(t.Context(), "db"); err != nil {
		t.Error(err)
	}
	if n, err := db.Count(t.Context(), "c", nil); n != 0 || err != nil {
		t.Errorf("%d are left, %v", n, err)
	}
}

// An upsert that another client beats to the insert is tried again, and takes effect once.
func TestUpsertsThatRace(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	set.RaceUpserts = true
	_, db := openSet(t, set)
	for want := range 2 {
		if n, err := db.Next(t.Context(), "numbers", 1); n != want || err != nil {
			t.Errorf("the next number is %d, %v, want %d", n, err, want)
		}
		if err := db.Upsert(t.Context(), "notes", "a", bson.D{{"$inc", bson.D{{"n", 1}}}}); err != nil {
			t.Error(err)
		}
		var doc struct{ N int }
		if err := db.Get(t.Context(), "notes", "a", &doc, "note"); doc.N != want+1 || err != nil {
			t.Errorf("the note has %d, %v, want %d", doc.N, err, want+1)
		}
	}
}

// TestManyPassOneBarrier: callers that arrive during a write share the next one.
func TestManyPassOneBarrier(t *testing.T) {
	store, db := openSet(t, mongotest.NewSet(t, 1))
	writes := func() (n struct{ N int }) {
		t.Helper()
		if err := store.Open("juju-barrier").Get(t.Context(), "barrier", "barrier", &n, "barrier"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := writes()
	const many = 500
	errs := make(chan error, many)
	for range many {
		go func() { errs <- store.Sync(t.Context()) }()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := writes().N - before.N; n < 1 || n > many/2 {
		t.Errorf("%d barriers took %d writes", many, n)
	}
	_ = db
}

// TestLogIn uses a server that has a user, accepts only TLS, and rejects unknown fields in a
// login.
func TestLogIn(t *testing.T) {
	ca, server := certificates(t, "127.0.0.1")
	set := mongotest.NewSet(t, 1)
	set.Users = map[string]string{"juju": "p@ss:word"}
	set.TLS = &tls.Config{Certificates: []tls.Certificate{server}}
	as := func(login, options string) string {
		return strings.Replace(set.URL("tls=true", options), "mongodb://", "mongodb://"+login, 1)
	}
	_, db := openURL(t, as("juju:p%40ss%3Aword@", "tlsCAFile="+ca), mongo.Options{Dial: set.Dial})
	insert(t, db, doc{"a", 1})
	for name, test := range map[string]struct{ url, want string }{
		"a wrong password":    {as("juju:other@", "tlsCAFile="+ca), "Authentication failed"},
		"an unknown user":     {as("other:p%40ss%3Aword@", "tlsCAFile="+ca), "Authentication failed"},
		"no user":             {as("", "tlsCAFile="+ca), "requires authentication"},
		"an unknown signer":   {as("juju:p%40ss%3Aword@", "ssl=true"), "certificate signed by unknown authority"},
		"another replica set": {strings.Replace(as("juju:p%40ss%3Aword@", "tlsCAFile="+ca), mongotest.Name, "other", 1), `"played", not of "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := mongo.ParseURL(test.url)
			if err != nil {
				t.Fatal(err)
			}
			store, err := mongo.OpenURL(t.Context(), u, mongo.Options{Dial: set.Dial})
			if err == nil {
				store.Close()
				t.Fatal("it was opened")
			}
			all := err.Error() + entity.Hint(err)
			if !strings.Contains(all, test.want) || strings.Contains(all, "p@ss") || strings.Contains(all, "p%40ss") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A client certificate means TLS, and is shown to the server.
func TestClientCertificates(t *testing.T) {
	_, pair := certificates(t, "127.0.0.1")
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "client.pem")
	if err := os.WriteFile(file, append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), 0o600); err != nil {
		t.Fatal(err)
	}
	ca, server := certificates(t, "127.0.0.1")
	set := mongotest.NewSet(t, 1)
	set.TLS = &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert}
	_, db := openURL(t, set.URL("tlsCertificateKeyFile="+file, "tlsCAFile="+ca), mongo.Options{Dial: set.Dial})
	insert(t, db, doc{"a", 1})
}

// certificates creates a server certificate, and a file with its signer's certificate.
func certificates(t *testing.T, host string) (caFile string, server tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return caFile, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestAServerThatIsNotThere is reported immediately, with its address.
func TestAServerThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	u, err := mongo.ParseURL("mongodb://juju:secret@" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, refused := net.Dial("tcp", l.Addr().String())
	virtually(t, func(t *testing.T) {
		start := time.Now()
		_, err = mongo.OpenURL(t.Context(), u, mongo.Options{Dial: func(context.Context, string) (net.Conn, error) { return nil, refused }})
		if err == nil || !strings.Contains(err.Error(), l.Addr().String()) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Without a Dial the store is reached over TCP, also with TLS.
func TestTheNetworkIsTCP(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan bool)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := l.Accept()
		if err == nil {
			conn.Close()
		}
		l.Close()
		cancel()
		reached <- err == nil
	}()
	u, err := mongo.ParseURL("mongodb://" + l.Addr().String() + "/?tls=true")
	if err != nil {
		t.Fatal(err)
	}
	store, err := mongo.OpenURL(ctx, u, mongo.Options{})
	if err == nil {
		store.Close()
		t.Error("it was opened")
	} else if !strings.HasPrefix(err.Error(), "cannot open the store: ") {
		t.Errorf("got %v", err)
	}
	l.Close()
	if !<-reached {
		t.Error("nothing connected")
	}
}
