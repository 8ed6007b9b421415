package upstream

import "sync"

// tail keeps the end of what was written to it.
type tail struct {
	mu  sync.Mutex
	max int
	buf []byte
}

// Write keeps p and forgets what is too old.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > t.max { // copy seldom
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.max):])
}
