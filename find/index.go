package find

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// The fields of a tool that are searched.
const (
	fieldName   = iota // the parts of its name
	fieldTitle         // its title
	fieldLead          // the first sentence of its description
	fieldRest          // the rest of it
	fieldParams        // the names of its parameters
	fieldServer        // its server's name, and what all names of the server share
	numFields
)

// weights say what a word in a field is worth; norms how much a long field
// makes each of its words worth less (BM25's b).
var (
	weights = [numFields]float32{3.2, 2, 1.6, 0.6, 0.5, 1.2}
	norms   = [numFields]float32{0.4, 0.4, 0.5, 0.7, 0.6, 0}
)

// saturation is BM25's k1: how soon more of the same word stops counting.
const saturation = 1.2

// maxDescription bounds how much of a description is read. The longest real
// one has 34,000 characters; what the tool is for stands at the beginning.
const maxDescription = 4000

// A posting says how much a word weighs in a tool.
type posting struct {
	tool   uint32
	weight float32
	counts [numFields]uint8
}

// An ownName is what ranking knows of a tool's name, without what all names of
// its server share.
type ownName struct {
	parts uint8 // how many
	deed  deed
}

// An Index finds tools. It is immutable and safe for concurrent use; to follow a
// catalogue that changes, build another and swap the pointer.
type Index struct {
	tools    []annotary.Entry
	stems    map[string]uint32   // the number of each stem
	postings [][]posting         // by the number of the stem
	names    []ownName           // by tool
	exact    map[string][]uint32 // by the name as it is, and by server/name
	folded   map[string][]uint32 // by the name in lower case, and by its words
	leaf     map[string][]uint32 // by the words of the name after what the server's names share
	pool     scratchPool
}

// New indexes the tools. It keeps the slice and does not change it; neither may
// the caller.
func New(tools []annotary.Entry) *Index {
	x := &Index{
		tools:  tools,
		stems:  map[string]uint32{},
		names:  make([]ownName, len(tools)),
		exact:  make(map[string][]uint32, 2*len(tools)),
		folded: make(map[string][]uint32, len(tools)),
		leaf:   make(map[string][]uint32, len(tools)),
	}
	x.pool.New = func() any { return newScratch(len(tools)) }
	b := builder{index: x, words: map[string]uint32{}, lengths: make([][numFields]float32, len(tools))}
	shared := sharedParts(tools)
	for i := range tools {
		t := &tools[i]
		words := split(t.Name)
		prefix, own := words[:shared[t.Server]], words[shared[t.Server]:]
		x.addName(uint32(i), t, words, own)
		for f, words := range fieldsOf(t, own, prefix) {
			b.add(uint32(i), f, words)
		}
	}
	b.weigh()
	return x
}

// find returns where a stem occurs.
func (x *Index) find(stem string) []posting {
	if n, ok := x.stems[stem]; ok {
		return x.postings[n]
	}
	return nil
}

// Len returns how many tools are indexed.
func (x *Index) Len() int { return len(x.tools) }

// addName files a tool under every form of its name.
func (x *Index) addName(i uint32, t *annotary.Entry, words, own []string) {
	x.names[i] = ownName{parts: uint8(min(len(own), math.MaxUint8)), deed: firstDeed(own)}
	file := func(m map[string][]uint32, key string) {
		if have := m[key]; key != "" && (len(have) == 0 || have[len(have)-1] != i) {
			m[key] = append(have, i)
		}
	}
	file(x.exact, t.Name)
	if t.Server != "" {
		file(x.exact, t.Server+"/"+t.Name)
	}
	file(x.folded, strings.ToLower(t.Name))
	file(x.folded, strings.Join(words, " "))
	if len(own) < len(words) {
		file(x.leaf, strings.Join(own, " "))
	}
	if at := max(strings.LastIndexAny(t.Name, "/.:"), strings.LastIndex(t.Name, "__")+1); at > 0 && at+1 < len(t.Name) {
		file(x.leaf, strings.Join(split(t.Name[at+1:]), " "))
	}
}

// sharedParts returns for each server how many leading parts all its names have
// in common: linear_create_issue beside linear_get_team says nothing with
// linear. A server of one or two tools shares nothing.
func sharedParts(tools []annotary.Entry) map[string]int {
	type prefix struct {
		parts []string
		tools int
	}
	prefixes := map[string]*prefix{}
	for i := range tools {
		words := split(tools[i].Name)
		p := prefixes[tools[i].Server]
		if p == nil {
			prefixes[tools[i].Server] = &prefix{words[:max(0, len(words)-1)], 1}
			continue
		}
		p.tools++
		n := 0
		for n < min(len(p.parts), len(words)-1) && p.parts[n] == words[n] {
			n++
		}
		p.parts = p.parts[:n]
	}
	shared := make(map[string]int, len(prefixes))
	for server, p := range prefixes {
		if p.tools > 2 && server != "" {
			shared[server] = len(p.parts)
		}
	}
	return shared
}

// fieldsOf returns the words of each field of a tool.
func fieldsOf(t *annotary.Entry, own, shared []string) [numFields][]string {
	lead, rest := firstSentence(t.Description)
	var server []string
	for _, w := range append(split(t.Server), shared...) {
		if !serverWords[w] {
			server = append(server, w)
		}
	}
	return [numFields][]string{
		fieldName:   withPairs(own),
		fieldTitle:  split(t.Title),
		fieldLead:   split(lead),
		fieldRest:   split(rest),
		fieldParams: parameters(t.Input),
		fieldServer: server,
	}
}

// withPairs adds neighbouring parts written together: pullrequest finds
// pull_request.
func withPairs(parts []string) []string {
	all := slices.Clone(parts)
	for i := 1; i < len(parts); i++ {
		all = append(all, parts[i-1]+parts[i])
	}
	return all
}

// firstSentence cuts a description after its first sentence or line.
func firstSentence(text string) (lead, rest string) {
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "")
	}
	text = strings.TrimSpace(text)
	for i, r := range text {
		switch {
		case i < 20:
		case r == '\n', i > 240 && r == ' ':
			return text[:i], text[i:]
		case r == '.' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n'):
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// parameters returns the words of the names of a schema's properties, one level
// deep.
func parameters(schema []byte) []string {
	var words []string
	for name := range strict.Members(strict.Get(schema, "properties")) {
		words = append(words, split(name)...)
	}
	return words
}

// A builder fills an index.
type builder struct {
	index   *Index
	words   map[string]uint32 // the number of each word's stem
	lengths [][numFields]float32
}

// stopWord is the number of words that are not indexed.
const stopWord = math.MaxUint32

// add counts the words of one field of a tool. Tools come one after the other, so
// a tool's posting is the last of its list.
func (b *builder) add(tool uint32, field int, words []string) {
	b.lengths[tool][field] = float32(len(words))
	for _, w := range words {
		n := b.number(w)
		if n == stopWord {
			continue
		}
		list := b.index.postings[n]
		if len(list) == 0 || list[len(list)-1].tool != tool {
			list = append(list, posting{tool: tool})
			b.index.postings[n] = list
		}
		if c := &list[len(list)-1].counts[field]; *c < math.MaxUint8 {
			*c++
		}
	}
}

// number returns the number of a word's stem. Every word is stemmed once.
func (b *builder) number(word string) uint32 {
	if n, ok := b.words[word]; ok {
		return n
	}
	n := uint32(stopWord)
	if !stopWords[word] {
		s := stem(word)
		known, ok := b.index.stems[s]
		if !ok {
			known = uint32(len(b.index.postings))
			b.index.stems[s] = known
			b.index.postings = append(b.index.postings, nil)
		}
		n = known
	}
	b.words[word] = n
	return n
}

// weigh turns counts into weights, once the average length of each field is
// known (BM25F: the fields are weighed before saturation, so that a word in name
// and description counts once, not twice).
func (b *builder) weigh() {
	lengths := b.lengths
	var average [numFields]float32
	for _, l := range lengths {
		for f := range l {
			average[f] += l[f]
		}
	}
	for f := range average {
		average[f] = cmp.Or(average[f]/float32(max(1, len(lengths))), 1)
	}
	for _, list := range b.index.postings {
		for i := range list {
			p := &list[i]
			for f, n := range p.counts {
				if n > 0 {
					long := 1 - norms[f] + norms[f]*lengths[p.tool][f]/average[f]
					p.weight += weights[f] * float32(n) / long
				}
			}
			p.weight /= saturation + p.weight
		}
	}
}
