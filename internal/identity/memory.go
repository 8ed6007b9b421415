package identity

import (
	"crypto/sha256"
	"sync"
)

// A memory holds what was signed in tokens whose signature was checked: checking
// it costs more than all else that is done for a call. Only what was signed is
// remembered. Whether it holds, now and for this resource, is asked every time,
// and when the keys of the issuer are read again the signature is checked again.
type memory struct {
	mu            sync.Mutex
	young, before map[[sha256.Size]byte]*remembered
}

// remembered is a token whose signature one of these keys made.
type remembered struct {
	by     *verifier
	claims *claims
	keys   *keysAt
}

// maxRemembered is how many tokens one of the two halves of a memory holds.
const maxRemembered = 2048

// recall returns what was signed in a token, nil if its signature is to be
// checked.
func (m *memory) recall(sum [sha256.Size]byte) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.young[sum]
	if r == nil {
		if r = m.before[sum]; r == nil {
			return nil
		}
		m.put(sum, r)
	}
	if !r.by.keys.still(r.keys) {
		return nil
	}
	return r
}

// remember keeps a token. The half that was not asked for lately is forgotten.
func (m *memory) remember(sum [sha256.Size]byte, r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(sum, r)
}

func (m *memory) put(sum [sha256.Size]byte, r *remembered) {
	if m.young == nil || len(m.young) >= maxRemembered {
		m.young, m.before = map[[sha256.Size]byte]*remembered{}, m.young
	}
	m.young[sum] = r
}
