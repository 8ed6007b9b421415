package derive

import "github.com/annotary/annotary"

// A reading is what a definition says, before anything is concluded from it.
type reading struct {
	tool  *annotary.Tool
	words []string // of the name, without the product's prefix
	verb  string   // the verb in action position, empty if none
	at    int      // its place in words
	kind  kind
}

// read takes in the definitions of one server.
func read(tools []annotary.Tool) []reading {
	names := make([][]string, len(tools))
	for i := range tools {
		names[i] = splitName(tools[i].Name)
	}
	prefix := productPrefix(names)
	readings := make([]reading, len(tools))
	for i := range tools {
		r := &readings[i]
		r.tool, r.words = &tools[i], names[i]
		if len(r.words) > 1 && prefix[r.words[0]] {
			r.words = r.words[1:]
		}
		r.findVerb()
	}
	return readings
}

// productPrefix returns the first words that say whose tools these are instead
// of what one does: shared by most names of the server and no verb.
func productPrefix(names [][]string) map[string]bool {
	first := map[string]int{}
	for _, words := range names {
		if len(words) > 1 {
			first[words[0]]++
		}
	}
	prefix := map[string]bool{}
	for w, n := range first {
		if _, isVerb := lexicon[w]; !isVerb && n*2 > len(names) {
			prefix[w] = true
		}
	}
	return prefix
}

// findVerb finds the verb in action position: the first firm verb, else a
// loose one at the beginning or the end.
func (r *reading) findVerb() {
	for i, w := range r.words {
		v, ok := lexicon[w]
		if ok && (v.firm || r.verb == "" && (i == 0 || i == len(r.words)-1)) {
			r.verb, r.at, r.kind = w, i, v.kind
		}
		if ok && v.firm {
			return
		}
	}
}
