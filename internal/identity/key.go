package identity

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/annotary/annotary"
)

// keyPrefix begins every API key, so that people and scanners of leaked secrets
// know one when they see it.
const keyPrefix = "annotary_"

// keyIssuer is the issuer of principals who call with an API key.
const keyIssuer = "keys"

// A KeyHash is the SHA-256 of an API key. A slow hash protects what people can
// remember; these keys are 256 random bits, which no number of guesses finds, and
// a slow hash on every call would only serve who wants to keep the gateway busy.
type KeyHash [sha256.Size]byte

// A Key is an API key as the gateway knows it. The key itself is shown once, when
// it is made, and kept nowhere.
type Key struct {
	Name    string
	Hash    KeyHash
	Tenant  string // if empty, the default one
	Subject string // whom calls are made for; if empty, the name
	Groups  []string
	Scopes  []string
	Expires time.Time // zero: never
	Revoked bool
}

// NewKey makes an API key and its hash.
func NewKey() (string, KeyHash) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	key := keyPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return key, sha256.Sum256([]byte(key))
}

const hashPrefix = "sha256:"

// String writes the hash as it stands in a configuration.
func (h KeyHash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// UnmarshalText reads a hash.
func (h *KeyHash) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), hashPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(h) {
		return errors.New("a hash is sha256: and 64 hexadecimal digits, as 'annotary keys new' writes it")
	}
	copy(h[:], raw)
	return nil
}

func (k *Key) holds(now time.Time) bool {
	return !k.Revoked && (k.Expires.IsZero() || now.Before(k.Expires))
}

// A keyring finds a key by its hash.
type keyring map[KeyHash]Key

func newKeyring(keys []Key) keyring {
	ring := make(keyring, len(keys))
	for _, k := range keys {
		ring[k.Hash] = k
	}
	return ring
}

// principal says whom a key speaks for, if it is known and still holds.
func (r keyring) principal(key string, now time.Time) (annotary.Principal, bool) {
	hash := KeyHash(sha256.Sum256([]byte(key)))
	k, ok := r[hash]
	if !ok || subtle.ConstantTimeCompare(k.Hash[:], hash[:]) != 1 || !k.holds(now) {
		return annotary.Principal{}, false
	}
	return annotary.Principal{
		Tenant: cmp.Or(k.Tenant, annotary.DefaultTenant), Issuer: keyIssuer, Subject: cmp.Or(k.Subject, k.Name),
		Client: k.Name, Groups: k.Groups, Scopes: k.Scopes,
	}, true
}
