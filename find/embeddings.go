package find

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// The defaults of [EmbeddingsOptions].
const (
	DefaultBatch   = 64
	DefaultTimeout = 2 * time.Second
	DefaultCache   = 100_000
)

// maxEmbeddings bounds an endpoint's answer: 64 vectors of 3,072 numbers written
// with twenty characters each are 4 MB.
const maxEmbeddings = 64 << 20

// EmbeddingsOptions say where vectors come from.
type EmbeddingsOptions struct {
	// URL is the endpoint itself, such as https://api.openai.com/v1/embeddings.
	URL string
	// Model is what the endpoint calls the model.
	Model string
	// Key is sent as a bearer token. If empty, none is sent.
	Key string
	// Batch is how many texts go into one request. If zero, DefaultBatch.
	Batch int
	// Timeout bounds one request. If zero, DefaultTimeout.
	Timeout time.Duration
	// Cache is how many vectors are remembered. If zero, DefaultCache.
	Cache int
	// Client sends the requests. If nil, http.DefaultClient.
	Client *http.Client
}

// Embeddings is a client of an OpenAI-compatible embeddings endpoint. It
// remembers vectors by the digest of their text and is safe for concurrent use.
type Embeddings struct {
	options EmbeddingsOptions

	mu    sync.Mutex
	cache map[digest][]float32
}

type digest [sha256.Size]byte

var _ Embedder = (*Embeddings)(nil)

// NewEmbeddings returns a client. It does not connect.
func NewEmbeddings(o EmbeddingsOptions) *Embeddings {
	o.Batch = cmp.Or(o.Batch, DefaultBatch)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Cache = cmp.Or(o.Cache, DefaultCache)
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	return &Embeddings{options: o, cache: map[digest][]float32{}}
}

// Embed returns a vector for each text, from memory or from the endpoint.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	places := map[string][]int{}
	var missing []string
	for i, text := range texts {
		if v := e.remembered(text); v != nil {
			vectors[i] = v
			continue
		}
		if places[text] == nil {
			missing = append(missing, text)
		}
		places[text] = append(places[text], i)
	}
	for len(missing) > 0 {
		batch := missing[:min(len(missing), e.options.Batch)]
		missing = missing[len(batch):]
		fetched, err := e.fetch(ctx, batch)
		if err != nil {
			return nil, annotary.E(annotary.CodeConnect, "the embeddings endpoint did not answer as it should: "+err.Error(), err)
		}
		for i, text := range batch {
			for _, place := range places[text] {
				vectors[place] = fetched[i]
			}
			e.remember(text, fetched[i])
		}
	}
	return vectors, nil
}

func (e *Embeddings) remembered(text string) []float32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cache[sha256.Sum256([]byte(text))]
}

// remember keeps a vector. When the cache is full any other one goes: texts of
// tools come back with every question, whichever stays.
func (e *Embeddings) remember(text string, v []float32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.cache {
		if len(e.cache) < e.options.Cache {
			break
		}
		delete(e.cache, k)
	}
	e.cache[sha256.Sum256([]byte(text))] = v
}

// fetch asks the endpoint for the vectors of one batch. Its errors name neither
// the key nor what the endpoint wrote, which is a stranger's text.
func (e *Embeddings) fetch(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.options.URL, bytes.NewReader(e.request(texts)))
	if err != nil {
		return nil, errors.New("its URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	if e.options.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.options.Key)
	}
	resp, err := e.options.Client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer within %v", e.options.Timeout)
		}
		return nil, errors.New("no connection")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxEmbeddings+1))
	if err != nil {
		return nil, errors.New("the answer broke off")
	}
	return parseEmbeddings(body, len(texts))
}

func (e *Embeddings) request(texts []string) []byte {
	b := []byte(`{"model":`)
	b = append(b, strict.Quote(e.options.Model)...)
	b = append(b, `,"input":[`...)
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, strict.Quote(t)...)
	}
	return append(b, `]}`...)
}

// parseEmbeddings reads an answer: one vector for each of n texts, in any order,
// all of one length, all numbers finite.
func parseEmbeddings(body []byte, n int) ([][]float32, error) {
	if err := strict.Check(body, strict.Limits{Bytes: maxEmbeddings}); err != nil {
		return nil, fmt.Errorf("the answer is no JSON we can rely on: %w", err)
	}
	vectors := make([][]float32, n)
	for at, item := range strict.Elements(strict.Get(body, "data")) {
		i, err := strconv.Atoi(string(strict.Get(item, "index")))
		if err != nil {
			i = at
		}
		if i < 0 || i >= n || vectors[i] != nil {
			return nil, errors.New("the answer has a vector for no text")
		}
		if vectors[i], err = parseVector(strict.Get(item, "embedding")); err != nil {
			return nil, err
		}
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return nil, errors.New("the answer lacks a vector, or their lengths differ")
		}
	}
	return vectors, nil
}

func parseVector(raw strict.Raw) ([]float32, error) {
	v := []float32{}
	for _, number := range strict.Elements(raw) {
		f, err := strconv.ParseFloat(string(number), 32)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, errors.New("a vector holds what is no number")
		}
		v = append(v, float32(f))
	}
	return v, nil
}
