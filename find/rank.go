package find

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// How a question is weighed. All of it was chosen on the training half of the
// judged questions (see docs/find.md).
const (
	// synonymFactor is what a word is worth that stands for another.
	synonymFactor = 0.5
	// unknownFactor is what a word weighs that no tool knows, against the
	// rarest word that one knows: it may be an argument, or what is missing.
	unknownFactor = 0.7
	// minCoverage is how much of a question's weight a tool must match.
	minCoverage = 0.3
	// amplyCovered is how much it must match if no telling word of it stands
	// where a server says what the tool is for.
	amplyCovered = 0.6
	// contentShare is the least a telling word weighs in coverage,
	// genericShare the most a generic one does.
	contentShare, genericShare = 2, 1
	// coverageShare is how much of the score depends on coverage.
	coverageShare = 0.6
	// nameBonus rewards a tool whose name is the question and nothing more.
	nameBonus = 0.6
	// otherDeed is what is left of the score of a tool that does something
	// else than what is wanted: deletes where something is to be read.
	otherDeed = 0.8
	// maxTerms bounds how many words of a question count.
	maxTerms = 32
)

// A term is one word of the question.
type term struct {
	word    string // as it was written
	stem    string
	idf     float32
	share   float32 // its weight in coverage
	content bool    // not one of the generic words
}

// An alternative is a word that answers one or two terms of the question.
type alternative struct {
	terms    uint32 // bits of the terms
	postings []posting
	worth    float32
	share    float32 // of the terms' weight in coverage
}

// match returns the tools that fit a question, in no order.
func (x *Index) match(text string) []Hit {
	named := x.named(text)
	terms, wanted := x.terms(text), deedOfQuestion(text)
	alternatives := x.alternatives(terms)
	s := x.pool.get()
	defer x.pool.put(s)
	for _, a := range alternatives {
		s.add(a, terms)
	}
	hits := make([]Hit, 0, len(named)+64)
	for _, i := range s.touched {
		if score, ok := s.score(i, terms, x.names[i].parts); ok || named[i] != 0 {
			if d := x.names[i].deed; wanted != noDeed && d != noDeed && d != wanted {
				score *= otherDeed
			}
			h := Hit{Tool: &x.tools[i], Match: max(named[i], WordMatch), Score: float64(score), Words: matched(terms, s.tools[i].terms)}
			hits = append(hits, h)
			delete(named, i)
		}
	}
	for i, m := range named {
		hits = append(hits, Hit{Tool: &x.tools[i], Match: m})
	}
	return hits
}

// named returns the tools whose name the question is, or holds.
func (x *Index) named(text string) map[uint32]Match {
	found := map[uint32]Match{}
	note := func(m Match, tools []uint32) {
		for _, i := range tools {
			found[i] = max(found[i], m)
		}
	}
	note(ExactMatch, x.exact[text])
	text = strings.TrimSpace(text)
	words := strings.Join(split(text), " ")
	note(LeafMatch, x.leaf[words])
	note(NameMatch, x.folded[words])
	note(NameMatch, x.folded[strings.ToLower(text)])
	note(ExactMatch, x.exact[text])
	for part := range strings.FieldsSeq(text) {
		part = strings.Trim(part, "\"'`.,;:!?()[]{}<>")
		if len(split(part)) > 1 {
			note(NameMatch, x.exact[part])
		}
	}
	return found
}

// terms returns the words of the question that count, each once.
func (x *Index) terms(text string) []term {
	var terms []term
	for _, w := range queryWords(text) {
		if len(terms) == maxTerms {
			break
		}
		s := stem(w)
		if !slices.ContainsFunc(terms, func(t term) bool { return t.stem == s }) {
			terms = append(terms, x.term(w, s))
		}
	}
	return terms
}

// term weighs one word. Coverage weighs it too, but not by rarity alone: in a
// small catalogue the very subject of it, the note of a notes server, is in every
// tool, and a verb nobody used must not outweigh it.
func (x *Index) term(word, stem string) term {
	t := term{word: word, stem: stem, idf: x.idf(stem), content: !generic[stem]}
	t.share = min(t.idf, genericShare)
	if t.content {
		t.share = max(t.idf, contentShare)
	}
	return t
}

// idf says how much a word tells: the fewer tools have it, the more. A word that
// no tool has is judged by its synonyms, else it is unknown.
func (x *Index) idf(stem string) float32 {
	n := len(x.find(stem))
	if n == 0 {
		for _, s := range synonymsOf[stem] {
			n = max(n, len(x.find(s)))
		}
	}
	if n == 0 {
		return unknownFactor * x.rarity(0)
	}
	return x.rarity(n)
}

func (x *Index) rarity(n int) float32 {
	return float32(math.Log(1 + (float64(len(x.tools)-n)+0.5)/(float64(n)+0.5)))
}

// alternatives returns the words to look for: those of the question, their
// synonyms, and neighbours written together.
func (x *Index) alternatives(terms []term) []alternative {
	var direct, pairs, others []alternative
	for i, t := range terms {
		bit := uint32(1) << i
		if list := x.find(t.stem); len(list) > 0 {
			direct = append(direct, alternative{bit, list, 1, 1})
		}
		for _, s := range synonymsOf[t.stem] {
			if list := x.find(s); len(list) > 0 {
				worth := synonymFactor * min(1, x.rarity(len(list))/t.idf)
				others = append(others, alternative{bit, list, worth, worth})
			}
		}
		if i == 0 {
			continue
		}
		joined := stem(terms[i-1].word + t.word)
		for _, s := range append([]string{joined}, synonymsOf[joined]...) {
			if list := x.find(s); len(list) > 0 {
				pairs = append(pairs, alternative{bit | bit>>1, list, 0.9, 1})
			}
		}
	}
	return slices.Concat(direct, pairs, others)
}

func matched(terms []term, mask uint32) []string {
	words := make([]string, 0, bits.OnesCount32(mask))
	for i, t := range terms {
		if mask&(1<<i) != 0 {
			words = append(words, t.word)
		}
	}
	return words
}

// A scratch holds the running scores of one search.
type scratch struct {
	tools   []running
	touched []uint32
}

type running struct {
	score, cover float32
	// Bits of the terms found; found in the name; and found where a server
	// says what the tool is for, not among its parameters and remarks.
	terms, name, lead uint32
}

type scratchPool struct{ sync.Pool }

func (p *scratchPool) get() *scratch { return p.Get().(*scratch) }

func (p *scratchPool) put(s *scratch) {
	for _, i := range s.touched {
		s.tools[i] = running{}
	}
	s.touched = s.touched[:0]
	p.Put(s)
}

func newScratch(tools int) *scratch { return &scratch{tools: make([]running, tools)} }

// add adds what an alternative finds. A term counts once per tool, for the
// first alternative that finds it.
func (s *scratch) add(a alternative, terms []term) {
	for _, p := range a.postings {
		r := &s.tools[p.tool]
		fresh := a.terms &^ r.terms
		if fresh == 0 {
			continue
		}
		if r.terms == 0 {
			s.touched = append(s.touched, p.tool)
		}
		idf, share := weight(terms, fresh)
		r.score += a.worth * idf * p.weight
		r.cover += a.share * share
		r.terms |= fresh
		if p.counts[fieldName] > 0 {
			r.name |= fresh
		}
		if p.counts[fieldName]|p.counts[fieldTitle]|p.counts[fieldLead]|p.counts[fieldServer] > 0 {
			r.lead |= fresh
		}
	}
}

// weight sums the weights of some terms, in the score and in coverage.
func weight(terms []term, mask uint32) (idf, share float32) {
	for ; mask != 0; mask &= mask - 1 {
		t := &terms[bits.TrailingZeros32(mask)]
		idf, share = idf+t.idf, share+t.share
	}
	return idf, share
}

// score returns a tool's score and whether it fits the question: it matches
// enough of it, and not only words that every other tool has too.
func (s *scratch) score(i uint32, terms []term, parts uint8) (float32, bool) {
	r := &s.tools[i]
	total, whole := weight(terms, uint32(1)<<len(terms)-1)
	named, _ := weight(terms, r.name)
	coverage := r.cover / whole
	exactness := min(1, float32(bits.OnesCount32(r.name))/float32(max(1, parts))) * named / total
	score := r.score * (1 - coverageShare + coverageShare*coverage) * (1 + nameBonus*exactness)
	fits := coverage >= minCoverage && says(r.lead, terms) || coverage >= amplyCovered && says(r.terms, terms)
	return score, fits
}

// says reports whether a telling word of the question is among those found. A
// question that has none asks no more of a tool.
func says(found uint32, terms []term) bool {
	telling := false
	for i, t := range terms {
		if t.content && found&(1<<i) != 0 {
			return true
		}
		telling = telling || t.content
	}
	return !telling
}

// synonymsOf maps a stem to the stems of its synonyms. Neighbouring words are
// looked for written together, so that is how pairs are filed.
var synonymsOf = func() map[string][]string {
	m := map[string][]string{}
	for group := range strings.Lines(synonyms) {
		if strings.HasPrefix(group, "#") {
			continue
		}
		words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(group, "_", ""), "-", ""))
		for _, w := range words {
			for _, other := range words {
				if from, to := stem(w), stem(other); from != to && !slices.Contains(m[from], to) {
					m[from] = append(m[from], to)
				}
			}
		}
	}
	return m
}()
