package derive

import (
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// A reading is what a definition says, before anything is concluded from it.
type reading struct {
	words     []string // of the name, without the product's prefix
	verb      string   // the verb in action position, empty if none
	at        int      // its place in words
	joined    string   // a further verb that "and" or "or" joins to it
	kind      kind
	titleVerb string
	prose     prose
	params    []param
	// modes holds, by kind, a value of an action parameter that does this.
	modes  [numKinds]string
	server *serverReading
}

// A serverReading is what the names of a server say together.
type serverReading struct {
	prefix      map[string]bool
	objectFirst bool    // names go object_verb
	reads       float64 // share of the tools whose verb reads
	steers      bool    // drives a user interface, by the verbs of several tools
	// tools finds the name of a tool by "verb object".
	tools map[string]string
}

// read takes in the definitions of one server.
func read(tools []annotary.Tool) []reading {
	names := make([][]string, len(tools))
	for i := range tools {
		names[i] = splitName(tools[i].Name)
	}
	server := readServer(names)
	readings := make([]reading, len(tools))
	reads, steers := 0, 0
	for i := range tools {
		r := server.readTool(&tools[i], server.step(names[i]))
		switch {
		case r.kind.reads():
			reads++
		case r.kind == steer && verbOf(r.verb).rank == firm:
			steers++
		}
		if key := r.verb + " " + r.object(); server.tools[key] == "" || tools[i].Name < server.tools[key] {
			server.tools[key] = tools[i].Name
		}
		readings[i] = r
	}
	server.reads = float64(reads) / float64(max(1, len(tools)))
	server.steers = steers >= 3
	return readings
}

// readTool takes in one definition, whose name has the given words.
func (s *serverReading) readTool(t *annotary.Tool, words []string) reading {
	r := reading{words: words, server: s, joined: joinedVerb(words)}
	r.verb, r.at = s.findAction(t.Name, words)
	r.kind = verbOf(r.verb).kind
	r.titleVerb, _ = s.findVerb(s.step(splitName(titleOf(t))))
	r.prose = readProse(t.Description)
	r.params = readParams(t.Input)
	r.readModes()
	r.kind = r.kindByObject()
	return r
}

// kindByObject returns what the verb does to this object, where that is not what
// it does to most.
func (r *reading) kindByObject() kind {
	switch {
	case r.verb == "check" && r.has("selector", "element", "ref", "uid", "xpath"):
		return steer // a box on a page
	case r.verb == "extract" && r.hasWord(wordsPacked):
		return add // the files that were in it
	}
	return r.kind
}

var wordsPacked = wordSet("archive archives zip tar tarball rar gz tgz")

// titleOf returns the title that is not an annotation. ParseTool falls back to
// the one in annotations, which is the server's own account of its tool.
func titleOf(t *annotary.Tool) string {
	if t.Raw == nil {
		return t.Title
	}
	title, _ := strict.Text(strict.Get(t.Raw, "title"))
	return title
}

func readServer(names [][]string) *serverReading {
	s := &serverReading{prefix: map[string]bool{"mcp": true}, tools: map[string]string{}}
	short := make([][]string, len(names))
	for range maxPrefix {
		for i, words := range names {
			short[i] = s.step(words)
		}
		word := productPrefix(short)
		if word == "" {
			break
		}
		s.prefix[word] = true
	}
	verbLast := 0
	for _, words := range short {
		if n := len(words); n > 1 && verbAtEnd(words) {
			verbLast++
		}
	}
	s.objectFirst = len(names) >= 3 && verbLast*2 > len(names)
	return s
}

// verbAtEnd reports whether a name goes object_verb, or names who acts.
func verbAtEnd(words []string) bool {
	last := verbOf(words[len(words)-1]).rank
	return last == agent || last == firm && verbOf(words[0]).rank < leading
}

// maxPrefix bounds how many words a product's prefix may have.
const maxPrefix = 4

// productPrefix returns the first word that says whose tools these are instead
// of what one does, or "": shared by most names of the server and no verb, or a
// verb that a firm verb follows in most (render_list_services).
func productPrefix(names [][]string) string {
	first, verbNext := map[string]int{}, map[string]int{}
	for _, words := range names {
		if len(words) > 1 {
			first[words[0]]++
			if verbOf(words[1]).rank == firm {
				verbNext[words[0]]++
			}
		}
	}
	for w, n := range first {
		v := verbOf(w)
		if n >= 3 && n*2 > len(names) && !auxiliary[w] && (v.kind == noKind || v.rank < firm && verbNext[w]*2 > n) {
			return w // more than half have it, so there is no other
		}
	}
	return ""
}

// auxiliary words begin names that ask something or take many things at once,
// and are nobody's product.
var auxiliary = wordSet("is are has have can does do should my bulk batch mass")

// step steps over the product's prefix.
func (s *serverReading) step(words []string) []string {
	for len(words) > 1 && s.prefix[words[0]] {
		words = words[1:]
	}
	return words
}

// findAction finds the verb of a name. In a path (compute.instances.start) the
// last part has it, if any has.
func (s *serverReading) findAction(name string, words []string) (string, int) {
	if i := strings.LastIndexAny(name, "./:"); i >= 0 {
		part := splitName(name[i+1:])
		if from := len(words) - len(part); from >= 0 {
			if verb, at := s.findVerb(part); verb != "" {
				return verb, from + at
			}
		}
	}
	return s.findVerb(words)
}

// joinedVerb returns the verb behind the "and" of a name: get_or_create.
func joinedVerb(words []string) string {
	for i := 1; i+1 < len(words); i++ {
		switch words[i] {
		case "and", "or", "then":
			if verbOf(words[i+1]).rank == firm {
				return words[i+1]
			}
		}
	}
	return ""
}

// findVerb finds the word in action position, from the surest place to the
// least. Where a server puts objects first, the end is the surest.
func (s *serverReading) findVerb(words []string) (string, int) {
	end := len(words) - 1
	if end < 0 {
		return "", 0
	}
	start := mannerOf(words)
	first, last := verbOf(words[start]), verbOf(words[end])
	if s.objectFirst && (last.rank == firm || last.rank == agent) && !rehearsing[words[start]] {
		return words[end], end
	}
	if done := singular(words[end]); light[words[start]] && end > start && verbOf(done).kind.quiet() && verbOf(done).kind != noKind {
		return done, end
	}
	if first.rank >= leading {
		return words[start], start
	}
	for i, w := range words {
		if verbOf(w).rank == firm {
			return w, i
		}
	}
	switch {
	case last.rank == ending, last.rank == agent:
		return words[end], end
	case first.rank == loose:
		return words[start], start
	case last.rank == loose, last.rank == leading && (last.kind.quiet() || last.kind == put || last.kind == destroy):
		return words[end], end
	}
	return "", 0
}

// mannerOf returns how many words say how something is done before the name
// says what: fast_copy_file, bulk_set_status.
func mannerOf(words []string) int {
	n := 0
	for n+1 < len(words) && manner[words[n]] {
		n++
	}
	return n
}

// manner words say how, and neither what is done nor to what.
var manner = wordSet("fast quick quickly safe safely smart auto bulk batch mass multi parallel force forced soft hard async direct directly")

// rehearsing verbs begin a name to say that the rest of it is not done.
var rehearsing = wordSet("preview simulate")

// singular returns the product that a word is the plural of: run_reports does
// what run_report does. Tests are no product: who runs a suite runs code.
func singular(word string) string {
	if one := strings.TrimSuffix(word, "s"); verbOf(word).kind == noKind && verbOf(one).kind == produce {
		return one
	}
	return word
}

// light verbs leave it to their object to say what is done: run a report, take
// a screenshot.
var light = wordSet("run perform take make do start")

// actionParams are the names of parameters that choose what a tool does.
var actionParams = wordSet("action operation op mode method command verb subcommand task actions operations intent")

// readModes notes what the values of an action parameter do. Only firm verbs
// count as writing: an operation "commits" may list them. Nor does a phrase
// under a reading name: getAdvice may be told dropIndexSuggestions.
func (r *reading) readModes() {
	own := verbOf(r.verb)
	for _, p := range r.params {
		if !r.chooses(p) {
			continue
		}
		for _, value := range p.enum {
			words := splitName(value)
			w, _ := r.server.findVerb(words)
			v := verbOf(w)
			if v.kind.writes() && v.rank < firm || own.rank == firm && own.kind.quiet() && len(words) > 1 {
				continue
			}
			if v.kind != noKind && r.modes[v.kind] == "" {
				r.modes[v.kind] = value
			}
		}
	}
}

// chooses reports whether the parameter chooses what the tool does. Where the
// name has a firm verb, a "mode" says how and a "method" is somebody else's.
func (r *reading) chooses(p param) bool {
	if len(p.words) == 0 || !actionParams[p.words[len(p.words)-1]] {
		return false
	}
	last := p.words[len(p.words)-1]
	switch rank := verbOf(r.verb).rank; last {
	case "mode":
		return rank != firm
	case "method":
		return rank != firm || r.kind.quiet()
	}
	return true
}

// modesDo reports whether some value of an action parameter reads, and whether
// some value writes.
func (r *reading) modesDo() (reads, writes bool) {
	for k, value := range r.modes {
		if value != "" {
			reads = reads || !kind(k).writes()
			writes = writes || kind(k).writes()
		}
	}
	return reads, writes
}
