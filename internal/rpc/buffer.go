package rpc

import (
	"io"
	"sync"
)

// keepBuffer is the largest buffer the pool keeps: a rare large answer must not
// stay in memory for ever.
const keepBuffer = 256 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// GetBuffer returns an empty buffer from the pool.
func GetBuffer() *[]byte { return buffers.Get().(*[]byte) }

// PutBuffer gives a buffer back. Nobody may use its bytes any more.
func PutBuffer(b *[]byte) {
	if cap(*b) <= keepBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// ReadBody reads a body of at most limit bytes into a pooled buffer. The size is
// what was announced, negative if unknown.
func ReadBody(r io.Reader, size int64, limit int) (*[]byte, error) {
	if size > int64(limit) {
		return nil, ErrLong
	}
	b := GetBuffer()
	for {
		if len(*b) == cap(*b) {
			*b = append(*b, 0)[:len(*b)]
		}
		n, err := r.Read((*b)[len(*b):cap(*b)])
		*b = (*b)[:len(*b)+n]
		switch {
		case len(*b) > limit:
			PutBuffer(b)
			return nil, ErrLong
		case err == io.EOF:
			return b, nil
		case err != nil:
			PutBuffer(b)
			return nil, err
		}
	}
}

// ReadAll reads a body of at most limit bytes into memory of its own, which may
// be kept. The size is what was announced, negative if unknown; it is believed
// up to 64 KiB.
func ReadAll(r io.Reader, size int64, limit int) ([]byte, error) {
	if size > int64(limit) {
		return nil, ErrLong
	}
	b := make([]byte, 0, initial(size))
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			return nil, ErrLong
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

func initial(size int64) int {
	if size < 0 {
		size = 1023
	}
	return int(min(size, 64<<10)) + 1 // one more, to see the end without growing
}
