package find

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/annotary/annotary"
)

// SemanticFused is what an answer says when word vectors took part in it.
const SemanticFused = "fused"

// Candidates is how many of the best tools are ranked again.
const Candidates = 50

// fusion is the constant of reciprocal rank fusion: how little the very first
// places count over those behind them.
const fusion = 60

// An Embedder turns texts into vectors, one for each, all of one length.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Semantic searches an index and ranks the best again by what the texts mean,
// as far as an embedder knows. It ranks, it does not find: tools that match no
// word stay out. Where the embedder fails, the answer is the index's own and says
// so.
type Semantic struct {
	Index    *Index
	Embedder Embedder
	// Candidates is how many of the best tools are ranked again. If zero,
	// the constant Candidates.
	Candidates int
}

// Search answers a query.
func (s *Semantic) Search(ctx context.Context, q Query) Answer {
	c := s.Index.choose(q)
	state := ""
	if q.Text != "" && len(c.hits) > 1 {
		state = SemanticFused
		if err := s.rerank(ctx, q.Text, c.hits); err != nil {
			state = "not fused, ranked by words only: " + err.Error()
		}
	}
	a := c.answer(q)
	a.Semantic = state
	return a
}

// rerank sorts the best hits by the sum of the reciprocals of their two ranks. A
// tool that was asked for by name stays before all others.
func (s *Semantic) rerank(ctx context.Context, text string, hits []Hit) error {
	n := min(len(hits), cmp.Or(s.Candidates, Candidates))
	near, err := s.nearness(ctx, text, hits[:n])
	if err != nil {
		return err
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(near[b], near[a]) })
	for i := range hits {
		hits[i].Score = 1 / float64(fusion+i)
	}
	for rank, i := range order {
		hits[i].Score += 1 / float64(fusion+rank)
	}
	slices.SortStableFunc(hits[:n], func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Match, a.Match), cmp.Compare(b.Score, a.Score))
	})
	return nil
}

// nearness says how near each tool is to the question.
func (s *Semantic) nearness(ctx context.Context, text string, hits []Hit) ([]float64, error) {
	texts := []string{text}
	for _, h := range hits {
		texts = append(texts, describe(h.Tool))
	}
	vectors, err := s.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, annotary.E(annotary.CodeInternal, "the embedder returned another number of vectors", nil)
	}
	near := make([]float64, len(hits))
	for i := range near {
		near[i] = cosine(vectors[0], vectors[i+1])
	}
	return near, nil
}

// describe is the text by which a tool is compared with a question.
func describe(t *annotary.Entry) string {
	lead, _ := firstSentence(t.Description)
	return strings.Join(split(t.Name), " ") + ". " + t.Title + " " + lead
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
