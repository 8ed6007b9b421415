// Package seal keeps what a client carries for us from being read, changed or
// made up: the state of a call that goes over several rounds.
//
// A [Sealer] turns a [State] into a token and back. Tokens are sealed with
// AES-256-GCM under keys that live in the store, so that every replica opens what
// any of them sealed, and a restarted gateway what it sealed before; a new key is
// made every day and old ones are dropped when nothing they sealed can be alive.
//
// A token proves that we made it, for whom and about what. It does not prove that
// it was not used before: whoever opens one consumes its nonce in the store.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/annotary/annotary/internal/strict"
)

// Prefix begins every token: what begins otherwise is not ours.
const Prefix = "annotary1."

const (
	// MaxLife is the longest a token can be good for.
	MaxLife = 24 * time.Hour
	// MaxBytes is the longest token.
	MaxBytes = 128 << 10
)

// What can be wrong with a token.
var (
	ErrForged  = errors.New("the state was not made by this gateway, or was changed")
	ErrExpired = errors.New("the state has expired")
	ErrTooLong = errors.New("the state is too long to be sealed")
)

// A State is what a call's next round needs to know of the rounds before.
type State struct {
	Call      string `json:"call"`      // the id of the first round
	Round     int    `json:"round"`     // the round it is to be used in, from 1
	Nonce     string `json:"nonce"`     // consumed when it is used
	Principal string `json:"principal"` // who may use it
	Binding   string `json:"binding"`   // a digest of the call it continues
	// Approval is the question that was asked, or whose yes let the call through.
	Approval string `json:"approval,omitempty"`
	// Form says that the question can be answered in the client. A page that the
	// client opened is no answer.
	Form bool `json:"form,omitempty"`
	// Passed says that the call was let through and asks for its server; Answered
	// are the reasons that were answered for it, and Grant by what.
	Passed   bool     `json:"passed,omitempty"`
	Answered []string `json:"answered,omitempty"`
	Grant    string   `json:"grant,omitempty"`
	// Upstream is the requestState of the server, nil if it sent none.
	Upstream *string `json:"upstream,omitempty"`
}

// A Key seals and opens.
type Key struct {
	ID     uint32    `json:"id"`
	Secret []byte    `json:"secret"`
	Made   time.Time `json:"made"`
}

const (
	secretBytes = 32
	headBytes   = 4 + 8 // key id and expiry, authenticated but not hidden
	tagBytes    = 16
	nonceBytes  = 12
)

// NewKey makes a key.
func NewKey(now time.Time) Key {
	k := Key{Secret: make([]byte, secretBytes), Made: now.UTC()}
	_, _ = rand.Read(k.Secret) // never fails
	var id [4]byte
	_, _ = rand.Read(id[:])
	k.ID = binary.BigEndian.Uint32(id[:])
	return k
}

func (k *Key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.Secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal makes a token that is good until the given time.
func (k *Key) seal(s *State, until time.Time) (string, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	aead, err := k.aead()
	if err != nil {
		return "", err
	}
	head := binary.BigEndian.AppendUint32(nil, k.ID)
	head = binary.BigEndian.AppendUint64(head, uint64(until.UnixMilli())) //nolint:gosec // times after 1970
	token := Prefix + base64.RawURLEncoding.EncodeToString(aead.Seal(head, nil, plain, head))
	if len(token) > MaxBytes {
		return "", ErrTooLong
	}
	return token, nil
}

// A sealed is a token taken apart, not yet opened.
type sealed struct {
	key  uint32
	head []byte
	body []byte
}

func parse(token string) (sealed, error) {
	text, ok := strings.CutPrefix(token, Prefix)
	if !ok || len(token) > MaxBytes {
		return sealed{}, ErrForged
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < headBytes+nonceBytes+tagBytes {
		return sealed{}, ErrForged
	}
	return sealed{binary.BigEndian.Uint32(raw), raw[:headBytes], raw[headBytes:]}, nil
}

// open returns what was sealed with the key. The expiry counts only once the
// seal is found whole.
func (k *Key) open(t sealed, now time.Time) (*State, error) {
	aead, err := k.aead()
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, t.body, t.head)
	if err != nil {
		return nil, ErrForged
	}
	if now.UnixMilli() >= int64(binary.BigEndian.Uint64(t.head[4:])) { //nolint:gosec // we wrote it
		return nil, ErrExpired
	}
	var s State
	if err := strict.Check(plain, strict.Limits{}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForged, err)
	}
	if err := json.Unmarshal(plain, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForged, err)
	}
	return &s, nil
}
