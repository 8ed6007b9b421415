package find_test

import (
	"testing"

	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/find/internal/judged"
)

// BenchmarkNew indexes the corpus.
func BenchmarkNew(b *testing.B) {
	tools := judged.Corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		find.New(tools)
	}
}

// BenchmarkSearch asks all judged questions in turn.
func BenchmarkSearch(b *testing.B) {
	x := find.New(judged.Corpus(b))
	questions := judged.Questions(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		x.Search(find.Query{Text: questions[i%len(questions)].Text, Max: 10})
		i++
	}
}
