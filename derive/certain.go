package derive

// plainVerbs change something outside the call, whatever they are done to.
var plainVerbs = wordSet("delete destroy wipe erase purge cancel send publish upload upsert overwrite")

// keepers hold what is in them beyond any call.
var keepers = wordSet("table tables database databases db collection collections index indexes schema schemas column columns " +
	"keyspace bucket buckets partition partitions topic topics queue queues")

// lasts reports whether what the verb does outlives the call. Numbers are added
// and duplicates removed without anything being changed: a contradiction needs
// more than the verb. A parameter that names a thing which is there before the
// call is such a sign, and so is a name that speaks of a store, or a tool of the
// server that shows what this one changes.
func (r *reading) lasts(verb string) bool {
	return plainVerbs[verb] || r.hasWord(keepers) || r.namesAThing() || r.isShown()
}

func (r *reading) namesAThing() bool {
	for _, p := range r.params {
		n := len(p.words)
		if n == 0 || p.nested {
			continue
		}
		switch p.words[n-1] {
		case "id", "ids", "uuid", "guid", "slug", "iid", "uid", "path", "key", "filename":
			return true
		case "name":
			if n > 1 && p.words[n-2] == "file" {
				return true
			}
		}
	}
	return false
}

// isShown reports whether another tool of the server reads the same object.
func (r *reading) isShown() bool {
	for _, verb := range []string{"get", "list", "read", "search", "find", "fetch", "show", "query", "view", "describe"} {
		if r.server.tools[verb+" "+r.object()] != "" {
			return true
		}
	}
	return false
}
