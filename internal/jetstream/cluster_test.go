package jetstream_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/jetstream"
)

// lone starts one server, changed as a test wants it.
func lone(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{
		ServerName: "lone", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
	}
	change(o)
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

// works writes and reads a value.
func works(t *testing.T, e *jetstream.Engine) {
	t.Helper()
	b, _, err := e.Bucket(t.Context(), "b", jetstream.BucketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Swap(t.Context(), "k", []byte("v"), 0); err != nil {
		t.Error(err)
	}
	if h := e.Health(); h.Embedded || h.Lost || h.Problem != "" || h.Version != server.VERSION || h.Where == "" {
		t.Errorf("health is %+v", h)
	}
}

// refused wants opening to fail with these words.
func refused(t *testing.T, o jetstream.Options, want string) {
	t.Helper()
	e, err := jetstream.Open(t.Context(), o)
	if err == nil {
		_, _, err = e.Bucket(t.Context(), "b", jetstream.BucketOptions{})
		defer e.Close()
	}
	if annotary.CodeOf(err) != annotary.CodeConnect || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestCluster_TLS(t *testing.T) {
	dir := t.TempDir()
	pool, pair := certificates(t, dir)
	s := lone(t, func(o *server.Options) {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
		o.TLSTimeout = 20
	})
	url := strings.Replace(s.ClientURL(), "nats://", "tls://", 1)
	file := func(name string) string { return filepath.Join(dir, name) }
	o := jetstream.Options{URL: url, CA: file("cert.pem"), Cert: file("cert.pem"), Key: file("key.pem"), Replicas: 1}
	works(t, open(t, o))
	refused(t, jetstream.Options{URL: url, Replicas: 1}, "cannot prove who it is")
	o.Key = file("absent.pem")
	refused(t, o, "cannot be read")
	refused(t, jetstream.Options{URL: url, CA: file("cert.pem"), Replicas: 1}, "state cluster") // a server's alarm over a missing certificate has many words
}

// certificates writes a certificate of 127.0.0.1 that vouches for itself, and
// its key.
func certificates(t *testing.T, dir string) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	write(t, filepath.Join(dir, "cert.pem"), certPEM)
	write(t, filepath.Join(dir, "key.pem"), keyPEM)
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pool, pair
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_credentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.creds")
	operator, account, resolver, creds := identities(t)
	write(t, file, creds)
	s := lone(t, func(o *server.Options) {
		o.TrustedOperators, o.SystemAccount, o.AccountResolver = []*jwt.OperatorClaims{operator}, account, resolver
	})
	works(t, open(t, jetstream.Options{URL: s.ClientURL(), Credentials: file, Replicas: 1}))
	refused(t, jetstream.Options{URL: s.ClientURL(), Replicas: 1}, "does not let this gateway in")
	refused(t, jetstream.Options{URL: s.ClientURL(), Credentials: file + ".absent", Replicas: 1}, "cannot be read")
}

// identities makes an operator, a system account, an account with JetStream and
// the credentials of one of its users.
func identities(t *testing.T) (*jwt.OperatorClaims, string, server.AccountResolver, []byte) {
	t.Helper()
	ok := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	op, err := nkeys.CreateOperator()
	ok(err)
	opPub, err := op.PublicKey()
	ok(err)
	operator := jwt.NewOperatorClaims(opPub)
	resolver := &server.MemAccResolver{}
	newAccount := func(stored int64) (nkeys.KeyPair, string) {
		kp, err := nkeys.CreateAccount()
		ok(err)
		pub, err := kp.PublicKey()
		ok(err)
		claims := jwt.NewAccountClaims(pub)
		claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: stored, Streams: stored, Consumer: stored}
		text, err := claims.Encode(op)
		ok(err)
		ok(resolver.Store(pub, text))
		return kp, pub
	}
	_, system := newAccount(0)
	operator.SystemAccount = system
	text, err := operator.Encode(op)
	ok(err)
	operator, err = jwt.DecodeOperatorClaims(text)
	ok(err)
	account, _ := newAccount(-1)
	user, err := nkeys.CreateUser()
	ok(err)
	userPub, err := user.PublicKey()
	ok(err)
	userText, err := jwt.NewUserClaims(userPub).Encode(account)
	ok(err)
	seed, err := user.Seed()
	ok(err)
	creds, err := jwt.FormatUserConfig(userText, seed)
	ok(err)
	return operator, system, resolver, creds
}

func TestCluster_unfit(t *testing.T) {
	bare := lone(t, func(o *server.Options) { o.JetStream = false })
	refused(t, jetstream.Options{URL: bare.ClientURL(), Replicas: 1}, "has no JetStream")
	alone := lone(t, func(*server.Options) {})
	refused(t, jetstream.Options{URL: alone.ClientURL(), Replicas: 3}, "cannot keep 3 replicas")
	refused(t, jetstream.Options{URL: pretender(t, "2.9.10"), Replicas: 1}, "runs NATS 2.9.10")
	refused(t, jetstream.Options{URL: "nats://127.0.0.1:1", Replicas: 1}, "cannot be reached")
}

// pretender speaks as much of the protocol as says its version.
func pretender(t *testing.T, version string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO {\"server_id\":\"X\",\"version\":%q,\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n", version)
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				if lines.Text() == "PING" {
					fmt.Fprint(conn, "PONG\r\n")
				}
			}
		}
	}()
	return "nats://" + l.Addr().String()
}

// TestCluster_health: a cluster that falls silent is lost, and found again by
// itself when it is back.
func TestCluster_health(t *testing.T) {
	dir, port := t.TempDir(), freePorts(t, 1)[0]
	at := func(o *server.Options) { o.StoreDir, o.Port = dir, port }
	s := lone(t, at)
	e := open(t, jetstream.Options{URL: s.ClientURL(), Replicas: 1, Deadline: time.Second, Silence: 1500 * time.Millisecond})
	works(t, e)
	s.Shutdown()
	s.WaitForShutdown()
	until(t, "the store is not lost", func() bool { h := e.Health(); return h.Lost && h.Problem != "" })
	lone(t, at)
	until(t, "the store is not found again", func() bool { h := e.Health(); return !h.Lost && h.Problem == "" })
}

// TestCluster_notLater: what was given up while a cluster was gone is not written
// when it is back, and who watches is told to begin again.
func TestCluster_notLater(t *testing.T) {
	dir, port := t.TempDir(), freePorts(t, 1)[0]
	at := func(o *server.Options) { o.StoreDir, o.Port = dir, port }
	s := lone(t, at)
	e := open(t, jetstream.Options{URL: s.ClientURL(), Replicas: 1, Deadline: time.Second})
	l, b := logAndBucket(t, e, jetstream.LogOptions{})
	if err := l.Append(t.Context(), []byte("before")); err != nil {
		t.Fatal(err)
	}
	ready, broken := make(chan struct{}), make(chan error, 1)
	go func() {
		broken <- b.Watch(t.Context(), "", sync.OnceFunc(func() { close(ready) }), func([]byte, uint64) {})
	}()
	<-ready
	s.Shutdown()
	s.WaitForShutdown()
	for _, lost := range []string{"lost", "lost too"} {
		if err := l.Append(t.Context(), []byte(lost)); annotary.CodeOf(err) != annotary.CodeStore {
			t.Errorf("%s: %v", lost, err)
		}
	}
	lone(t, at)
	select {
	case err := <-broken:
		if annotary.CodeOf(err) != annotary.CodeStore {
			t.Errorf("who watched hears %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("who watched hears nothing")
	}
	until(t, "the log is not found again", func() bool { return l.Append(t.Context(), []byte("after")) == nil })
	var got []string
	err := l.Read(t.Context(), 1, func(_ uint64, lines [][]byte) error {
		got = append(got, string(bytes.Join(lines, []byte(","))))
		return nil
	})
	if want := []string{"before", "after"}; err != nil || !slices.Equal(slices.Compact(got), want) { // one may be acknowledged too late
		t.Errorf("the log has %q, %v, want %q", got, err, want)
	}
}

// TestCluster_refusesAtOnce: of those who write to a store that is gone, the first
// waits until its time is over, the others do not. When it is back it is written
// to again, without anybody having to try.
func TestCluster_refusesAtOnce(t *testing.T) {
	dir, port := t.TempDir(), freePorts(t, 1)[0]
	at := func(o *server.Options) { o.StoreDir, o.Port = dir, port }
	s := lone(t, at)
	e := open(t, jetstream.Options{URL: s.ClientURL(), Replicas: 1, Deadline: 2 * time.Second, Silence: time.Hour})
	l, b := logAndBucket(t, e, jetstream.LogOptions{})
	s.Shutdown()
	s.WaitForShutdown()
	start := time.Now()
	for range 10 {
		if err := l.Append(t.Context(), []byte("lost")); annotary.CodeOf(err) != annotary.CodeStore {
			t.Errorf("appended: %v", err)
		}
		if _, err := b.Swap(t.Context(), "k", nil, 0); annotary.CodeOf(err) != annotary.CodeStore {
			t.Errorf("swapped: %v", err)
		}
	}
	if took := time.Since(start); took > 25*time.Second { // if each waited, it would be 40
		t.Errorf("20 writes were refused after %v", took)
	}
	lone(t, at)
	until(t, "the store is not written to again", func() bool { return e.Health().Unwritten == "" })
	if err := l.Append(t.Context(), []byte("kept")); err != nil {
		t.Error(err)
	}
	if _, err := b.Swap(t.Context(), "k", nil, 0); err != nil {
		t.Error(err)
	}
	err := l.Read(t.Context(), 1, func(_ uint64, lines [][]byte) error {
		if len(lines) != 1 || string(lines[0]) != "kept" { // what asks leaves nothing
			t.Errorf("the log has %q", lines)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// until waits for a condition.
func until(t *testing.T, otherwise string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}
