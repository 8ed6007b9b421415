package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"

	"github.com/annotary/annotary/internal/strict"
)

const (
	// fresh is how long keys are used before they are read again: a key that an
	// issuer withdrew counts no longer than this.
	fresh = 10 * time.Minute
	// stale is how long keys are used of an issuer that does not answer.
	stale = time.Hour
	// askWithin is how long an issuer may take to answer.
	askWithin = 10 * time.Second
	// maxDocument is the longest document of an issuer that is read.
	maxDocument = 1 << 20
)

// newClient makes the client that reads what issuers publish.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       askWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A keySet is the public keys of an issuer. They are read when first needed,
// when they get old, and when a token names one that is not there: the issuer
// may have changed them. Strangers can name any key, so that last is rationed.
type keySet struct {
	issuer Issuer
	client *http.Client
	now    func() time.Time
	ration *rate.Limiter

	asking sync.Mutex // one question at a time
	last   atomic.Pointer[keysAt]
}

// keysAt are the keys as they were at a time.
type keysAt struct {
	keys []jose.JSONWebKey
	at   time.Time
}

func newKeySet(i Issuer, client *http.Client, now func() time.Time) *keySet {
	return &keySet{issuer: i, client: client, now: now, ration: rate.NewLimiter(rate.Every(10*time.Second), 5)}
}

// find returns the keys, read again if they are old or none has this id.
func (s *keySet) find(ctx context.Context, kid string) (*keysAt, error) {
	last := s.last.Load()
	if len(last.named(kid)) > 0 && s.now().Sub(last.at) < stale {
		if s.now().Sub(last.at) < fresh || !s.asking.TryLock() {
			return last, nil // where keys are being read again, nobody else waits
		}
	} else {
		s.asking.Lock()
	}
	defer s.asking.Unlock()
	return s.refresh(ctx, last)
}

// still reports whether these are the keys, and need not be read again.
func (s *keySet) still(keys *keysAt) bool {
	return s.last.Load() == keys && s.now().Sub(keys.at) < fresh
}

// named returns the keys of this id; all of them if a token names none.
func (k *keysAt) named(kid string) []jose.JSONWebKey {
	if k == nil {
		return nil
	}
	if kid == "" {
		return k.keys
	}
	var found []jose.JSONWebKey
	for _, key := range k.keys {
		if key.KeyID == kid {
			found = append(found, key)
		}
	}
	return found
}

// refresh reads the keys again, unless somebody did since last or it would be
// too often. An issuer that does not answer leaves the keys as they were, for a
// while. The caller holds asking.
func (s *keySet) refresh(ctx context.Context, last *keysAt) (*keysAt, error) {
	if now := s.last.Load(); now != last {
		return now, nil
	}
	err := errUnavailable
	if s.ration.AllowN(s.now(), 1) {
		var keys []jose.JSONWebKey
		// Others wait for this answer too: that one client left ends nothing.
		if keys, err = s.read(context.WithoutCancel(ctx)); err == nil {
			next := &keysAt{keys, s.now()}
			s.last.Store(next)
			return next, nil
		}
		err = fmt.Errorf("%w: %w", errUnavailable, err)
	}
	if last != nil && s.now().Sub(last.at) < stale {
		return last, nil
	}
	return nil, err
}

// read asks the issuer where its keys are, and reads them.
func (s *keySet) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	at := s.issuer.JWKS
	if at == "" {
		var err error
		if at, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	raw, err := s.get(ctx, at)
	if err != nil {
		return nil, err
	}
	return parseKeys(raw)
}

// parseKeys reads a JWK set. A key of a kind we do not know is none of ours; so
// is one that is not for signatures, and one that is not public.
func parseKeys(raw []byte) ([]jose.JSONWebKey, error) {
	var keys []jose.JSONWebKey
	for _, k := range strict.Elements(strict.Get(raw, "keys")) {
		var key jose.JSONWebKey
		if err := json.Unmarshal(k, &key); err != nil {
			continue
		}
		if key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer has no key that could be used")
	}
	return keys, nil
}

// discover finds the address of the keys in the metadata of the issuer: that of
// OpenID Connect, else that of RFC 8414.
func (s *keySet) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(s.issuer.URL)
	if err != nil {
		return "", err
	}
	base, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	var failed error
	for _, at := range []string{base + path + "/.well-known/openid-configuration", base + "/.well-known/oauth-authorization-server" + path} {
		raw, err := s.get(ctx, at)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if issuer, _ := strict.Text(strict.Get(raw, "issuer")); issuer != s.issuer.URL {
			return "", fmt.Errorf("%s speaks for the issuer %q", at, issuer)
		}
		if keys, ok := strict.Text(strict.Get(raw, "jwks_uri")); ok {
			return keys, Safe(keys)
		}
		failed = errors.Join(failed, fmt.Errorf("%s names no jwks_uri", at))
	}
	return "", failed
}

// Safe refuses an address whose answer somebody on the way could change.
func Safe(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is not an address", address)
	}
	loopback := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return fmt.Errorf("%s is not https", address)
	}
	return nil
}

// get reads a document of the issuer.
func (s *keySet) get(ctx context.Context, at string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", at, res.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if err := strict.Check(raw, strict.Limits{Bytes: maxDocument, Depth: 32}); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return raw, nil
}
