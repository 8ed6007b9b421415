package eval

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// boosts are the fields bleve searches, with the weights that our own ranking
// gives to the same fields.
var boosts = map[string]float64{"name": 3.2, "title": 2, "description": 1.2, "params": 0.5, "server": 1.2}

// bleveSystem is a general engine used as well as one can: English stemming, the
// parts of names split for it, the same fields and weights as ours.
func bleveSystem(t *testing.T, tools []annotary.Entry) system {
	t.Helper()
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	start := time.Now()
	index, err := bleve.NewMemOnly(mapping)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	batch := index.NewBatch()
	for i := range tools {
		e := &tools[i]
		var params []string
		for name := range strict.Members(strict.Get(e.Input, "properties")) {
			params = append(params, nameWords(name))
		}
		document := map[string]string{
			"name": nameWords(e.Name), "title": e.Title, "description": e.Description,
			"params": strings.Join(params, " "), "server": nameWords(e.Server),
		}
		if err := batch.Index(fmt.Sprint(i), document); err != nil {
			t.Fatal(err)
		}
	}
	if err := index.Batch(batch); err != nil {
		t.Fatal(err)
	}
	built := time.Since(start)
	return system{"bleve", func(text string, limit int) []*annotary.Entry {
		var fields []query.Query
		for field, boost := range boosts {
			m := bleve.NewMatchQuery(nameWords(text))
			m.SetField(field)
			m.SetBoost(boost)
			fields = append(fields, m)
		}
		result, err := index.Search(bleve.NewSearchRequestOptions(bleve.NewDisjunctionQuery(fields...), limit, 0, false))
		if err != nil {
			t.Fatal(err)
		}
		var found []*annotary.Entry
		for _, hit := range result.Hits {
			var i int
			if _, err := fmt.Sscan(hit.ID, &i); err != nil {
				t.Fatal(err)
			}
			found = append(found, &tools[i])
		}
		return found
	}, built}
}

var (
	hump = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
	gap  = regexp.MustCompile(`[_./:@-]+`)
)

// nameWords splits a name the way bleve's tokenizer does not.
func nameWords(name string) string {
	return gap.ReplaceAllString(hump.ReplaceAllString(name, "$1$3 $2$4"), " ")
}
